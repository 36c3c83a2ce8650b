"""The reference scoring of the redaction corpus, as its README gives it, and the corpus itself."""

import json
from collections.abc import Iterator
from typing import Any

from openprogram.pipeline.redaction import StreamRedactor, remove_secret_values
from tests.shared_data import shared

__all__ = ["damaged", "leaked", "load_corpus", "lost", "redact_case"]

_STREAMED = ("stream-split", "neg-stream")


def load_corpus() -> list[dict[str, Any]]:
    """All cases. `partial` is taken out of streamed ones, as the README says."""
    with shared("redaction", "corpus.jsonl").open(encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    for case in cases:
        if case["group"] in _STREAMED:
            case["value"] = [_without_partial(line) for line in case["value"]]
    return cases


def _without_partial(line: dict[str, Any]) -> dict[str, Any]:
    if "event" not in line:
        return line
    return {**line, "event": {key: item for key, item in line["event"].items() if key != "partial"}}


def redact_case(case: dict[str, Any], value: Any) -> Any:
    """`value` as the recording would have it: a streamed case goes line by line through the stream's redactor."""
    if case["group"] not in _STREAMED:
        return remove_secret_values(value)
    redactor = StreamRedactor()
    events = [event for line in value if "event" in line for event in redactor.feed(line["event"])]
    clean = iter(events + redactor.close())
    return [{**line, "event": next(clean)} if "event" in line else remove_secret_values(line) for line in value]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _joined_deltas(lines: Any) -> list[str]:
    blocks: dict[Any, str] = {}
    for line in lines if isinstance(lines, list) else []:
        event = line.get("event") if isinstance(line, dict) else None
        if isinstance(event, dict) and isinstance(event.get("delta"), str):
            key = (event.get("type"), event.get("content_index"))
            blocks[key] = blocks.get(key, "") + event["delta"]
    return list(blocks.values())


def _places(value: Any) -> list[str]:
    return [json.dumps(value, ensure_ascii=False), *_strings(value), *_joined_deltas(value)]


def leaked(case: dict[str, Any], got: Any) -> list[str]:
    """The secrets of a case that are still there."""
    places = _places(got)
    return [secret for secret in case["secrets"] if any(secret in place for place in places)]


def lost(case: dict[str, Any], got: Any) -> list[str]:
    """What should have stayed and didn't."""
    places = _places(got)
    return [kept for kept in case["keep"] if not any(kept in place for place in places)]


def damaged(case: dict[str, Any], got: Any) -> bool:
    """Whether a case without secrets was changed."""
    if case["group"] != "neg-stream":
        return bool(got != case["value"])
    return _joined_deltas(got) != _joined_deltas(case["value"]) or _bare(got) != _bare(case["value"])


def _bare(lines: Any) -> list[Any]:
    return [{**x, "event": {**x["event"], "delta": None}} if "delta" in x.get("event", {}) else x for x in lines]
