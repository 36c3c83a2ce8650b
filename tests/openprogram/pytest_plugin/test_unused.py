"""`--recordings-unused`: which recordings no test uses, where the whole suite was asked."""

import json

import pytest

from tests.openprogram.pytest_plugin.suite import Suite

SOURCE = """
    import asyncio
    import pytest
    from agent import ask

    @pytest.mark.recording
    @pytest.mark.parametrize("word", ["a", "b"])
    def test_words(word):
        asyncio.run(ask(word))

    @pytest.mark.recording("recordings/own/named.jsonl")
    def test_named():
        asyncio.run(ask("named"))

    def test_by_fixture(recording):
        asyncio.run(ask("fixture"))
"""


@pytest.fixture
def recorded(suite: Suite) -> Suite:
    suite.write(test_a=SOURCE)
    assert suite.run("--recording-mode=record").outcomes == {"passed": 4}
    return suite


def test_a_suite_without_unused_recordings_exits_with_0_and_runs_no_test(recorded: Suite) -> None:
    live = recorded.live_calls
    (recorded.folder / "recordings" / "notes.jsonl").write_text('{"not": "a recording"}\n')
    finished = recorded.run("--recordings-unused")
    assert finished.status == 0, finished
    assert "recordings: 4 used, 0 unused" in finished.text
    assert "test_words" not in finished.text
    assert recorded.live_calls == live


def test_recordings_of_tests_and_modules_that_are_gone_are_listed_with_exit_status_1(recorded: Suite) -> None:
    recorded.write(test_b=SOURCE.replace("own/named", "own/other"))
    recorded.run("--recording-mode=record")
    (recorded.folder / "test_b.py").unlink()
    recorded.write(test_a=SOURCE.replace('["a", "b"]', '["a"]'))
    answer = recorded.folder / "unused.json"
    for arguments, plugins in (([f"--recordings-unused-json={answer}"], ()), (["-n", "2"], ("xdist",)), (["."], ())):
        finished = recorded.run("--recordings-unused", *arguments, plugins=plugins)
        assert finished.status == 1, finished
        unused = [line for line in finished.text.splitlines() if line.startswith("unused recording: ")]
        assert unused == [
            "unused recording: recordings/own/other.jsonl",
            "unused recording: recordings/test_a/test_words-b.jsonl",
            "unused recording: recordings/test_b/test_by_fixture.jsonl",
            "unused recording: recordings/test_b/test_words-a.jsonl",
            "unused recording: recordings/test_b/test_words-b.jsonl",
        ]
    told = json.loads(answer.read_text())
    assert (told["used"], told["skipped_modules"]) == (3, [])
    assert [f"unused recording: {file}" for file in told["unused"]] == unused


def test_what_leaves_tests_out_is_refused_with_exit_status_4(recorded: Suite) -> None:
    for arguments in (
        ["-k", "words"],
        ["-m", "not recording"],
        ["test_a.py"],
        ["test_a.py::test_named"],
        ["--deselect", "test_a.py::test_named"],
    ):
        finished = recorded.run("--recordings-unused", *arguments)
        assert finished.status == 4, finished
        assert "--recordings-unused needs the whole suite" in finished.text
        assert "unused recording:" not in finished.text
    recorded.write(test_broken="import no_such_module")
    assert recorded.run("--recordings-unused").status != 0


def test_recordings_of_a_module_that_is_skipped_here_are_not_called_unused(recorded: Suite) -> None:
    recorded.write(test_a="import pytest\npytest.importorskip('no_such_module')\n" + "")
    finished = recorded.run("--recordings-unused")
    assert "not judged, as the module is skipped here: test_a.py" in finished.text, finished
    assert "test_words" not in finished.text
