"""Who sets what for a test, and what comes first; kinds of tests; a run that is interrupted."""

import json
from pathlib import Path

from tests.openprogram.pytest_plugin.suite import Suite

ONE = """
    import asyncio
    import pytest
    from agent import ask

    @pytest.mark.recording
    def test_one():
        asyncio.run(ask("one"))
"""


def _header(file: Path) -> dict[str, object]:
    header = json.loads(file.read_text().splitlines()[0])
    assert isinstance(header, dict)
    return header


def test_the_nearest_setting_counts(suite: Suite) -> None:
    """The marker's, the function's first; then conftest.py's; then those of pyproject.toml and the ini file."""
    (suite.folder / "pyproject.toml").write_text('[tool.openprogram]\nmatch = "content"\nvolatile = ["uuid"]\n')
    (suite.folder / "pytest.ini").write_text("[pytest]\nrecording_folder = from_ini\n")
    below = suite.folder / "below"
    below.mkdir()
    (below / "conftest.py").write_text(
        "def pytest_openprogram_settings(item):\n    return {'folder': 'from_conftest', 'volatile': []}\n"
    )
    suite.write(test_above=ONE)
    (below / "test_below.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.recording(match='content', volatile=['iso-time'])\n"
        "def test_module(): pass\n"
        "@pytest.mark.recording('own.jsonl', match='order')\n"
        "def test_function(): pass\n"
        "@pytest.mark.recording(match=None)\n"
        "class TestAll:\n"
        "    def test_class(self): pass\n"
    )
    assert suite.run("--recording-mode=record").outcomes == {"passed": 4}
    found = {}
    for file in suite.folder.rglob("*.jsonl"):
        header = _header(file)
        found[file.relative_to(suite.folder).as_posix()] = header.get("match"), header.get("volatile")
    assert found == {
        "from_ini/test_above/test_one.jsonl": ("content", ["uuid"]),
        "below/from_conftest/test_below/test_module.jsonl": ("content", ["iso-time"]),
        "below/own.jsonl": (None, ["iso-time"]),
        "below/from_conftest/test_below/TestAll.test_class.jsonl": ("content", ["iso-time"]),
    }


def test_a_setting_that_cannot_be_says_so(suite: Suite) -> None:
    for given, said in (
        ("folder='../elsewhere'", "a folder beside the test file"),
        ("loopback='yes'", "True or False"),
        ("volatile='uuid'", "a list of rules"),
        ("match='nearest'", "unknown match"),
        ("mode='record'", "unknown setting 'mode'"),
    ):
        suite.write(
            conftest=f"def pytest_openprogram_settings(item):\n    return dict({given})\n",
            test_a=ONE.replace("from agent import ask", ""),
        )
        finished = suite.run("--recording-mode=record")
        assert finished.outcomes == {"error": 1}, finished
        assert said in finished.text, finished
        assert "Traceback" not in finished.text


def test_unittest_classes_are_recorded_and_replayed(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        import unittest
        import pytest
        from agent import ask

        @pytest.mark.recording
        class TestShop(unittest.TestCase):
            def setUp(self):
                asyncio.run(ask("setup"))

            def test_lamps(self):
                self.assertEqual(asyncio.run(ask("lamps")), "you said lamps")

            def tearDown(self):
                asyncio.run(ask("teardown"))
        """
    )
    assert suite.run("--recording-mode=record").outcomes == {"passed": 1}
    finished = suite.run()
    assert finished.outcomes == {"passed": 1}, finished
    assert "calls: 3 exact" in finished.text
    assert suite.live_calls == ["setup", "lamps", "teardown"]


def test_a_compressed_recording_is_replayed_and_rewrite_makes_it_a_plain_one(suite: Suite) -> None:
    suite.write(test_a=ONE)
    suite.run("--recording-mode=record")
    plain = suite.folder / "recordings" / "test_a" / "test_one.jsonl"
    assert suite.run_program("-m", "openprogram", "recordings", "compress", str(plain)).status == 0
    plain.unlink()
    for mode in ("replay", "record"):
        finished = suite.run(f"--recording-mode={mode}")
        assert "recordings: 1 replayed, 0 recorded; calls: 1 exact" in finished.text, finished
    assert suite.run("--recordings-unused").status == 0
    assert suite.run("--recording-mode=rewrite").outcomes == {"passed": 1}
    assert suite.files() == ["recordings/test_a/test_one.jsonl"]


def test_an_interrupted_recording_is_set_aside_and_everything_is_put_back(suite: Suite) -> None:
    suite.write(
        test_a=ONE.replace('asyncio.run(ask("one"))', 'asyncio.run(ask("one"))\n        raise KeyboardInterrupt'),
        program="""
        import socket, sys
        import pytest

        before = socket.socket.connect
        status = pytest.main(sys.argv[1:])
        from openprogram.providers import api_registry
        assert socket.socket.connect == before
        assert api_registry._registry.overrides == ()
        raise SystemExit(status)
        """,
    )
    for mode in ("record", "replay"):
        if mode == "replay":
            (suite.folder / "recordings/test_a/test_one.jsonl.failed").rename(
                suite.folder / "recordings/test_a/test_one.jsonl"
            )
        finished = suite.run_program("program.py", "-p", "openprogram", f"--recording-mode={mode}")
        assert finished.status == 2, finished
        assert suite.files() == [f"recordings/test_a/test_one.jsonl{'.failed' if mode == 'record' else ''}"]


def test_matching_policies_of_a_marker_hold_in_the_replay(suite: Suite) -> None:
    test = """
        import asyncio
        import uuid
        import pytest
        from agent import ask

        async def both():
            await asyncio.gather(*(ask(word) for word in WORDS))

        @pytest.mark.recording(match="content")
        def test_any_order():
            asyncio.run(both())

        @pytest.mark.recording
        def test_order():
            asyncio.run(both())

        @pytest.mark.recording(volatile=["uuid"])
        def test_ids():
            asyncio.run(ask(f"what of {uuid.uuid4()}?"))
    """
    suite.write(test_a=test.replace("WORDS", "'ab'"))
    assert suite.run("--recording-mode=record").outcomes == {"passed": 3}
    suite.write(test_a=test.replace("WORDS", "'ba'"))
    finished = suite.run()
    assert finished.outcomes == {"passed": 2, "failed": 1}, finished
    assert "calls: 3 exact, 1 symbol-bound, 1 unused" in finished.text  # in order, only `a` found its answer


def test_what_a_killed_run_left_is_replaced_and_a_recording_that_is_not_whole_is_not_kept(suite: Suite) -> None:
    suite.write(test_a=ONE)
    folder = suite.folder / "recordings" / "test_a"
    folder.mkdir(parents=True)
    (folder / "test_one.jsonl.partial").write_text("half a li")
    assert suite.run("--recording-mode=record").outcomes == {"passed": 1}
    assert suite.files() == ["recordings/test_a/test_one.jsonl"]
    before = (folder / "test_one.jsonl").read_bytes()
    suite.write(
        test_a=ONE
        + """
        file = open("recordings/test_a/test_one.jsonl.partial", "a")
        file.write("something else wrote into it\\n")
        file.close()
"""
    )
    finished = suite.run("--recording-mode=rewrite")
    assert finished.outcomes == {"passed": 1, "error": 1}, finished
    assert "test_one.jsonl.partial, line" in finished.text
    assert (folder / "test_one.jsonl").read_bytes() == before
    assert suite.files("*.failed") == ["recordings/test_a/test_one.jsonl.failed"]
