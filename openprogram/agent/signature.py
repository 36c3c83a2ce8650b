"""A Python signature as the model sees it: JSON Schema of the arguments, and their validation."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

__all__ = ["InvalidArguments", "Signature"]

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class InvalidArguments(ValueError):
    """Arguments that do not fit the signature. `str()` names every argument at fault and what is wrong with it."""


class Signature:
    """The parameters of `function`, which all have a name and an annotation.

    `json_schema`: JSON Schema of the arguments, an object without further properties.
    Raises TypeError: a parameter is positional-only, `*args` or `**kwargs`, or has no annotation.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        for position, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
            if parameter.kind not in _NAMED:
                raise TypeError(f"a model passes arguments by name, but a parameter is {parameter} in {function!r}")
            if name not in hints:
                raise TypeError(f"parameter {name!r} of {function!r} has no annotation: its schema says nothing")
            # fields get names of our own: pydantic refuses some that are fine for a parameter (`_x`, `model_config`)
            self._names[f"argument_{position}"] = name
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[f"argument_{position}"] = (hints[name], Field(default, alias=name))
        self._arguments: type[BaseModel] = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        self.json_schema = self._arguments.model_json_schema(schema_generator=_SchemaWithoutTitles)
        del self.json_schema["title"]

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`arguments` converted to the annotated types, without those that the caller left to their defaults.

        Conversion is pydantic's usual one: models send "3" for 3 often enough.
        Raises InvalidArguments.
        """
        try:
            values = self._arguments.model_validate(arguments)
        except ValidationError as failure:
            raise InvalidArguments("; ".join(_faults(failure))) from failure
        return {name: getattr(values, field) for field, name in self._names.items() if field in values.model_fields_set}


def _faults(failure: ValidationError) -> list[str]:
    return [
        f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        for fault in failure.errors(include_url=False, include_context=False, include_input=False)
    ]


class _SchemaWithoutTitles(GenerateJsonSchema):
    """A title repeats the argument's name, at a price in tokens in every call."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
