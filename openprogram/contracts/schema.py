"""JSON Schema: whether a schema is one, and what is wrong with a value. Draft 2020-12, by the jsonschema library."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openprogram.pipeline.canonical import canonical
from openprogram.pipeline.json_value import join_path

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = ["check_schema", "faults"]


def check_schema(schema: dict[str, Any]) -> None:
    """Raises ValueError: `schema` is no JSON Schema, or refers to a document that isn't part of it."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=_latest()).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"not a JSON Schema: {error.json_path}: {error.message}") from error
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise ValueError(f"the schema refers to {reference!r}: only references inside it are followed")


def faults(value: Any, schema: dict[str, Any]) -> list[str]:
    """What is wrong with `value`, each with its path; [] where it fits. In the order of the paths."""
    errors = _validator(canonical(schema)).iter_errors(value)
    return sorted(f"{_path(error.absolute_path)}: {error.message}" for error in errors)


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> "Validator":
    import json

    from jsonschema.validators import validator_for

    parsed = json.loads(schema)
    return validator_for(parsed, default=_latest())(parsed)


def _latest() -> "type[Validator]":
    from jsonschema import Draft202012Validator

    return Draft202012Validator


def _path(parts: Any) -> str:
    path = ""
    for part in parts:
        path = join_path(path, part)
    return path or "value"


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema[key] for key in ("$ref", "$dynamicRef") if isinstance(schema.get(key), str)]
        return own + [found for value in schema.values() for found in _references(value)]
    if isinstance(schema, list):
        return [found for value in schema for found in _references(value)]
    return []
