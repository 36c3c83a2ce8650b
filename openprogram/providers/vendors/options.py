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
from openprogram.providers.vendors.answer_form import AnswerForm

__all__ = ["VERBATIM_PROFILE", "answer_tool_choice", "common_settings", "reasoning_level", "request_parameters"]

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


def request_parameters(context: Context, form: AnswerForm | None) -> ModelRequestParameters:
    """Tools and the form of the answer. Raises ValueError: a tool has the name of the one that takes the answer."""
    tools = [_tool_definition(tool) for tool in context.tools or []]
    if form is None:
        return ModelRequestParameters(function_tools=tools)
    if form.tool is not None:
        if any(tool.name == form.tool for tool in tools):
            raise ValueError(
                f"two tools are named {form.tool!r}: give the answer's form another name (json_schema.name)"
            )
        return ModelRequestParameters(function_tools=[*tools, _answer_tool(form, form.tool)])
    output = OutputObjectDefinition(
        json_schema=form.schema, name=form.name, description=form.description, strict=form.strict
    )
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=output)


def answer_tool_choice(context: Context, options: StreamOptions, form: AnswerForm | None) -> ModelSettings:
    """That the model has to answer through the tool for it, or use another one before.

    Not where the caller chooses, and not with reasoning: vendors refuse to force a tool on a model that thinks.
    """
    if form is None or form.tool is None or options.tool_choice is not None or reasoning_level(options):
        return ModelSettings()
    return ModelSettings(tool_choice="required" if context.tools else [form.tool])


def _answer_tool(form: AnswerForm, name: str) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=form.description or "Gives the final answer. Call it once, when the answer is ready.",
        parameters_json_schema=form.parameters,
        strict=form.strict,
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
