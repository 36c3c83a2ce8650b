"""Structured logs: one logger, and the sinks that a process attaches to it.

Importing or using this prints nothing and leaves structlog's and logging's global settings alone: the chain
below is our own, and ends in the standard logger `openprogram`, whose level and handlers are the user's.
Sinks come before it, because a program that wants our file shouldn't get our lines on its own handlers too.

An event is a fixed dotted name with counts, indexes, durations and paths: `recording.call_end`, `call_index=3`,
`event_count=17`. Never a prompt, a payload or a header.
"""

import logging
from collections.abc import Callable, Mapping, MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import structlog

__all__ = ["LOGGER_NAME", "Sink", "attach_sink", "detach_sink", "get_logger"]

LOGGER_NAME = "openprogram"

#: Gets every event: its `event`, `level` and `timestamp` (ISO 8601, UTC) among its fields. Must not raise.
Sink: TypeAlias = Callable[[Mapping[str, Any]], None]

_sinks: dict[str, Sink] = {}


def attach_sink(name: str, sink: Sink) -> None:
    """Give every event to `sink` from now on, in place of an earlier sink of that name."""
    _sinks[name] = sink


def detach_sink(name: str) -> None:
    """Forget the sink of that name; unknown names are ignored."""
    _sinks.pop(name, None)


@cache
def get_logger() -> "structlog.stdlib.BoundLogger":
    """The logger of this project. Call it where you log: structlog is imported at the first call, not at start."""
    import structlog

    logger = logging.getLogger(LOGGER_NAME)
    # Without a handler of its own, the standard library would print warnings of an unconfigured program on stderr.
    logger.addHandler(logging.NullHandler())
    return structlog.stdlib.BoundLogger(
        logger,
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _give_to_sinks,
            structlog.stdlib.filter_by_level,
            _render_for_logging,
        ],
        context={},
    )


def _give_to_sinks(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for sink in tuple(_sinks.values()):
        sink(event)
    return event


def _render_for_logging(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> tuple[tuple[str], dict[str, Any]]:
    """A readable message, and the fields as `record.openprogram`: one attribute can't collide with logging's own."""
    fields = {key: value for key, value in event.items() if key not in {"event", "level", "timestamp", "exc_info"}}
    message = " ".join([str(event["event"]), *(f"{key}={value!r}" for key, value in fields.items())])
    return (message,), {"extra": {"openprogram": fields}, "exc_info": event.get("exc_info")}
