"""The pages on pytest, followed to the letter."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.test_examples import CHECKOUT, PYTEST, blocks, edit, run, write_named_blocks
from tests.shared_data import shared

HOW_TO = CHECKOUT / "docs" / "how-to"


def test_from_nothing_to_a_recorded_test_that_catches_a_change(tmp_path: Path) -> None:
    page = HOW_TO / "pytest.md"
    write_named_blocks(page, tmp_path)
    (tmp_path / "conftest.py").unlink()  # stands for a setting, further down the page
    assert run(tmp_path, *PYTEST).returncode == 1
    assert run(tmp_path, *PYTEST, "--recording-mode=record").returncode == 0
    assert (tmp_path / "recordings" / "test_shop" / "test_lamps.jsonl").exists()
    assert run(tmp_path, *PYTEST).returncode == 0
    edit(tmp_path / "test_shop.py", "Do you have lamps?", "Do you have any lamps?")
    finished = run(tmp_path, *PYTEST)
    assert finished.returncode == 1
    (shown,) = [text for text in blocks(page, "text") if "replay mismatch" in text]
    assert shown in finished.stdout, finished.stdout


def test_settings_in_a_conftest_hold(tmp_path: Path) -> None:
    write_named_blocks(HOW_TO / "pytest.md", tmp_path)
    assert run(tmp_path, *PYTEST, "--recording-mode=record").returncode == 0
    recording = tmp_path / "model_calls" / "test_shop" / "test_lamps.jsonl"
    assert '"match":"content"' in recording.read_text("utf-8").splitlines()[0]
    assert run(tmp_path, *PYTEST).returncode == 0


def test_what_the_page_says_to_look_at_is_there_with_the_conftest_and_without(tmp_path: Path) -> None:
    page = HOW_TO / "pytest.md"
    write_named_blocks(page, tmp_path)
    conftest = tmp_path / "conftest.py"
    conftest.rename(tmp_path / "later.py")
    shown = re.findall(r"`openprogram (recordings show \./[^`]+)`", page.read_text("utf-8"))
    without, with_conftest = sorted(shown, key=lambda command: "model_calls" in command)

    assert run(tmp_path, *PYTEST, "--recording-mode=record").returncode == 0
    assert run(tmp_path, "-m", "openprogram", *without.split()).returncode == 0
    (tmp_path / "later.py").rename(conftest)
    assert run(tmp_path, *PYTEST).returncode == 1
    (tmp_path / "recordings").rename(tmp_path / "model_calls")
    assert run(tmp_path, *PYTEST).returncode == 0
    assert run(tmp_path, "-m", "openprogram", *with_conftest.split()).returncode == 0


def test_a_tool_loop_replays_and_a_changed_tool_is_caught(tmp_path: Path) -> None:
    page = HOW_TO / "testing-a-tool-loop.md"
    write_named_blocks(page, tmp_path)
    assert run(tmp_path, *PYTEST, "--recording-mode=record").returncode == 0
    finished = run(tmp_path, *PYTEST)
    assert "calls: 2 exact" in finished.stdout, finished.stdout
    edit(tmp_path / "orders.py", '"packed, leaves tomorrow"', '"on hold"')
    finished = run(tmp_path, *PYTEST)
    assert finished.returncode == 1
    (shown,) = blocks(page, "text")
    assert shown in finished.stdout, finished.stdout


def test_a_suite_moves_from_the_vendors_sdk_by_the_page(tmp_path: Path) -> None:
    case = shared("wire", "cases", "mistral-chat", "tool-loop-4.json")
    write_named_blocks(HOW_TO / "from-pytest-recording.md", tmp_path)
    server = subprocess.Popen(
        [sys.executable, str(shared("wire", "serve.py")), str(case)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        environ = {
            **os.environ,
            "OPENPROGRAM_HOME": str(tmp_path / "state"),
            "MISTRAL_URL": url,
            "MISTRAL_API_KEY": "not-a-key",
        }
        command = [sys.executable, *PYTEST, "--recording-mode=record"]
        recorded = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    finally:
        server.kill()
        server.communicate()
    assert recorded.returncode == 0, recorded.stdout
    environ.pop("MISTRAL_API_KEY")
    replayed = subprocess.run(command[:-1], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert replayed.returncode == 0, replayed.stdout
    assert "recordings: 1 replayed, 0 recorded; calls: 2 exact" in replayed.stdout


def test_a_loop_of_ones_own_moves_by_the_page_and_a_changed_tool_is_caught(tmp_path: Path) -> None:
    write_named_blocks(HOW_TO / "from-pytest-recording.md", tmp_path)
    (tmp_path / "test_weather.py").unlink()  # its vendor is another one
    (tmp_path / "test_own.py").write_text(
        "import pytest\n"
        "from openprogram.providers.api_registry import register_api_provider\n"
        "from openprogram.providers.scripted import ScriptedProvider, tool_call\n"
        "from own_loop import answer\n"
        "script = [[tool_call('weather', {'city': 'Lisbon'})], 'No coat.']\n"
        "register_api_provider('anthropic-messages', ScriptedProvider(script))\n"
        "@pytest.mark.recording\n"
        "def test_own(): assert answer('A coat?') == 'No coat.'\n"
    )
    recorded = run(tmp_path, *PYTEST, "--recording-mode=record")
    assert recorded.returncode == 0, recorded.stdout
    finished = run(tmp_path, *PYTEST)
    assert "calls: 2 exact" in finished.stdout, finished.stdout
    edit(tmp_path / "own_loop.py", "21 degrees, light wind", "4 degrees, rain")
    finished = run(tmp_path, *PYTEST)
    assert finished.returncode == 1
    assert "field context.messages[2].content[0].text" in finished.stdout
