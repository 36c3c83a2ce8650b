"""The four line types of a recording, and the one way each is spelled and parsed.

    {"type":"header","format_version":1,…}                                 first, once
    {"type":"request","call_index":0,"model":…,"context":…,"options":…}    a call begins
    {"type":"event","call_index":0,"event_index":0,"event":{…}}            one event
    {"type":"call_end","call_index":0,"event_count":1,"outcome":"complete"} the call ended

Written in this key order, so that recordings diff well; read in any. Source: docs/format/v1.md.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NewType, TypeAlias, cast, get_args

from pydantic_core import from_json

from openprogram.pipeline.json_value import MAX_DEPTH, JsonValue, to_line

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
    "accept_any_event",
    "encode_call_end",
    "encode_event",
    "encode_header",
    "encode_request",
    "encode_request_body",
    "event_payload",
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

#: Raises ValueError where an event's dump isn't one that today's vocabulary can load.
CheckEvent: TypeAlias = Callable[[dict[str, Any]], None]

_REQUEST_FIELDS: Final = ("model", "context", "options")


class LineDefect(ValueError):
    """A line isn't what the format says. `reason`: what is wrong. `call_index`: of its call, where it is known."""

    def __init__(self, reason: str, call_index: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.call_index = reason, call_index


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """`fields`: the whole line, optional metadata included."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RequestLine:
    """`request`: `model`, `context`, `options`, and any field that today's format doesn't know."""

    call_index: int
    request: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventLine:
    call_index: int
    event_index: int  #: from 0 within the call
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallEndLine:
    call_index: int
    event_count: int
    outcome: Outcome
    error: dict[str, Any] | None  #: `type`, `message`, redacted; None where nothing was raised


Line: TypeAlias = HeaderLine | RequestLine | EventLine | CallEndLine


# ---- writing


def encode_header(fields: dict[str, JsonValue]) -> bytes:
    """The header line. `fields`: optional metadata."""
    return to_line({"type": "header", "format_version": RECORDING_FORMAT_VERSION, **fields})


def encode_request_body(request: CleanRequest) -> bytes:
    """The part of a request line that doesn't depend on its call_index, for `encode_request`.

    Raises NotJson: above MAX_LINE_BYTES, or a number that JSON can't hold.
    """
    return to_line(request)


def encode_request(call_index: int, body: bytes) -> bytes:
    """A request line from `encode_request_body`: cheap, so that it can be done under the append lock."""
    return b'{"type":"request","call_index":%d,' % call_index + body[1:]


def encode_event(call_index: int, event_index: int, event: CleanEvent) -> bytes:
    """An event line. Raises NotJson as `encode_request`."""
    return to_line({"type": "event", "call_index": call_index, "event_index": event_index, "event": event})


def encode_call_end(
    call_index: int, event_count: int, outcome: Outcome, error: dict[str, JsonValue] | None = None
) -> bytes:
    """A call_end line. `error`: redacted `type` and `message`."""
    line: dict[str, JsonValue] = {
        "type": "call_end",
        "call_index": call_index,
        "event_count": event_count,
        "outcome": outcome,
    }
    if error is not None:
        line["error"] = error
    return to_line(line)


# ---- reading

#: How `encode_event` begins a line: such a line has no duplicate key at its own level once its payload parses alone.
_EVENT_PREFIX: Final = re.compile(
    rb'\{"type":"event","call_index":(0|[1-9][0-9]{0,14}),"event_index":(0|[1-9][0-9]{0,14}),"event":'
)


def accept_any_event(_event: dict[str, Any]) -> None:
    """The CheckEvent of those to whom the vocabulary doesn't matter: the writer's bookkeeping, a re-read."""


def parse_line(raw: bytes, check_event: CheckEvent) -> Line:
    """One line, its line end left off or not, as a value.

    Strict JSON: no NaN or Infinity, no duplicate key at the line's own level, no deeper than MAX_DEPTH.
    Raises LineDefect.
    """
    prefix = _EVENT_PREFIX.match(raw)
    if prefix is not None:
        event = load_payload(event_payload(raw, prefix.end()))
        call_index = int(prefix[1])
        return EventLine(call_index, int(prefix[2]), _checked_event(event, call_index, check_event))
    return _interpret(_load_object(raw), check_event)


def event_payload(raw: bytes, start: int | None = None) -> bytes:
    """The JSON text of the event in an event line of any spelling, where its value can be cut out; else a dump of it.

    `start`: offset of the value, where it is known.
    """
    if start is None:
        prefix = _EVENT_PREFIX.match(raw)
        if prefix is None:
            return to_line(_load_object(raw).get("event"))
        start = prefix.end()
    end = len(raw)
    while end and raw[end - 1] in b"\r\n":
        end -= 1
    if raw[end - 1 : end] != b"}":
        raise LineDefect("not valid JSON: the line is cut off")
    return raw[start : end - 1]


def load_payload(payload: bytes) -> Any:
    """The value of strict JSON text. Raises LineDefect."""
    try:
        value = from_json(payload, allow_inf_nan=False)
    except ValueError:
        # The fast parser refuses lone surrogates, which strict JSON text may hold; the other decides.
        value, _ = _decode(_text(payload), 0, whole=True)
    _refuse_depth(payload, value)
    return value


def _interpret(fields: dict[str, Any], check_event: CheckEvent) -> Line:
    kind = fields.get("type")
    if kind == "header":
        return _header(fields)
    if kind not in ("request", "event", "call_end"):
        raise LineDefect(f"unknown line type {kind!r}" if "type" in fields else "the line has no type")
    call_index = _count(fields, "call_index", None)
    if kind == "request":
        missing = [name for name in _REQUEST_FIELDS if name not in fields]
        if missing:
            raise LineDefect(f"the request has no {missing[0]}", call_index)
        request = {key: value for key, value in fields.items() if key not in ("type", "call_index")}
        return RequestLine(call_index, request)
    if kind == "event":
        event = _checked_event(fields.get("event"), call_index, check_event)
        return EventLine(call_index, _count(fields, "event_index", call_index), event)
    return _call_end(fields, call_index)


def _header(fields: dict[str, Any]) -> HeaderLine:
    version = fields.get("format_version")
    if type(version) is not int or version != RECORDING_FORMAT_VERSION:
        found = f"format_version {version!r}" if "format_version" in fields else "no format_version"
        raise LineDefect(f"{found}; this release reads version {RECORDING_FORMAT_VERSION}")
    return HeaderLine(fields)


def _call_end(fields: dict[str, Any], call_index: int) -> CallEndLine:
    outcome = fields.get("outcome", "complete")
    if outcome not in OUTCOMES:
        raise LineDefect(f"unknown outcome {outcome!r}", call_index)
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
    if type(value) is not int or value < 0:
        raise LineDefect(f"{name} is {value!r}, not a count from 0", call_index)
    return value


# ---- strict JSON


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise LineDefect(f"not valid JSON: {text[:40]} is beyond what a number can hold")
    return value


def _no_constant(name: str) -> Any:
    raise LineDefect(f"not valid JSON: {name} is not a JSON number")


_decoder: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def _text(raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise LineDefect("the file starts with a byte order mark; save it as UTF-8 without one")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise LineDefect(f"not UTF-8 at byte {error.start} of the line") from None


def _decode(text: str, at: int, *, whole: bool = False) -> tuple[Any, int]:
    try:
        value, end = _decoder.raw_decode(text, at)
    except LineDefect:
        raise
    except json.JSONDecodeError as error:
        raise LineDefect(f"not valid JSON: {error.msg} at column {error.pos + 1}") from None
    except RecursionError:
        raise LineDefect(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise LineDefect(f"not valid JSON: {error}") from None
    if whole and _skip_space(text, end) != len(text):
        raise LineDefect(f"not valid JSON: extra data at column {end + 1}")
    return value, end


def _load_object(raw: bytes) -> dict[str, Any]:
    """A line as a dict, a duplicate key at its own level refused: the last would win and hide the first."""
    text = _text(raw)
    at = _skip_space(text, 0)
    if text[at : at + 1] != "{":
        raise LineDefect("an empty line" if at == len(text) else "not a JSON object")
    fields: dict[str, Any] = {}
    at = _skip_space(text, at + 1)
    while text[at : at + 1] != "}" or fields:
        if text[at : at + 1] != '"':
            raise LineDefect(f"not valid JSON: expected a key at column {at + 1}")
        key, at = _decode(text, at)
        at = _skip_space(text, at)
        if text[at : at + 1] != ":":
            raise LineDefect(f"not valid JSON: expected ':' at column {at + 1}")
        if key in fields:
            raise LineDefect(f"the key {key!r} stands twice in one line")
        fields[key], at = _decode(text, _skip_space(text, at + 1))
        at = _skip_space(text, at)
        if text[at : at + 1] == "}":
            break
        if text[at : at + 1] != ",":
            raise LineDefect(f"not valid JSON: expected ',' or '}}' at column {at + 1}")
        at = _skip_space(text, at + 1)
    if _skip_space(text, at + 1) != len(text):
        raise LineDefect(f"not valid JSON: extra data at column {at + 2}")
    _refuse_depth(raw, fields)
    return fields


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _refuse_depth(raw: bytes, value: Any) -> None:
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return  # cheap and nearly always enough: there aren't that many containers at all
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise LineDefect(f"nested deeper than {MAX_DEPTH} levels")
