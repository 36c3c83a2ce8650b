"""Contracts declared beside a tool's function.

    @tool(effect="write", revision="3", writes=("orders/{order_id}",))
    def cancel_order(order_id: str) -> dict[str, str]:
        "Cancel an order that has not been shipped."

Name, description and schemas come from the function, all else from the decorator.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

from openprogram.agent.signature import Signature
from openprogram.contracts.contract import Contract, EffectClass

__all__ = ["contract_of", "tool"]

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__openprogram_contract__"


def tool(*, effect: EffectClass, revision: str = "1", **promises: Any) -> Callable[[F], F]:
    """Declare the contract of the function below; the function itself stays what it was.

    `promises`: the other fields of Contract. Raises TypeError: the signature has no schema. ValidationError: the
    contract doesn't hold together.
    """

    def declare(function: F) -> F:
        declared = {
            "name": function.__name__,
            "description": inspect.getdoc(function) or "",
            "arguments": Signature(function).json_schema,
            "result": _result_schema(function),
            "effect": effect,
            "revision": revision,
            **promises,
        }
        setattr(function, _ATTRIBUTE, Contract.model_validate(declared))
        return function

    return declare


def contract_of(function: Callable[..., Any]) -> Contract:
    """The contract that was declared beside `function`. Raises LookupError: there is none."""
    declared = getattr(function, _ATTRIBUTE, None)
    if not isinstance(declared, Contract):
        raise LookupError(f"{function!r} has no contract: declare it with @tool(effect=…)")
    return declared


def _result_schema(function: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(function, include_extras=True)
    if "return" not in hints:
        return {}
    return TypeAdapter(hints["return"]).json_schema(mode="serialization")
