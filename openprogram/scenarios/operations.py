"""Simulated operations and pure tools: the Python in a scenario.

    @operation("cancel_order", revision="2")
    def cancel_order(resources, arguments, clock, random):
        order = thaw(resources[f"orders/{arguments['order_id']}"])
        order["status"] = "cancelled"
        yield Commit(resource=f"orders/{order['id']}", value=order)
        yield Result(value=order)

    @pure("convert", revision="1", implementation="3")
    def convert(arguments):
        return arguments["amount"] * 2

Both are functions of what they are given. Decorating registers nothing: a scenario is told of them by name.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeVar

from openprogram.fixtures.events import AdapterEvent
from openprogram.world.chance import RandomStream
from openprogram.world.clock import Clock
from openprogram.world.resources import Resources

__all__ = [
    "Operation",
    "PureFunction",
    "PureTool",
    "SimulatedOperation",
    "ToolError",
    "declared_in",
    "operation",
    "pure",
]

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__openprogram_answers__"


class ToolError(Exception):
    """Raised by an operation or a pure function to end its answer with an error.

    `category`: one that the contract declares. `str()`: what the agent reads.
    """

    def __init__(self, category: str, message: str) -> None:
        super().__init__(category, message)
        self.category, self.message = category, message

    def __str__(self) -> str:
        return self.message


class SimulatedOperation(Protocol):
    """`(resources, arguments, clock, random) → events`. `random`: the stream named after the tool.

    May raise ToolError, which ends the answer; events before it count.
    """

    def __call__(
        self, resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream
    ) -> Iterable[AdapterEvent]: ...


#: `(arguments) → value`; depends on nothing else. May raise ToolError.
PureFunction: TypeAlias = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A simulated operation for one revision of a contract."""

    tool: str
    revision: str
    function: SimulatedOperation


@dataclass(frozen=True, slots=True)
class PureTool:
    """A pure tool's function. `implementation`: its own revision, part of the key of what it returned.

    `environment`: `any`, or the interpreter that its results depend on, such as `python-3.11`.
    """

    tool: str
    revision: str
    implementation: str
    function: PureFunction
    environment: str = "any"


def operation(tool: str, revision: str = "1") -> Callable[[F], F]:
    """The function below answers calls of `tool` under that revision of its contract."""

    return _declaring(lambda function: Operation(tool, revision, function))


def pure(tool: str, revision: str = "1", implementation: str = "1", environment: str = "any") -> Callable[[F], F]:
    """The function below really runs for calls of `tool`; raise `implementation` when it is changed. See PureTool."""

    return _declaring(lambda function: PureTool(tool, revision, implementation, function, environment))


def _declaring(answer: Callable[[Callable[..., Any]], Operation | PureTool]) -> Callable[[F], F]:
    def declare(function: F) -> F:
        if hasattr(function, _ATTRIBUTE):
            raise TypeError(f"{function.__name__} answers a tool already: write a function for each tool")
        setattr(function, _ATTRIBUTE, answer(function))
        return function

    return declare


def declared_in(module: ModuleType) -> list[Operation | PureTool]:
    """What a module declares, in the order of its names."""
    functions = (function for _, function in inspect.getmembers(module, inspect.isfunction))
    found = (getattr(function, _ATTRIBUTE, None) for function in functions)
    return [answer for answer in found if isinstance(answer, Operation | PureTool)]
