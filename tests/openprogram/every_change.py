"""Every single change that can be made to a request: each value in it, in each way that JSON tells apart.

The request is rich on purpose: it has every type of message and block, free-form values of every kind, and a field
that no type knows. Changes are made on the objects a program holds, past their validation, as a program can.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from openprogram.pipeline.json_value import join_path
from openprogram.pipeline.stages.compare import FREE_FORM_FIELD_NAMES
from openprogram.providers.codec import ProviderRequestCodec
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    DocumentContent,
    ImageContent,
    Model,
    ProviderContent,
    SimpleStreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["Change", "Request", "all_changes", "dump", "rich_request", "value_at"]

Request: TypeAlias = dict[str, Any]  # "model", "context", "options": objects
Steps: TypeAlias = tuple[str | int, ...]

_FREE: dict[str, Any] = {
    "timestamp": 1_700_000_000,
    "city": "Lisbon",
    "count": 1,
    "ratio": 1.5,
    "round": 2.0,
    "exact": True,
    "nothing": None,
    "none": [],
    "empty": {},
    "a.b": ["x", "y"],
    "deep": [{"when": {"timestamp": 1, "of": [1, 2]}}, [], None],
}


def rich_request() -> Request:
    """A new one each time."""
    free = copy.deepcopy(_FREE)
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "enum": ["a", "b"], "default": None},
            "timestamp": {"type": "integer"},
        },
        "required": ["city"],
    }
    answer = AssistantMessage(
        content=[
            ThinkingContent(thinking="they want the weather", thinking_signature="c2ln"),
            TextContent(text="Let me look.", citations=[{"url": "https://example.test/a", "at": 3}]),
            ToolCall(id="call-1", name="weather", arguments=copy.deepcopy(free)),
            ProviderContent(api="scripted", provider="example", kind="search", data={"timestamp": 5, "at": [1, {}]}),
        ],
        api="scripted",
        provider="example",
        model="small-1",
        stop_reason="toolUse",
        timestamp=2,
        parsed={"n": 1},
    )
    result = ToolResultMessage(
        tool_call_id="call-1",
        tool_name="weather",
        content=[TextContent(text="sun"), ImageContent(data="aGk=", mime_type="image/png")],
        details={"timestamp": 5, "deep": [{"when": {"timestamp": 1}}], "none": None},
        timestamp=3,
    )
    blocks = [
        TextContent(text="And this?", cache_control={"type": "ephemeral"}),
        DocumentContent(text="a page", name="p"),
    ]
    return {
        "model": Model(
            id="small-1",
            api="scripted",
            provider="example",
            name="Small One",
            base_url="http://127.0.0.1:9",
            input=["text", "image"],
            context_window=1000,
            max_tokens=100,
            headers={"X-Team": "blue"},
            compat={"thinking": [1, None]},  # a field that another release knows
        ),
        "context": Context(
            system_prompt="Be brief.",
            messages=[
                UserMessage(content="What is the weather?", timestamp=1),
                answer,
                result,
                UserMessage(content=blocks, timestamp=4),
            ],
            tools=[
                Tool(name="weather", description="Looks outside", parameters=schema),
                Tool(name="clock", parameters={"type": "object", "properties": {}}),
            ],
            origin="a field of its own",
        ),
        "options": SimpleStreamOptions(
            temperature=1,
            max_tokens=50,
            headers={"X-Trace": "on"},
            tool_choice={"type": "auto", "only": []},
            parallel_tool_calls=False,
            response_format={"type": "object", "properties": {"n": {"type": "integer"}}},
            metadata=copy.deepcopy(free),
            session_id="s-1",
            reasoning="low",
            thinking_budgets={"low": 10},
        ),
    }


def dump(request: Request) -> dict[str, Any]:
    """As recording and replay see it."""
    return ProviderRequestCodec().dump((request["model"], request["context"], request["options"]))


@dataclass(frozen=True)
class Change:
    """One change. `path`: where it is made, and so where it has to be named; `exactly` there, or at a place below it.

    `free_form`: below a key whose content is the user's; `own_key`: the last name of the path.
    """

    kind: str
    path: str
    exactly: bool
    free_form: bool
    own_key: str
    make: Callable[[Request], None]

    def __str__(self) -> str:
        return f"{self.kind} at {self.path}"


def value_at(value: Any, steps: tuple[Any, ...]) -> Any:
    """What stands there, in objects or in their dump."""
    for step in steps:
        value = value[step] if isinstance(value, dict | list) else getattr(value, str(step))
    return value


def all_changes() -> Iterator[Change]:
    """Every change of every kind, of every place in the rich request."""
    yield from _changes_at(dump(rich_request()), (), free_form=False)


def _changes_at(value: Any, steps: Steps, *, free_form: bool) -> Iterator[Change]:
    for kind, new in _others(value) if len(steps) > 1 else ():
        yield _change(f"{value!r:.20} -> {new!r:.20}: {kind}", steps, free_form, _set(steps, new))
    if isinstance(value, dict):
        yield from _key_changes(value, steps, free_form=free_form)
        for key, item in value.items():
            # The key itself is one of our fields; what is below it is the user's.
            yield from _changes_at(
                item, (*steps, key), free_form=free_form or (bool(steps) and steps[-1] in FREE_FORM_FIELD_NAMES)
            )
    elif isinstance(value, list):
        yield from _item_changes(value, steps, free_form=free_form)
        below = free_form or steps[-1] in FREE_FORM_FIELD_NAMES
        for index, item in enumerate(value):
            yield from _changes_at(item, (*steps, index), free_form=below)


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """Values that JSON tells apart from this one."""
    match value:
        case bool():
            yield from (("other", not value), ("kind", int(value)), ("kind", str(value).lower()), ("null", None))
        case int():
            yield from (("other", value + 1), ("kind", float(value)), ("kind", str(value)), ("null", None))
            if value in (0, 1):
                yield "kind", bool(value)
        case float():
            yield from (("other", value + 0.5), ("kind", str(value)), ("null", None))
            if value.is_integer():
                yield "kind", int(value)
            if value in (0.0, 1.0):
                yield "kind", bool(value)
        case str():
            yield from (("other", value + " "), ("other", ""), ("kind", [value]), ("null", None))
        case None:
            yield from (("other", "x"), ("kind", False), ("kind", 0), ("kind", {}), ("kind", []))
        case list():
            yield from (("kind", {}), ("null", None))
        case dict():
            yield from (("kind", []), ("null", None))


def _key_changes(value: dict[str, Any], steps: Steps, *, free_form: bool) -> Iterator[Change]:
    free = free_form or (bool(steps) and steps[-1] in FREE_FORM_FIELD_NAMES)
    if not free:
        return  # the fields of a type are always there
    for key in value:
        yield _change("key dropped", (*steps, key), free, _drop(steps, key))
    yield _change("key added", (*steps, "added"), free, _set((*steps, "added"), 1))
    yield _change("null key added", (*steps, "added"), free, _set((*steps, "added"), None))
    if len(value) > 1:
        yield _change("keys in another order", steps, free, _reorder(steps))


def _item_changes(value: list[Any], steps: Steps, *, free_form: bool) -> Iterator[Change]:
    for index in range(len(value)):
        last = index == len(value) - 1
        yield _change("item dropped", (*steps, index), free_form, _drop(steps, index), exactly=last)
        if not last:
            yield _change("items swapped", (*steps, index), free_form, _swap(steps, index), exactly=False)
    if value:
        yield _change("item twice", (*steps, len(value)), free_form, _append(steps))


def _change(
    kind: str,
    steps: Steps,
    free_form: bool,
    make: Callable[[Request], None],
    *,
    exactly: bool = True,
) -> Change:
    path = ""
    for step in steps:
        path = join_path(path, step)
    return Change(kind, path, exactly, free_form, str(steps[-1]) if steps else "", make)


def _set(steps: Steps, new: Any) -> Callable[[Request], None]:
    def make(request: Request) -> None:
        holder: Any = value_at(request, steps[:-1])
        last: Any = steps[-1]
        if isinstance(holder, dict | list):
            holder[last] = copy.deepcopy(new)
        else:
            setattr(holder, str(last), copy.deepcopy(new))

    return make


def _drop(steps: Steps, last: str | int) -> Callable[[Request], None]:
    def make(request: Request) -> None:
        del value_at(request, steps)[last]

    return make


def _swap(steps: Steps, index: int) -> Callable[[Request], None]:
    def make(request: Request) -> None:
        items = value_at(request, steps)
        items[index], items[index + 1] = items[index + 1], items[index]

    return make


def _append(steps: Steps) -> Callable[[Request], None]:
    def make(request: Request) -> None:
        items = value_at(request, steps)
        items.append(copy.deepcopy(items[-1]))

    return make


def _reorder(steps: Steps) -> Callable[[Request], None]:
    def make(request: Request) -> None:
        members = value_at(request, steps)
        turned = dict(reversed(list(members.items())))
        members.clear()
        members.update(turned)

    return make
