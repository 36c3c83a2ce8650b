"""The files of a scenario's folder: read strictly, and what is wrong said in the file's own words."""

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from openprogram.contracts.json_file import NotReadable, parse_json, read_text
from openprogram.pipeline.json_value import NotJson, to_json_value
from openprogram.scenarios.errors import ScenarioError

__all__ = ["first_fault", "read_json_file", "read_text_file", "read_toml_file", "validated"]

M = TypeVar("M", bound=BaseModel)


def read_text_file(path: Path) -> str:
    """The file's text. Raises ScenarioError: it can't be read, or isn't UTF-8."""
    try:
        return read_text(path)
    except NotReadable as error:
        raise ScenarioError(path=path, reason=str(error)) from error


def read_toml_file(path: Path) -> Any:
    """As JSON has it: dates and times as text. Raises ScenarioError: see `read_text_file`, or it isn't TOML."""
    try:
        return to_json_value(tomllib.loads(read_text_file(path)))
    except NotJson as error:
        raise ScenarioError(path=path, field=error.field_path, reason=error.reason) from error
    except (ValueError, RecursionError) as error:
        raise ScenarioError(path=path, reason=f"not TOML: {error}") from error


def read_json_file(path: Path) -> Any:
    """The file's value. Raises ScenarioError: see `read_text_file`, or it isn't strict JSON."""
    try:
        return parse_json(read_text_file(path))
    except NotReadable as error:
        raise ScenarioError(path=path, reason=str(error)) from error


def validated(kind: type[M], content: Any, path: Path) -> M:
    """`content` as `kind`. Raises ScenarioError: it is none; of several faults, the first is named."""
    try:
        return kind.model_validate(content)
    except ValidationError as failure:
        field, reason = first_fault(failure, kind)
        raise ScenarioError(path=path, field=field, reason=reason) from failure


def first_fault(failure: ValidationError, kind: type[BaseModel]) -> tuple[str | None, str]:
    """Field and reason of the first fault; of a key that there is not, the nearest one, or all that could be there."""
    faults = failure.errors(include_url=False, include_input=False, include_context=False)
    # a misspelt key comes first: another one is often missing because of it
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    loc = first["loc"]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".") or None
    match first["type"]:
        case "extra_forbidden":
            schema = kind.model_json_schema()
            return field, _no_such_key(str(loc[-1]), _keys(schema, loc[:-1], schema.get("$defs", {})))
        case "missing":
            return field, "it is missing"
    return field, first["msg"].removeprefix("Value error, ")


def _no_such_key(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"there is no such key; there is {near[0]!r}"
    return f"there is no such key; there are: {', '.join(known)}"


def _keys(node: Mapping[str, Any], loc: Sequence[str | int], definitions: Mapping[str, Any]) -> Sequence[str]:
    """The keys that may stand at `loc`, in pydantic's form: indexes, and the tag of a union that has one, are parts."""
    if "$ref" in node:
        return _keys(definitions[node["$ref"].rpartition("/")[2]], loc, definitions)
    if "anyOf" in node:
        return next((keys for part in node["anyOf"] if (keys := _keys(part, loc, definitions))), ())
    if not loc:
        return list(node.get("properties", ()))
    here, below = loc[0], loc[1:]
    if isinstance(here, int):
        return _keys(node.get("items", {}), below, definitions)
    tagged = node.get("discriminator", {}).get("mapping", {})
    part = {"$ref": tagged[here]} if here in tagged else node.get("properties", {}).get(here, {})
    return _keys(part, below, definitions)
