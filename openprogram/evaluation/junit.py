"""A verdict as JUnit XML, which every CI shows. One test case an expectation."""

from xml.etree import ElementTree

from openprogram.evaluation.replaying import Stop
from openprogram.evaluation.verdict import RunVerdict
from openprogram.scenarios.scopes import Scope

__all__ = ["junit_of_stop", "junit_xml"]


def junit_xml(scenario: str, verdict: RunVerdict) -> bytes:
    """The report. An expectation that was refused or off is a skipped case, with the reason."""
    failures = sum(one.status == "failed" for one in verdict.judged)
    skipped = sum(one.status in ("refused", "off") for one in verdict.judged)
    counts = {"tests": str(len(verdict.judged)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    suites, suite = _suite(scenario, verdict.scope, counts)
    for one in verdict.judged:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": f"{scenario}.{one.about}", "name": _text(one.name)}
        )
        if one.status == "failed":
            ElementTree.SubElement(case, "failure", {"message": _text(one.why)})
        elif one.status != "passed":
            ElementTree.SubElement(case, "skipped", {"message": _text(f"{one.status}: {one.why}")})
    return _written(suites)


def junit_of_stop(scenario: str, scope: Scope, stop: Stop) -> bytes:
    """The report of a run that stopped and was not judged: one case, with an error."""
    counts = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0"}
    suites, suite = _suite(scenario, scope, counts)
    case = ElementTree.SubElement(suite, "testcase", {"classname": scenario, "name": "the run comes to its end"})
    ElementTree.SubElement(case, "error", {"type": stop.code, "message": _text(stop.message)})
    return _written(suites)


def _suite(scenario: str, scope: Scope, counts: dict[str, str]) -> tuple[ElementTree.Element, ElementTree.Element]:
    suites = ElementTree.Element("testsuites")
    return suites, ElementTree.SubElement(suites, "testsuite", {"name": f"{scenario} ({scope.name})", **counts})


def _written(suites: ElementTree.Element) -> bytes:
    ElementTree.indent(suites)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(text: str) -> str:
    """Without the characters that XML can't hold."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)
