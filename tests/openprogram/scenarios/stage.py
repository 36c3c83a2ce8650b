"""A small shop, for tests of scenario replay: contracts, a world, and what answers."""

from collections.abc import Iterable, Sequence
from typing import Any

from openprogram.contracts import Contract, ErrorCategory, ResultLimits
from openprogram.contracts.contract import ApprovalRule
from openprogram.fixtures.events import Ack, AdapterEvent, Commit, Delay, Result
from openprogram.providers.scripted import Answer
from openprogram.providers.types import Model
from openprogram.scenarios.operations import Operation
from openprogram.scenarios.scenario import Scenario
from openprogram.world import InitialResources, thaw
from openprogram.world.clock import parse_time

__all__ = ["CONTRACTS", "MODEL", "ORDERS", "pay", "scenario"]

MODEL = Model(id="m", api="scripted", provider="scripted")
ORDERS = InitialResources({"orders": {"17": {"status": "open", "amount": 30}, "18": {"status": "open", "amount": 5}}})

_ARGUMENTS = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
    "additionalProperties": False,
}

CONTRACTS = {
    "pay": Contract(
        name="pay",
        effect="write",
        arguments=_ARGUMENTS,
        writes=("orders/{id}",),
        errors=(ErrorCategory(name="refused"), ErrorCategory(name="busy", retryable=True)),
        limits=ResultLimits(seconds=10),
    ),
    "get_order": Contract(name="get_order", effect="read", arguments=_ARGUMENTS, reads=("orders/{id}",)),
    "refund": Contract(
        name="refund",
        effect="external",
        arguments=_ARGUMENTS,
        writes=("orders/{id}",),
        approval=ApprovalRule(expires_after_s=60),
    ),
}


def pay(resources: Any, arguments: dict[str, Any], clock: Any, random: Any) -> Iterable[AdapterEvent]:
    """Pays an order, in two seconds."""
    order = thaw(resources[f"orders/{arguments['id']}"])
    order["status"] = "paid"
    yield Delay(seconds=2)
    yield Commit(resource=f"orders/{arguments['id']}", value=order)
    yield Ack(receipt=random.text(6))
    yield Result(value=order)


def scenario(turns: Sequence[str] = ("Go.",), **fields: Any) -> Scenario:
    """The shop, with `fields` of Scenario in place of its own."""
    given: dict[str, Any] = {
        "id": "shop",
        "version": "1",
        "seed": "7",
        "start": parse_time("2026-01-05T09:00:00Z"),
        "model": MODEL,
        "turns": tuple(turns),
        "contracts": CONTRACTS,
        "resources": ORDERS,
        "operations": {"pay": Operation("pay", "1", pay), "refund": Operation("refund", "1", pay)},
    }
    return Scenario(**given | fields)


Script = Sequence[Answer]
