"""The four line types of a recording, and the one way each is spelled and parsed.

    {"type":"header","format_version":1,…}                                 first, once
    {"type":"request","call_index":0,"model":…,"context":…,"options":…}    a call begins
    {"type":"event","call_index":0,"event_index":0,"event":{…}}            one event
    {"type":"call_end","call_index":0,"event_count":1,"outcome":"complete"} the call ended

Written in this key order, so that recordings diff well; read in any. Source: docs/format/v1.md.
"""

import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any, Final, Literal, NamedTuple, NewType, TypeAlias, cast, get_args

from openprogram.pipeline.json_value import (
    MAX_DEPTH,
    JsonValue,
    NotJson,
    show_value,
    to_json_value,
    to_line,
)
from openprogram.pipeline.log.event_lines import EVENT_PREFIX, cut_event
from openprogram.pipeline.log.strict_json import LineDefect, load_line, load_payload
from openprogram.pipeline.matching.policy import MatchingPolicy, PolicyError

__all__ = [
    "LINE_END",
    "OUTCOMES",
    "RECORDING_FORMAT_VERSION",
    "CallEndLine",
    "CheckEvent",
    "CleanEvent",
    "CleanRequest",
    "EventLine",
    "HeaderLine",
    "Line",
    "LineDefect",
    "Outcome",
    "RequestLine",
    "UnknownPolicy",
    "WrongVersion",
    "accept_any_event",
    "encode_call_end",
    "encode_event",
    "encode_header",
    "encode_request",
    "encode_request_body",
    "load_payload",
    "parse_line",
]

RECORDING_FORMAT_VERSION: Final = 1

#: Lines end here only. U+2028, U+2029 and U+0085 are ordinary characters; a `\r` before it is white space.
LINE_END: Final = b"\n"

#: How a call ended. `complete`: at its terminal event, a provider's `error` event included. `error`: the provider
#: raised, or its stream had no terminal event. `cancelled`: the consumer was cancelled. `abandoned`: it left.
Outcome: TypeAlias = Literal["complete", "error", "cancelled", "abandoned"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

#: The dump of an event without secrets. Minted by the redact stage only, so that a type checker refuses a writer
#: anything else.
CleanEvent = NewType("CleanEvent", dict[str, JsonValue])
#: `model`, `context` and `options` of a request, likewise.
CleanRequest = NewType("CleanRequest", dict[str, JsonValue])

#: Raises ValueError where an event's dump isn't one that today's vocabulary can load. Of a delta, a dump that has a
#: `type`, a whole `content_index` and a text `delta` and nothing else, the `type` alone may decide.
CheckEvent: TypeAlias = Callable[[dict[str, Any]], None]

_DELTA_KEYS: Final = ("type", "content_index", "delta")
#: Characters that are far below MAX_LINE_BYTES however they are escaped.
_SHORT: Final = 1_000_000

_REQUEST_FIELDS: Final = ("model", "context", "options")

#: How `encode_call_end` spells the end of a call in which nothing was raised.
_CALL_END: Final = re.compile(
    rb'\{"type":"call_end","call_index":(0|[1-9][0-9]{0,14}),"event_count":(0|[1-9][0-9]{0,14}),'
    rb'"outcome":"([a-z]{1,20})"\}\r?\n?'
)


class WrongVersion(LineDefect):
    """A header of another format version: nothing else in the file can be understood."""


class UnknownPolicy(WrongVersion):
    """A header whose matching policy this release doesn't know: a replay that ignored it would judge wrongly."""


class HeaderLine(NamedTuple):
    """`fields`: the whole line, optional metadata included. `policy`: how its calls are matched."""

    fields: dict[str, Any]
    policy: MatchingPolicy


class RequestLine(NamedTuple):
    """`request`: `model`, `context`, `options`, and any field that today's format doesn't know."""

    call_index: int
    request: dict[str, Any]


class EventLine(NamedTuple):
    call_index: int
    event_index: int  #: from 0 within the call
    event: dict[str, Any]
    is_canonical: bool = True  #: spelled as `encode_event` does, so that `canonical_payloads` can cut the event out


class CallEndLine(NamedTuple):
    call_index: int
    event_count: int
    outcome: Outcome
    error: dict[str, Any] | None  #: `type`, `message`, redacted; None where nothing was raised


Line: TypeAlias = HeaderLine | RequestLine | EventLine | CallEndLine


# ---- writing


def encode_header(fields: dict[str, JsonValue]) -> bytes:
    """The header line. `fields`: optional metadata, whose `type` and `format_version` don't count. Raises NotJson."""
    own: dict[str, JsonValue] = {"type": "header", "format_version": RECORDING_FORMAT_VERSION}
    return _encode({**own, **fields, **own}, fields)


def encode_request_body(request: CleanRequest) -> bytes:
    """The part of a request line that doesn't depend on its call_index, for `encode_request`.

    Raises NotJson, naming the field: not strict JSON, above MAX_DEPTH or MAX_LINE_BYTES, or no request.
    """
    for name in _REQUEST_FIELDS:
        if name not in request:
            raise NotJson(name, "a request must have it")
    for name in ("type", "call_index"):
        if name in request:
            raise NotJson(name, "the line has a field of that name already")
    return _encode(request, request)


def encode_request(call_index: int, body: bytes) -> bytes:
    """A request line from `encode_request_body`, or its beginning from the first piece of a body.

    Cheap, so that it can be done under the append lock.
    """
    # Through a view: a long context is copied once here, and not once more for the slice.
    return b"".join((b'{"type":"request","call_index":%d,' % call_index, memoryview(body)[1:]))


def encode_event(call_index: int, event_index: int, event: CleanEvent) -> bytes:
    """An event line. Raises NotJson, naming the field within the event, as `encode_request_body`."""
    if tuple(event) == _DELTA_KEYS:
        kind, index, delta = event.values()
        if type(kind) is str and type(index) is int and type(delta) is str and len(delta) < _SHORT:
            # Nearly every event is such a delta. The same text as below, for a fifth of the cost.
            text = (
                f'{{"type":"event","call_index":{call_index},"event_index":{event_index},"event":{{"type":'
                f'{encode_basestring(kind)},"content_index":{index},"delta":{encode_basestring(delta)}}}}}\n'
            )
            try:
                return text.encode()
            except UnicodeEncodeError:
                pass  # a lone surrogate, which is written as an escape
    line: dict[str, JsonValue] = {
        "type": "event",
        "call_index": call_index,
        "event_index": event_index,
        "event": event,
    }
    return _encode(line, event, depth=2)


def encode_call_end(
    call_index: int, event_count: int, outcome: Outcome, error: dict[str, JsonValue] | None = None
) -> bytes:
    """A call_end line. `error`: redacted `type` and `message`. Raises NotJson, as `encode_request_body`."""
    line: dict[str, JsonValue] = {
        "type": "call_end",
        "call_index": call_index,
        "event_count": event_count,
        "outcome": outcome,
    }
    if error is not None:
        line["error"] = error
    return _encode(line, line)


def _encode(line: dict[str, JsonValue], content: dict[str, JsonValue], depth: int = 1) -> bytes:
    """A line that the reader will take. `content`: what came from outside, `depth` levels into it, to name a field."""
    try:
        encoded = to_line(line)
    except (ValueError, TypeError, RecursionError) as error:
        to_json_value(content, depth=depth)  # raises the same with the field's path, where it has one
        raise error if isinstance(error, NotJson) else NotJson("", str(error)) from None
    if encoded.count(b"{") + encoded.count(b"[") > MAX_DEPTH:
        # Only then can it be too deep at all; walking every value would cost more than writing it.
        to_json_value(content, depth=depth)
    return encoded


# ---- reading


def accept_any_event(_event: dict[str, Any]) -> None:
    """The CheckEvent of those to whom the vocabulary doesn't matter: the writer's bookkeeping, a re-read."""


def parse_line(raw: bytes, check_event: CheckEvent) -> Line:
    """One line, its line end left off or not, as a value.

    Strict JSON: no NaN or Infinity, no duplicate key at the line's own level, no deeper than MAX_DEPTH.
    Raises LineDefect.
    """
    prefix = EVENT_PREFIX.match(raw)
    if prefix is None:
        return _call_end_as_written(raw) or _interpret(load_line(raw), check_event)
    call_index = int(prefix[1])
    try:
        event = load_payload(cut_event(raw, prefix.end()))
    except LineDefect:
        # Either it isn't JSON, or more follows the event; the whole line tells which, and at which column.
        return _interpret(_load_line_of(call_index, raw), check_event)
    return EventLine(call_index, int(prefix[2]), _checked_event(event, call_index, check_event))


def _load_line_of(call_index: int, raw: bytes) -> dict[str, Any]:
    try:
        return load_line(raw)
    except LineDefect as defect:
        raise LineDefect(defect.reason, call_index) from None


def _interpret(fields: dict[str, Any], check_event: CheckEvent) -> Line:
    kind = fields.get("type")
    if kind == "header":
        return _header(fields)
    if kind not in ("request", "event", "call_end"):
        raise LineDefect(f"unknown line type {show_value(kind)}" if "type" in fields else "the line has no type")
    call_index = _count(fields, "call_index", None)
    if kind == "request":
        missing = [name for name in _REQUEST_FIELDS if name not in fields]
        if missing:
            raise LineDefect(f"the request has no {missing[0]}", call_index)
        request = {key: value for key, value in fields.items() if key not in ("type", "call_index")}
        return RequestLine(call_index, request)
    if kind == "event":
        event_index = _count(fields, "event_index", call_index)
        event = _checked_event(fields.get("event"), call_index, check_event)
        return EventLine(call_index, event_index, event, is_canonical=False)
    return _call_end(fields, call_index)


def _header(fields: dict[str, Any]) -> HeaderLine:
    version = fields.get("format_version")
    if type(version) is not int or version != RECORDING_FORMAT_VERSION:
        found = f"format_version {show_value(version)}" if "format_version" in fields else "no format_version"
        raise WrongVersion(f"{found}; this release reads version {RECORDING_FORMAT_VERSION}")
    try:
        return HeaderLine(fields, MatchingPolicy.from_header(fields))
    except PolicyError as error:
        raise UnknownPolicy(str(error)) from None


def _call_end_as_written(raw: bytes) -> CallEndLine | None:
    """As `_call_end`, at a fifth of the cost. None where it is another line, is spelled in another way, or is wrong."""
    found = _CALL_END.fullmatch(raw)
    if found is None or (outcome := found[3].decode()) not in OUTCOMES:
        return None
    return CallEndLine(int(found[1]), int(found[2]), cast(Outcome, outcome), None)


def _call_end(fields: dict[str, Any], call_index: int) -> CallEndLine:
    outcome = fields.get("outcome", "complete")
    if outcome not in OUTCOMES:
        raise LineDefect(f"unknown outcome {show_value(outcome)}", call_index)
    error = fields.get("error")
    if error is not None and not isinstance(error, dict):
        raise LineDefect("error is not an object", call_index)
    return CallEndLine(call_index, _count(fields, "event_count", call_index), cast(Outcome, outcome), error)


def _checked_event(event: Any, call_index: int, check_event: CheckEvent) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise LineDefect("the event is not an object", call_index)
    try:
        check_event(event)
    except ValueError as error:
        raise LineDefect(str(error), call_index) from None
    return event


def _count(fields: dict[str, Any], name: str, call_index: int | None) -> int:
    value = fields.get(name)
    if name not in fields:
        raise LineDefect(f"the line has no {name}", call_index)
    if type(value) is not int or value < 0:
        raise LineDefect(f"{name} is {show_value(value)}, not a count from 0", call_index)
    return value
