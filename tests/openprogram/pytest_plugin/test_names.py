"""Names of recordings: legal on every system, never shared, the same whatever else is selected."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from openprogram.pytest_plugin.names import file_stem
from openprogram.recordings.names import check_name
from tests.openprogram.pytest_plugin.suite import Suite

IDENTIFIERS = st.from_regex(re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,30}", re.ASCII), fullmatch=True) | st.sampled_from(
    ["con", "aux", "test_größe", "test_" + "long" * 60]
)
PARAMETERS = st.text(max_size=40) | st.sampled_from(
    ["", "X", "x", "a/b", "..", "a b", "x" * 300, "a-0123456789", "nul"]
)


@st.composite
def named_tests(draw: st.DrawFn) -> list[str]:
    """The classes, the function and its parameters, as pytest names them."""
    names = draw(st.lists(IDENTIFIERS, min_size=1, max_size=3))
    if draw(st.booleans()):
        names[-1] += f"[{draw(PARAMETERS)}]"
    return names


def _letters(names: list[str]) -> str:
    """What a file system that ignores case sees of the identifiers; parameters are told apart by us."""
    return ".".join(names).partition("[")[0].casefold()


@given(named_tests(), st.booleans())
def test_a_name_is_legal_on_every_system_and_bounded(names: list[str], distinct: bool) -> None:
    stem = file_stem(names, distinct=distinct)
    check_name(stem)
    assert len(stem) <= 100
    assert stem == file_stem(names, distinct=distinct)


@given(named_tests(), named_tests(), st.booleans(), st.booleans())
def test_two_tests_never_share_a_name_even_where_case_is_ignored(
    one: list[str], other: list[str], one_distinct: bool, other_distinct: bool
) -> None:
    assume(one != other)
    if _letters(one) == _letters(other):
        # the same identifiers, or such that stand side by side and are not distinct; then neither is
        one_distinct = other_distinct = [n.partition("[")[0] for n in one] == [n.partition("[")[0] for n in other]
    first, second = file_stem(one, distinct=one_distinct), file_stem(other, distinct=other_distinct)
    assert first.casefold() != second.casefold()


def test_usual_names_read_like_the_test() -> None:
    assert file_stem(["test_coat"], distinct=True) == "test_coat"
    assert file_stem(["TestRain", "test_coat[lisbon-2]"], distinct=True) == "TestRain.test_coat-lisbon-2"


def test_a_secret_among_the_parameters_is_no_part_of_a_name() -> None:
    token = "ghp_" + "zx4qm81lwt7vbn2kdp9s" * 2
    one, other = (file_stem([f"test_login[bob-{token}{end}]"], distinct=True) for end in ("a", "b"))
    assert "test_login-bob-" in one
    assert "zx4qm81lwt7v" not in one
    assert one != other, "two tests have two recordings"


def test_classes_parameters_and_names_that_differ_in_case_get_files_of_their_own(suite: Suite) -> None:
    source = """
        import asyncio
        import pytest
        from agent import ask

        class TestRain:
            @pytest.mark.recording
            @pytest.mark.parametrize("city", ["lisbon", "Lisbon", "a/b:c"])
            def test_coat(self, city, request):
                asyncio.run(ask(request.node.name))

            class TestInner:
                @pytest.mark.recording
                def test_coat(self, request):
                    asyncio.run(ask("inner"))

        @pytest.mark.recording
        def test_coat():
            asyncio.run(ask("coat"))

        @pytest.mark.recording
        def test_Coat():
            asyncio.run(ask("Coat"))
    """
    suite.write(test_a=source)
    recorded = suite.run("--recording-mode=record")
    assert recorded.outcomes == {"passed": 6}, recorded
    names = [name.rpartition("/")[2] for name in suite.files()]
    assert len({name.casefold() for name in names}) == 6
    assert {"TestRain.TestInner.test_coat.jsonl", "TestRain.test_coat-lisbon.jsonl"} <= set(names)
    one_by_one = suite.run("test_a.py::test_Coat", "test_a.py::TestRain::test_coat[a/b:c]")
    assert one_by_one.outcomes == {"passed": 2}, one_by_one
    assert suite.run().outcomes == {"passed": 6}
    assert len(suite.live_calls) == 6
