"""Two requests, or any two JSON values: the first place where they differ. In replay, the sink for requests."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from anyio.abc import ObjectReceiveStream, ObjectSendStream

from openprogram.pipeline.items import CleanCall, ServedCall
from openprogram.pipeline.json_value import ABSENT, Absent, JsonValue, join_path

__all__ = [
    "FREE_FORM_FIELD_NAMES",
    "NON_DETERMINISTIC_FIELD_NAMES",
    "NO_DIFFERENCE",
    "Cause",
    "ComparisonRules",
    "Difference",
    "compare",
    "find_first_difference",
]

#: Keys whose values differ in every run and say nothing, with the reason: skipped, but not below a free-form key.
_NON_DETERMINISTIC: Final = {"timestamp": "it says when a message was made; below a free-form key it is compared"}
NON_DETERMINISTIC_FIELD_NAMES: Final = frozenset(_NON_DETERMINISTIC)

#: What makes no difference wherever it stands, with the reason.
NO_DIFFERENCE: Final = {
    "the order of keys": "an object in JSON has none",
    "null or no field": "in fields of ours the two say the same; below a free-form key they differ",
    "no options": "they are options at their defaults, and an api_key alone says no more",
    "1, 1.0, true, '1'": "in fields of ours a file's value is read as the field's type; free-form values differ",
    "secrets": "both sides are redacted first, so that two keys are the same placeholder",
}

#: Keys below which the content is the user's or the vendor's, not ours: there everything is compared.
FREE_FORM_FIELD_NAMES: Final = frozenset(
    {
        "arguments",
        "cache_control",
        "citations",
        "compat",
        "data",
        "details",
        "headers",
        "metadata",
        "parameters",
        "parsed",
        "response_format",
        "tool_choice",
    }
)


class Difference(NamedTuple):
    """The first place where two values differ. A side that has nothing there is `ABSENT`."""

    field_path: str  #: such as `context.messages[2].content[0].text`; the root is ""
    recorded: JsonValue | Absent
    incoming: JsonValue | Absent


class Cause(NamedTuple):
    """Where a difference entered, as a sentence. `volatile`: the rules of a recording in which it would be none.

    Those are the recording's own and the ones that name what is made anew in every run; none where that isn't why.
    """

    text: str
    volatile: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """What is not compared, and why. `ignored_paths`: field path → reason, exact paths only."""

    ignored_names: frozenset[str] = NON_DETERMINISTIC_FIELD_NAMES
    free_form_names: frozenset[str] = FREE_FORM_FIELD_NAMES
    ignored_paths: Mapping[str, str] = field(default_factory=dict)

    def not_compared(self) -> dict[str, str]:
        """All that makes no difference: a field's name or path, or what may be spelled otherwise → the reason."""
        names = {name: _NON_DETERMINISTIC.get(name, "") for name in sorted(self.ignored_names)}
        return {**names, **self.ignored_paths, **NO_DIFFERENCE}


_DEFAULT: Final = ComparisonRules()


def find_first_difference(
    recorded: JsonValue, incoming: JsonValue, rules: ComparisonRules = _DEFAULT
) -> Difference | None:
    """First place where two redacted JSON values differ, or None. Dicts by sorted key, lists by index.

    JSON types are told apart: `1`, `1.0` and `true` differ. A key that is null and a key that isn't there are the
    same in our own types, where a default says so, and differ below a free-form key. Key order is no difference.
    Raises: nothing; a value that isn't JSON was refused by the dump. Source: docs/comparison.md.
    """
    return _differ(recorded, incoming, "", rules, free_form=False)


def _differ(
    recorded: JsonValue, incoming: JsonValue, path: str, rules: ComparisonRules, *, free_form: bool
) -> Difference | None:
    if isinstance(recorded, dict) and isinstance(incoming, dict):
        return _dicts_differ(recorded, incoming, path, rules, free_form=free_form)
    if isinstance(recorded, list) and isinstance(incoming, list):
        return _lists_differ(recorded, incoming, path, rules, free_form=free_form)
    if type(recorded) is type(incoming) and recorded == incoming:
        return None
    return Difference(path, recorded, incoming)


def _dicts_differ(
    recorded: dict[str, JsonValue],
    incoming: dict[str, JsonValue],
    path: str,
    rules: ComparisonRules,
    *,
    free_form: bool,
) -> Difference | None:
    # Sorted: the same pair must always name the same path, whatever the order in either dict.
    for key in sorted(recorded.keys() | incoming.keys()):
        if not free_form and key in rules.ignored_names:
            continue
        here = join_path(path, key)
        if here in rules.ignored_paths:
            continue
        if key in recorded and key in incoming:
            below = free_form or key in rules.free_form_names
            found = _differ(recorded[key], incoming[key], here, rules, free_form=below)
        else:
            found = _one_sided(recorded.get(key, ABSENT), incoming.get(key, ABSENT), here, free_form=free_form)
        if found is not None:
            return found
    return None


def _one_sided(
    recorded: JsonValue | Absent, incoming: JsonValue | Absent, path: str, *, free_form: bool
) -> Difference | None:
    present = incoming if recorded is ABSENT else recorded
    return None if present is None and not free_form else Difference(path, recorded, incoming)


def _lists_differ(
    recorded: list[JsonValue],
    incoming: list[JsonValue],
    path: str,
    rules: ComparisonRules,
    *,
    free_form: bool,
) -> Difference | None:
    for index, (left, right) in enumerate(zip(recorded, incoming, strict=False)):
        found = _differ(left, right, join_path(path, index), rules, free_form=free_form)
        if found is not None:
            return found
    if len(recorded) == len(incoming):
        return None
    index = min(len(recorded), len(incoming))
    left_over = (recorded[index], ABSENT) if len(recorded) > index else (ABSENT, incoming[index])
    return Difference(join_path(path, index), *left_over)


async def compare(
    receive: ObjectReceiveStream[CleanCall],
    send: ObjectSendStream[ServedCall],
    choose: Callable[[CleanCall], Awaitable[ServedCall]],
) -> None:
    """The stage: `choose` finds the recorded call that answers. Raises ReplayMismatch; then no call is consumed."""
    async with receive, send:
        async for call in receive:
            await send.send(await choose(call))
