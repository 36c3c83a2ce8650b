"""Which tool calls run, and what the model is told of those that don't."""

from typing import Any

import pytest

from openprogram.agent import tool
from openprogram.agent.tool_calls import answer_call
from openprogram.agent.tools import ToolOutput
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import TextContent, Tool, ToolCall
from tests.openprogram.agent.runs import result_texts, scripted_run

pytestmark = pytest.mark.anyio


class TakesAnything:
    """A tool that answers whatever it is asked, and says whether it was."""

    def __init__(self) -> None:
        self.ran: list[dict[str, Any]] = []

    @property
    def definition(self) -> Tool:
        return Tool(name="delete_files")

    async def run(self, call: ToolCall) -> ToolOutput:
        self.ran.append(call.arguments)
        return ToolOutput([TextContent(text="done")])


def cut_off(arguments: dict[str, Any], error: str = "invalid JSON at character 12: Unterminated string") -> ToolCall:
    return ToolCall(id="c1", name="delete_files", arguments=arguments, arguments_error=error)


@pytest.mark.parametrize("arguments", [{}, {"folder": "/"}])
async def test_a_call_whose_arguments_are_not_whole_does_not_run_even_where_the_tool_would_take_them(
    arguments: dict[str, Any],
) -> None:
    tool = TakesAnything()

    output = await answer_call(cut_off(arguments), {"delete_files": tool})

    assert tool.ran == []
    assert output.is_error
    assert output.content == [
        TextContent(
            text="delete_files did not run, its arguments could not be read: "
            "invalid JSON at character 12: Unterminated string"
        )
    ]


async def test_a_call_whose_arguments_are_whole_runs() -> None:
    tool = TakesAnything()

    output = await answer_call(ToolCall(id="c1", name="delete_files", arguments={"a": 1}), {"delete_files": tool})

    assert (tool.ran, output.is_error) == ([{"a": 1}], False)


async def test_in_a_run_the_model_reads_what_was_wrong_and_may_ask_again() -> None:
    ran: list[str] = []

    @tool
    async def delete_files(folder: str = "/") -> str:
        """Delete what is in a folder."""
        ran.append(folder)
        return "done"

    right = ToolCall(id="c2", name="delete_files", arguments={"folder": "/tmp/a"})
    provider = ScriptedProvider([[cut_off({}, "not a JSON object")], [right], "Deleted."])

    finished = await scripted_run(provider, [delete_files])

    assert finished.reason == "stop"
    assert ran == ["/tmp/a"]
    assert result_texts(finished) == [
        ("c1", "delete_files did not run, its arguments could not be read: not a JSON object", True),
        ("c2", "done", False),
    ]
