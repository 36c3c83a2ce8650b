"""What today's redaction would remove from a file: line by line, damaged lines too, and over the deltas of a stream.

Each line is held against what redaction makes of it. Events go through the redactor of the recording side, call by
call, so that a secret cut over several deltas is found where it begins. In memory stay the calls that are open, each
with the texts of its open blocks.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from openprogram.pipeline.json_value import MAX_DEPTH, MAX_LINE_BYTES, JsonValue, to_json_value
from openprogram.pipeline.log.scan import LineScan, RawLine
from openprogram.pipeline.log.source import ByteSource
from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, StreamRedactor
from openprogram.pipeline.redaction.findings import Finding, changed_places, find_secrets, text_rules

__all__ = ["FoundSecret", "scan_source"]

_ARGUMENTS: Final = "toolcall_delta"
#: How a request line begins, and what stands behind its last message, as our writer spells them.
_REQUEST: Final = re.compile(rb'\{"type":"request","call_index":[0-9]+,')
_BEHIND_MESSAGES: Final = b'],"tools":'
_ENDS: Final = {"text_end": "text_delta", "thinking_end": "thinking_delta", "toolcall_end": _ARGUMENTS}


class FoundSecret(NamedTuple):
    """Where something stands that today's rules remove. Never what.

    `line_number`: from 1. `call_index`: of the line, where it says one. `field_path`: within the line, in the path
    syntax of comparison; "" in a line that isn't JSON. `rule`: the text rule's name, or `field <name>`. `places`: how
    many at that path.
    """

    line_number: int
    call_index: int | None
    field_path: str
    rule: str
    places: int


def scan_source(source: ByteSource) -> Iterator[FoundSecret]:
    """Every place in the file's lines, whether or not they are a recording's; each call's when its block is over.

    Raises OSError: it can't be read on, compressed data that is damaged included.
    """
    calls: dict[int, _Call] = {}
    conversation = _Conversation()
    for raw in LineScan(source.reader()):
        fields = _load(raw)
        if fields is None:
            yield from _text_findings(raw)
            continue
        call_index = fields.get("call_index")
        index = call_index if type(call_index) is int else None
        event = fields.get("event")
        if fields.get("type") == "event" and index is not None and isinstance(event, dict) and "type" in event:
            yield from calls.setdefault(index, _Call(index)).feed(raw.number, event)
            fields = {key: value for key, value in fields.items() if key != "event"}
        elif index in calls:  # its call_end, or a request that begins it anew
            yield from calls.pop(index).close()
        is_request = fields.get("type") == "request"
        for finding in conversation.scan(raw.raw, fields) if is_request else find_secrets(fields):
            yield FoundSecret(raw.number, index, *finding)
    for call in calls.values():
        yield from call.close()


def _load(raw: RawLine) -> dict[str, Any] | None:
    """The line's fields, those too that a second key of the same name hides; None where it is no JSON object."""
    if len(raw.raw) > MAX_LINE_BYTES:
        return None
    try:
        fields = json.loads(raw.raw, object_pairs_hook=_with_hidden)
        if raw.raw.count(b"{") + raw.raw.count(b"[") > MAX_DEPTH:
            to_json_value(fields)  # raises NotJson where it is too deep for what walks over it
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _with_hidden(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    hidden: dict[str, list[Any]] = {}
    for key, value in pairs:
        hidden.setdefault(key, []).append(value)
    # A reader takes the last. Those before it are in the file all the same, and are looked at under their key.
    return members | {"hidden by a second key": [{key: value} for key, all_ in hidden.items() for value in all_[:-1]]}


def _text_findings(raw: RawLine) -> Iterator[FoundSecret]:
    rules = text_rules(raw.raw.decode("utf-8", "replace"))
    for rule in dict.fromkeys(rules):
        yield FoundSecret(raw.number, None, "", rule, rules.count(rule))


class _Conversation:
    """The messages of the request before, where nothing was found in them: most of the next one is the same text."""

    def __init__(self) -> None:
        self._clean, self._count = b"", 0

    def scan(self, raw: bytes, fields: dict[str, Any]) -> list[Finding]:
        """What is found in a request line. Messages that stand in it as they did in the one before aren't scanned."""
        start = _REQUEST.match(raw)
        known = self._count if start and self._clean and raw.startswith(self._clean, start.end()) else 0
        context = fields.get("context")
        messages = context.get("messages") if isinstance(context, dict) else None
        if known and isinstance(context, dict) and isinstance(messages, list):
            rest = {**fields, "context": {**context, "messages": messages[known:]}}
            found = find_secrets(fields) if find_secrets(rest) else []  # anew, since their paths count from the first
        else:
            found = find_secrets(fields)
        end = raw.rfind(_BEHIND_MESSAGES)
        is_known = start is not None and not found and isinstance(messages, list) and raw[end - 1 : end] == b"}"
        self._clean = raw[start.end() : end] if start is not None and is_known else b""
        self._count = len(messages) if is_known and isinstance(messages, list) else 0
        return found


class _Pending(NamedTuple):
    """A delta whose redacted text has more placeholders than its own."""

    line_number: int
    places: int


class _Block:
    """A block whose text comes in deltas: that text, until it is over, to name the rules by."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.found: list[_Pending] = []
        self.changed_at: int | None = None  # the line of the first delta that is changed at all


class _Call:
    """The events of one call, in their order."""

    def __init__(self, call_index: int) -> None:
        self._call_index = call_index
        self._redactor = StreamRedactor()
        self._waiting: deque[tuple[int, dict[str, JsonValue]]] = deque()
        self._blocks: dict[tuple[str, str], _Block] = {}

    def feed(self, line_number: int, event: dict[str, JsonValue]) -> Iterator[FoundSecret]:
        if "partial" in event:  # the message so far, which older files repeat in each event; the redactor drops it
            for finding in find_secrets({"partial": event["partial"]}):
                yield self._found(line_number, finding, "event.")
            event = {key: value for key, value in event.items() if key != "partial"}
        self._waiting.append((line_number, event))
        yield from self._settle(self._redactor.feed(event))

    def close(self) -> Iterator[FoundSecret]:
        yield from self._settle(self._redactor.close())
        for (kind, _), block in self._blocks.items():
            yield from self._block_findings(kind, block)
        self._blocks.clear()

    def _settle(self, decided: list[dict[str, JsonValue]]) -> Iterator[FoundSecret]:
        for after in decided:
            line_number, before = self._waiting.popleft()
            kind, delta = str(before.get("type")), before.get("delta")
            if isinstance(delta, str) and kind in _ENDS.values():
                self._delta(line_number, kind, before, after)
                before, after = ({key: event[key] for key in event if key != "delta"} for event in (before, after))
            elif kind in _ENDS and (block := self._blocks.pop(_key(_ENDS[kind], before), None)) is not None:
                yield from self._block_findings(_ENDS[kind], block)
            for finding in changed_places(before, after, "event"):
                yield self._found(line_number, finding)

    def _delta(self, line_number: int, kind: str, before: dict[str, JsonValue], after: dict[str, JsonValue]) -> None:
        block = self._blocks.setdefault(_key(kind, before), _Block())
        old, new = str(before["delta"]), str(after["delta"])
        block.texts.append(old)
        # Of a secret that goes on, the further deltas are only emptied: it is counted where it begins.
        places = new.count(SECRET_PLACEHOLDER) - old.count(SECRET_PLACEHOLDER)
        if old != new and block.changed_at is None:
            block.changed_at = line_number
        if old != new and places > 0:
            block.found.append(_Pending(line_number, places))

    def _block_findings(self, kind: str, block: _Block) -> Iterator[FoundSecret]:
        if block.changed_at is None:
            return
        text = "".join(block.texts)
        names = iter(_argument_rules(text) if kind == _ARGUMENTS else text_rules(text))
        for line_number, places in block.found or [_Pending(block.changed_at, 1)]:
            rules = [next(names, "streamed text") for _ in range(places)]
            for rule in dict.fromkeys(rules):
                yield FoundSecret(line_number, self._call_index, "event.delta", rule, rules.count(rule))

    def _found(self, line_number: int, finding: Finding, prefix: str = "") -> FoundSecret:
        return FoundSecret(line_number, self._call_index, prefix + finding.field_path, finding.rule, finding.places)


def _key(kind: str, event: dict[str, JsonValue]) -> tuple[str, str]:
    return kind, repr(event.get("content_index"))


def _argument_rules(text: str) -> list[str]:
    """The rules for the arguments of a tool call, as JSON where they are."""
    try:
        found = find_secrets({"arguments": json.loads(text)})
    except (ValueError, RecursionError):
        return text_rules(text)
    return [finding.rule for finding in found for _ in range(finding.places)]
