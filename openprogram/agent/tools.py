"""Tools: what the model may ask for, and the Python functions behind them.

    @tool
    async def weather(city: str) -> str:
        "The weather in a city today."

The docstring is the description that the model reads, the signature is the schema.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from anyio import to_thread

from openprogram.agent.signature import InvalidArguments, Signature
from openprogram.pipeline.json_value import to_json_value
from openprogram.providers.types import DocumentContent, ImageContent, TextContent, Tool, ToolCall, UserContent

__all__ = ["AgentTool", "FunctionTool", "ToolOutput", "failed", "to_content", "tool"]


@dataclass(frozen=True)
class ToolOutput:
    """What a tool answers. `content`: for the model. `details`: for the program, never sent to the model."""

    content: list[UserContent]
    is_error: bool = False
    details: Any = None


class AgentTool(Protocol):
    """A tool that the loop can run. `definition`: what the model is told of it."""

    @property
    def definition(self) -> Tool: ...

    async def run(self, call: ToolCall) -> ToolOutput:
        """Answer `call`. What it raises becomes an error result, see `openprogram.agent.tool_calls`."""
        ...


class FunctionTool:
    """A tool that calls `function`, which may be asynchronous or not.

    A synchronous function runs in a worker thread. A thread cannot be stopped: a cancelled run waits for it,
    since a tool that went on unseen could change the world after the run has ended.

    Raises TypeError: the signature has no schema, see Signature.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._signature = Signature(function)
        self._definition = Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            parameters=self._signature.json_schema,
        )

    @property
    def definition(self) -> Tool:
        """Name, docstring and schema of the function."""
        return self._definition

    async def run(self, call: ToolCall) -> ToolOutput:
        """Call the function with the arguments of `call`. Arguments that do not fit are an error result.

        Raises whatever the function raises, and NotJson where its result has no JSON form.
        """
        try:
            arguments = self._signature.validate(call.arguments)
        except InvalidArguments as invalid:
            return failed(f"invalid arguments for {call.name}: {invalid}")
        if inspect.iscoroutinefunction(self._function):
            result = await self._function(**arguments)
        else:
            result = await to_thread.run_sync(partial(self._function, **arguments))
        return ToolOutput(to_content(result))


def tool(function: Callable[..., Any]) -> FunctionTool:
    """`function` as a tool, also as a decorator. Raises TypeError: its signature has no schema."""
    return FunctionTool(function)


def to_content(result: Any) -> list[UserContent]:
    """The result of a function as content: text and blocks as they are, None as no text, the rest as JSON text.

    Raises NotJson: it has no JSON form.
    """
    if isinstance(result, TextContent | ImageContent | DocumentContent):
        return [result]
    blocks = (TextContent, ImageContent, DocumentContent)
    if isinstance(result, list) and result and all(isinstance(item, blocks) for item in result):
        return list(result)
    if result is None:
        return [TextContent(text="")]
    if isinstance(result, str):
        return [TextContent(text=result)]
    return [TextContent(text=json.dumps(to_json_value(result), ensure_ascii=False))]


def failed(text: str) -> ToolOutput:
    """An error result that tells the model `text`."""
    return ToolOutput([TextContent(text=text)], is_error=True)
