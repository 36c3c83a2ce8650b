"""A small shop whose payments settle by themselves, half a minute later."""

from collections.abc import Iterator
from typing import Any

from openprogram.fixtures.events import Accepted, Ack, AdapterEvent, Commit, Delay, Result
from openprogram.scenarios.operations import ToolError, operation
from openprogram.world import RandomStream, Resources, thaw
from openprogram.world.clock import Clock

SETTLES_AFTER_S = 30


@operation("pay")
def pay(resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream) -> Iterator[AdapterEvent]:
    resource = f"orders/{arguments['order_id']}"
    order = thaw(resources[resource])
    if order["status"] != "open":
        raise ToolError("refused", f"Error: the order is {order['status']}")
    pending = {**order, "status": "pending", "paid": order["amount"]}
    yield Accepted()
    yield Delay(seconds=random.integer(1, 4))
    yield Commit(resource=resource, value=pending)
    yield Commit(resource=resource, value={**pending, "status": "completed"}, after_s=SETTLES_AFTER_S, name="settles")
    yield Ack(receipt=random.text(8))
    yield Result(value=pending)


@operation("get_order")
def get_order(
    resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream
) -> Iterator[AdapterEvent]:
    resource = f"orders/{arguments['order_id']}"
    if resource not in resources:
        raise ToolError("not_found", "Error: there is no such order")
    yield Result(value=resources[resource])


@operation("refund")
def refund(
    resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream
) -> Iterator[AdapterEvent]:
    resource = f"orders/{arguments['order_id']}"
    yield Commit(resource=resource, value={**thaw(resources[resource]), "status": "refunded"})
    yield Ack()
    yield Result(value="refunded")


@operation("wait")
def wait(resources: Resources, arguments: dict[str, Any], clock: Clock, random: RandomStream) -> Iterator[AdapterEvent]:
    yield Delay(seconds=arguments["seconds"])
    yield Result(value=f"{arguments['seconds']} seconds have passed")
