"""The tools that a terminal run offers."""

from pathlib import Path

import pytest

from openprogram.agent.builtin_tools import builtin_tools
from openprogram.providers.scripted import tool_call
from tests.openprogram.agent.runs import result_texts, scripted_run

pytestmark = pytest.mark.anyio


async def test_a_model_uses_each_of_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    tools = builtin_tools(tmp_path, now_ms=lambda: 1_700_000_000_123)
    assert [tool.definition.name for tool in tools] == ["calculate", "current_time", "read_text_file", "list_files"]
    assert all(tool.definition.description for tool in tools)
    calls = [
        tool_call("calculate", {"expression": "6 * 7"}, id="a"),
        tool_call("calculate", {"expression": "1 / 0"}, id="b"),
        tool_call("current_time", {}, id="c"),
        tool_call("read_text_file", {"path": "a.txt"}, id="d"),
        tool_call("read_text_file", {"path": "../a.txt"}, id="e"),
        tool_call("list_files", {}, id="f"),
    ]
    assert result_texts(await scripted_run([calls, "done"], tools)) == [
        ("a", "42", False),
        ("b", "ZeroDivisionError: division by zero", True),
        ("c", "2023-11-14T22:13:20+00:00", False),
        ("d", "hello", False),
        (
            "e",
            "PathRefused: '../a.txt': leads out of the folder: give a path relative to it, without '..'",
            True,
        ),
        ("f", "a.txt", False),
    ]
