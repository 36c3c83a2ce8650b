"""What an expectations.py looks like."""

from openprogram.evaluation import Evidence, expectation

__all__: list[str] = []


@expectation(about="resources")
def order_17_is_paid(evidence: Evidence) -> None:
    assert evidence.resources["orders"]["17"]["status"] == "paid"


@expectation(about="resources")
def order_18_is_paid(evidence: Evidence) -> None:
    status = evidence.resources["orders"]["18"]["status"]
    assert status == "paid", f"order 18 is {status}"


@expectation(about="trace")
def something_false(evidence: Evidence) -> bool:
    return False


@expectation(about="trace")
def it_breaks(evidence: Evidence) -> object:
    return evidence.resources["nothing"]
