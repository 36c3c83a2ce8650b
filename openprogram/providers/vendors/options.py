"""Options of a call, in pydantic-ai's words: what means the same for every api.

Nothing is dropped for the sake of a model: pydantic-ai's tables of what a model supports are switched off
(`VERBATIM_PROFILE`), so a parameter that a model refuses comes back as the vendor's own error instead of vanishing.
"""

from typing import Any

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, ToolChoice
from pydantic_ai.tools import ToolDefinition

from openprogram.providers.types import Context, Model, SimpleStreamOptions, StreamOptions, Tool

__all__ = ["VERBATIM_PROFILE", "common_settings", "reasoning_level", "request_parameters"]

#: Schemas as they are, and no opinion on what the model supports.
VERBATIM_PROFILE: ModelProfile = {
    "json_schema_transformer": None,
    "supports_json_schema_output": True,
    "native_output_requires_schema_in_instructions": False,
    "supports_forced_tool_choice": True,
    "supports_forced_tool_choice_with_thinking": True,
}


def common_settings(model: Model, options: StreamOptions) -> ModelSettings:
    """Temperature, tool choice, parallel calls, headers, and what only the api itself knows.

    Fields that StreamOptions does not declare are taken for the api's own request fields and go into the body as
    they are: `StreamOptions(top_p=0.9)`. Raises ValueError: `tool_choice` has no known form.
    """
    settings = ModelSettings()
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    if options.max_tokens is not None:
        settings["max_tokens"] = options.max_tokens
    if options.parallel_tool_calls is not None:
        settings["parallel_tool_calls"] = options.parallel_tool_calls
    if options.tool_choice is not None:
        settings["tool_choice"] = _tool_choice(options.tool_choice)
    if headers := {**(model.headers or {}), **(options.headers or {})}:
        settings["extra_headers"] = headers
    if options.model_extra:
        settings["extra_body"] = dict(options.model_extra)
    return settings


def reasoning_level(options: StreamOptions) -> str | None:
    """The one word for reasoning, where the options have one."""
    return options.reasoning if isinstance(options, SimpleStreamOptions) else None


def request_parameters(context: Context, options: StreamOptions) -> ModelRequestParameters:
    """Tools and the form of the answer. Raises ValueError: `response_format` is no JSON Schema."""
    tools = [_tool_definition(tool) for tool in context.tools or []]
    if options.response_format is None:
        return ModelRequestParameters(function_tools=tools)
    return ModelRequestParameters(
        function_tools=tools,
        output_mode="native",
        output_object=_output_object(options.response_format),
    )


def _tool_definition(tool: Tool) -> ToolDefinition:
    strict = (tool.model_extra or {}).get("strict")
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        # An object without properties is what both vendors ask for where a tool takes nothing.
        parameters_json_schema=tool.parameters or {"type": "object", "properties": {}},
        strict=strict,
    )


def _tool_choice(choice: Any) -> ToolChoice:
    match choice:
        case "auto" | {"type": "auto"}:
            return "auto"
        case "none" | {"type": "none"}:
            return "none"
        # OpenAI's word, and Anthropic's
        case "required" | "any" | {"type": "required" | "any"}:
            return "required"
        case {"type": "tool" | "function", "name": str() as name} | {"function": {"name": str() as name}}:
            return [name]
    raise ValueError(
        f"tool_choice {choice!r} is not known: give 'auto', 'none', 'required' or "
        "{'type': 'function', 'function': {'name': ...}}"
    )


def _output_object(form: dict[str, Any]) -> OutputObjectDefinition:
    """From OpenAI's `response_format`, Anthropic's `output_config.format`, or a bare JSON Schema."""
    match form:
        case {"type": "json_schema", "json_schema": {"schema": dict() as schema}}:
            named: dict[str, Any] = form["json_schema"]
            return OutputObjectDefinition(
                json_schema=schema,
                name=named.get("name"),
                description=named.get("description"),
                strict=named.get("strict") or None,  # false is what leaving it out means; pydantic-ai refuses it
            )
        case {"type": "json_schema", "schema": dict() as schema}:
            return OutputObjectDefinition(json_schema=schema)
        case {"type": "json_schema" | "json_object" | "text"}:
            raise ValueError(f"response_format {form!r} has no JSON Schema; give the schema itself")
    return OutputObjectDefinition(json_schema=form)
