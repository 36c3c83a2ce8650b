"""Simulated operations: pure functions of the world and the arguments, which say what happens."""

from collections.abc import Iterator
from typing import Any

from openprogram.fixtures.events import Ack, AdapterEvent, Commit, Delay, Result
from openprogram.scenarios.operations import ToolError, operation
from openprogram.world import Resources, thaw


@operation("cancel_order", revision="1")
def cancel_order(resources: Resources, arguments: dict[str, Any], clock: Any, random: Any) -> Iterator[AdapterEvent]:
    resource = f"orders/{arguments['id']}"
    order = thaw(resources[resource])
    if order["status"] == "shipped":
        raise ToolError("shipped", "Error: the order has been shipped")
    order |= {"status": "cancelled", "refund": order["price"]}
    yield Delay(seconds=1)
    yield Commit(resource=resource, value=order)
    yield Ack()
    yield Result(value=order)
