"""`response_format`: the JSON that an answer should be, how it is asked for, and whether it came.

Native: the vendor's own field for it. Tool: a tool whose arguments are the answer, for models without such a field.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from openprogram.providers.types import StreamOptions

__all__ = ["AnswerForm", "answer_form", "read_answer"]

#: The name of the tool, where the format has none.
_TOOL_NAME = "final_answer"

#: Where a schema keeps what its references name.
_SHARED: tuple[str, ...] = ("$defs", "definitions")

#: Levels that a parsed answer may be deep. A message that is deeper cannot be recorded.
_MAX_DEPTH = 100


@dataclass(frozen=True)
class AnswerForm:
    """What `response_format` asks for. `tool`: the tool that takes the answer; None: natively."""

    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None
    tool: str | None = field(default=None)

    @property
    def wrapped(self) -> bool:
        """Whether the tool takes the answer as its one argument `value`, for arguments are always an object."""
        return self.tool is not None and self.schema.get("type", "object") != "object"

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of the tool's arguments."""
        if not self.wrapped:
            return self.schema
        # References into the schema begin at its root, which is now this object.
        shared: dict[str, Any] = {key: self.schema[key] for key in _SHARED if key in self.schema}
        value = {key: item for key, item in self.schema.items() if key not in shared}
        return {
            "type": "object",
            "properties": {"value": value},
            "required": ["value"],
            "additionalProperties": False,
            **shared,
        }


def answer_form(options: StreamOptions) -> AnswerForm | None:
    """From OpenAI's `response_format`, Anthropic's `output_config.format`, or a bare JSON Schema.

    Raises ValueError: it holds no JSON Schema, or `response_mode` is neither `native` nor `tool`.
    """
    if options.response_mode not in (None, "native", "tool"):
        raise ValueError(f"response_mode {options.response_mode!r} is not known: give 'native' or 'tool'")
    if options.response_format is None:
        return None
    form = _form(options.response_format)
    _check(form.schema)
    if options.response_mode != "tool":
        return form
    return AnswerForm(form.schema, form.name, form.description, form.strict, form.name or _TOOL_NAME)


def _form(given: dict[str, Any]) -> AnswerForm:
    match given:
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            named: dict[str, Any] = given["json_schema"]
            # false is what leaving it out means; pydantic-ai refuses it
            return AnswerForm(schema, named.get("name"), named.get("description"), named.get("strict") or None)
        case {"type": "json_schema", "schema": dict() as schema}:
            return AnswerForm(schema)
        case {"type": "json_schema" | "json_object" | "text"}:
            raise ValueError(
                f"response_format {given!r} has no JSON Schema; give the schema itself, such as {{'type': 'object'}}"
            )
    return AnswerForm(given)


def _check(schema: dict[str, Any]) -> None:
    from openprogram.contracts.schema import check_schema  # at first use: jsonschema takes its time to load

    try:
        check_schema(schema)
    except ValueError as error:
        raise ValueError(f"response_format: {error}") from error


def read_answer(text: str, form: AnswerForm) -> tuple[Any, str | None]:
    """The value of an answer, and what is wrong with it; with a fault the value is None.

    A value is never repaired: what the model wrote fits the schema, or it doesn't.
    """
    from openprogram.contracts.schema import faults

    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return None, f"not JSON, at character {error.pos}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that can be kept: {error}"
    if _depth(value) > _MAX_DEPTH:
        return None, f"nested more than {_MAX_DEPTH} levels deep"
    found = faults(value, form.parameters if form.tool else form.schema)
    if found:
        return None, "; ".join(found[:5]) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
    return (value["value"] if form.wrapped else value), None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
        deepest += 1
    return deepest
