"""Requests that are equal but for volatile values: one to one, over a session, and never by more than the rules say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.matching.bindings import Bindings
from openprogram.pipeline.matching.comparison import Compared, SymbolComparison
from openprogram.pipeline.matching.content import Form, outline
from openprogram.pipeline.matching.rules import VolatileRules
from openprogram.pipeline.stages.compare import ComparisonRules, find_first_difference
from tests.pipeline.matching.json_values import IDS, RULES, nearly, requests

COMPARISON = ComparisonRules(ignored_paths={"model.name": "shown to people"})
UUIDS = [f"{letter * 8}-9a4d-4f6b-8e2a-1c5d7e9f0a2b" for letter in "0123456789abcdef"]


def session(*rules: str) -> SymbolComparison:
    return SymbolComparison(Bindings(VolatileRules(rules)), COMPARISON)


def said(text: Any, **more: Any) -> dict[str, Any]:
    """A request whose one message has that content."""
    return {
        "model": {"id": "m"},
        "context": {"system_prompt": None, "messages": [{"role": "user", "content": text, **more}], "tools": None},
        "options": None,
    }


def bound(found: Compared) -> list[tuple[Any, Any]]:
    return [(binding.recorded, binding.incoming) for binding in found.new]


def renamed(value: Any, names: dict[int, str]) -> Any:
    if isinstance(value, str):
        return value.translate(names)
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    return value


# ---- properties


pairs = requests.flatmap(lambda request: st.tuples(st.just(request), nearly(request)))


@given(pair=pairs)
def test_without_rules_it_finds_what_exact_comparison_finds(pair: tuple[Any, Any]) -> None:
    recorded, incoming = pair
    found = session().compare(recorded, incoming, 0)
    assert repr(found.difference) == repr(find_first_difference(recorded, incoming, COMPARISON))
    assert not found.new


@given(request=requests, order=st.permutations(IDS))
def test_any_one_to_one_renaming_is_equal(request: Any, order: list[str]) -> None:
    names = {ord(old): new for old, new in zip(IDS, order, strict=True)}
    request["model"]["name"] = ""  # which is not compared
    compared = session(*RULES)
    born = said(" ".join(f"id-{letter}" for letter in IDS))
    assert bound(compared.compare(born, renamed(born, names), 0)) == list(zip(IDS, order, strict=True))
    found = compared.compare(request, renamed(request, names), 1)
    assert (found.difference, found.new) == (None, ())
    assert found.differs == (renamed(request, names) != request)
    assert compared.compare(request, renamed(request, names), 2) == found


@given(pair=pairs, order=st.permutations(IDS))
def test_equal_requests_have_equal_outlines(pair: tuple[Any, Any], order: list[str]) -> None:
    recorded, incoming = pair
    names = {ord(old): new for old, new in zip(IDS, order, strict=True)}
    form, exact = Form(COMPARISON, VolatileRules(RULES)), Form(COMPARISON, VolatileRules([]))
    for other in (incoming, renamed(recorded, names)):
        if session(*RULES).compare(recorded, other, 0).difference is None:
            assert outline(recorded, form).whole == outline(other, form).whole
        is_equal = find_first_difference(recorded, other, COMPARISON) is None
        assert is_equal == (outline(recorded, exact).whole == outline(other, exact).whole)


def test_what_is_equal_without_being_the_same_text_has_the_same_outline() -> None:
    form = Form(COMPARISON, VolatileRules([]))
    one, other = said("a", details={"x": 0.0, "y": 1}), said("a", timestamp=5, details={"y": 1, "x": -0.0})
    assert outline(one, form) == outline(other, form)


@given(text=st.lists(st.sampled_from(IDS), max_size=8), other=st.lists(st.sampled_from(IDS), max_size=8))
def test_texts_are_equal_exactly_where_a_one_to_one_binding_exists(text: list[str], other: list[str]) -> None:
    met = set(zip(text, other, strict=False))
    exists = len(text) == len(other) and len({a for a, _ in met}) == len({b for _, b in met}) == len(met)
    recorded, incoming = ("".join(f"id-{letter} " for letter in side) for side in (text, other))
    assert (session(*RULES).compare(said(recorded), said(incoming), 0).difference is None) == exists


# ---- contradictions


def test_a_swapped_id_shows_both_bindings_and_where_they_were_born() -> None:
    compared = session("uuid")
    first, second, mine, other = UUIDS[:4]
    assert bound(compared.compare(said(f"{first} {second}"), said(f"{mine} {other}"), 0)) == [
        (first, mine),
        (second, other),
    ]
    found = compared.compare(said(f"pay {first}"), said(f"pay {other}"), 1)
    assert found.difference is not None
    assert found.difference.field_path == "context.messages[0].content"
    assert found.contradiction is not None
    assert [(one.recorded, one.incoming) for one in found.contradiction.bound] == [(first, mine), (second, other)]
    assert {str(one.born) for one in found.contradiction.bound} == {"call 0, context.messages[0].content"}
    assert (found.contradiction.here.recorded, found.contradiction.here.incoming) == (first, other)


def test_a_reused_id_shows_the_binding_that_has_it() -> None:
    compared = session("uuid")
    compared.compare(said(UUIDS[0]), said(UUIDS[2]), 0)
    found = compared.compare(said(UUIDS[1]), said(UUIDS[2]), 1)
    assert found.contradiction is not None
    assert [(one.recorded, one.incoming) for one in found.contradiction.bound] == [(UUIDS[0], UUIDS[2])]
    assert found.contradiction.here[:3] == ("uuid", UUIDS[1], UUIDS[2])


def test_the_recorded_id_itself_is_another_one_where_it_is_bound() -> None:
    compared = session("uuid")
    compared.compare(said(UUIDS[0]), said(UUIDS[1]), 0)
    assert compared.compare(said(UUIDS[0]), said(UUIDS[0]), 1).contradiction is not None


def test_a_comparison_that_fails_binds_nothing() -> None:
    compared = session("uuid")
    assert compared.compare(said([UUIDS[0], "a"]), said([UUIDS[1], "b"]), 0).difference is not None
    assert bound(compared.compare(said([UUIDS[0], "a"]), said([UUIDS[2], "a"]), 0)) == [(UUIDS[0], UUIDS[2])]


# ---- what is volatile, and what is not


@pytest.mark.parametrize(
    ("rules", "recorded", "incoming", "is_equal"),
    [
        ([], UUIDS[0], UUIDS[1], False),
        (["iso-time"], UUIDS[0], UUIDS[1], False),
        (["uuid"], f"{UUIDS[0]}!", f"{UUIDS[1]}?", False),
        (["uuid"], UUIDS[0], "none", False),
        (["uuid"], UUIDS[10], UUIDS[11].upper(), False),
        (["uuid"], UUIDS[10].upper(), UUIDS[11].upper(), True),
        (["uuid"], f"{UUIDS[10]} {UUIDS[10].upper()}", f"{UUIDS[11]} {UUIDS[11].upper()}", True),
        (["uuid"], f"{UUIDS[10]} {UUIDS[10].upper()}", f"{UUIDS[11]} {UUIDS[12].upper()}", False),
        (["regex:order-(\\d+)"], "order-1 of 1", "order-23 of 1", True),
        (["regex:order-(\\d+)"], "order-1 of 1", "order-23 of 23", False),
        (["regex:order-(\\d+)", "regex:user-(\\d+)"], "order-7 user-7", "order-8 user-7", True),
        (["regex:order-(\\d+)"], "order-1 order-2", "order-2 order-3", True),
        (["uuid"], {UUIDS[0]: 1}, {UUIDS[1]: 1}, False),
        (["uuid"], 5, 6, False),
    ],
)
def test_what_the_rules_name_may_differ_and_nothing_else(
    rules: list[str], recorded: Any, incoming: Any, is_equal: bool
) -> None:
    assert (session(*rules).compare(said(recorded), said(incoming), 0).difference is None) is is_equal


def test_recorded_times_may_fall_together_and_a_time_stays_one() -> None:
    early, late, now, then = (f"2026-01-02T03:04:0{second}Z" for second in range(4))
    compared = session("iso-time")
    assert compared.compare(said(f"{early} {late}"), said(f"{now} {now}"), 0).difference is None
    assert compared.compare(said(early), said(then), 1).contradiction is not None


def test_a_path_is_bound_folder_by_folder() -> None:
    compared = session("tmp-path")
    first = compared.compare(said("/tmp/a/b/one.txt"), said("/tmp/x/b/one.txt"), 0)
    assert bound(first) == [("/tmp/a", "/tmp/x")], "what follows from the folder is not said again"
    assert compared.compare(said("/tmp/a/two.txt"), said("/tmp/x/two.txt"), 1).difference is None
    assert compared.compare(said("/tmp/a/two.txt"), said("/tmp/y/two.txt"), 2).contradiction is not None
    assert compared.compare(said("/tmp/a/b"), said("/tmp/x/b/c"), 3).difference is not None, "another depth"


def test_a_folder_of_another_system_may_stand_for_one() -> None:
    compared = session("tmp-path")
    mac = "/private/var/folders/zz/q/T/tmp1/a.txt"
    assert bound(compared.compare(said("/tmp/tmp9/a.txt"), said(mac), 0)) == [
        ("/tmp/tmp9", "/private/var/folders/zz/q/T/tmp1")
    ]


def test_a_uuid_in_a_path_is_bound_by_itself_too() -> None:
    compared = session("uuid", "tmp-path")
    compared.compare(said(f"/tmp/run-{UUIDS[0]}"), said(f"/tmp/run-{UUIDS[1]}"), 0)
    assert compared.compare(said(UUIDS[0]), said(UUIDS[1]), 1).difference is None
    assert compared.compare(said(UUIDS[0]), said(UUIDS[2]), 2).contradiction is not None


def test_a_key_that_holds_a_bound_value_is_the_incoming_one() -> None:
    compared = session("uuid")
    compared.compare(said(UUIDS[0]), said(UUIDS[1]), 0)
    recorded, incoming = (said("", details={one: "paid"}) for one in UUIDS[:2])
    found = compared.compare(recorded, incoming, 1)
    assert (found.difference, found.differs) == (None, True)
    kept = compared.compare(recorded, recorded, 2)
    assert kept.difference is not None, "the recorded id is none of this run's"


def test_a_field_rule_names_texts_and_numbers_of_one_place() -> None:
    compared = session("field:context.messages[*].details.took_ms")
    one, other = said("a", details={"took_ms": 12, "size": 1}), said("a", details={"took_ms": 34, "size": 1})
    assert bound(compared.compare(one, other, 0)) == [(12, 34)]
    other["context"]["messages"][0]["details"]["size"] = 2
    assert compared.compare(one, other, 1).difference is not None
    other["context"]["messages"][0]["details"] = {"took_ms": "34", "size": 1}
    assert compared.compare(one, other, 1).difference is not None, "another type"


@pytest.mark.parametrize("name", ["thinking_signature", "text_signature", "thought_signature", "role"])
def test_what_goes_back_to_the_vendor_as_it_came_is_no_symbol(name: str) -> None:
    recorded, incoming = (said("a", **{name: one}) for one in UUIDS[:2])
    assert session("uuid").compare(recorded, incoming, 0).difference is not None


def test_an_images_data_is_no_symbol_and_a_tools_is() -> None:
    image = [{"type": "image", "data": UUIDS[0]}], [{"type": "image", "data": UUIDS[1]}]
    assert session("uuid").compare(said(image[0]), said(image[1]), 0).difference is not None
    other = {"arguments": {"data": UUIDS[0]}}, {"arguments": {"data": UUIDS[1]}}
    assert session("uuid").compare(said(other[0]), said(other[1]), 0).difference is None
