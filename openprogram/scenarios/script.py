"""A script file: the model's answers, one after the other.

A JSON list. Each answer is a text, an object `{"tool": NAME, "arguments": {…}}`, a list of such texts and objects
that make one answer, or a whole assistant message.
"""

from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import AssistantContent, AssistantMessage, TextContent, ToolCall
from openprogram.scenarios.errors import ScenarioError
from openprogram.scenarios.files import first_fault, read_json_file

__all__ = ["ScriptAnswer", "read_answers", "read_script"]

#: One answer of a script file: a whole message, or the blocks that make one.
ScriptAnswer: TypeAlias = AssistantMessage | list[AssistantContent]


def read_script(path: Path) -> ScriptedProvider:
    """A provider that answers from the file. Raises ScenarioError: see `read_answers`."""
    return ScriptedProvider(read_answers(path))


def read_answers(path: Path) -> list[ScriptAnswer]:
    """The answers in the file, in order. Raises ScenarioError: it can't be read, or an answer is none."""
    answers = read_json_file(path)
    if not isinstance(answers, list):
        raise ScenarioError(path=path, reason="a script is a list of answers")
    read = [_answer(answer, path, number) for number, answer in enumerate(answers)]
    try:
        ScriptedProvider(read)  # refuses two tool calls with one id
    except ValueError as error:
        raise ScenarioError(path=path, reason=str(error)) from error
    return read


def _answer(answer: Any, path: Path, number: int) -> ScriptAnswer:
    try:
        if isinstance(answer, dict) and answer.get("role") == "assistant":
            return AssistantMessage.model_validate(answer)
        blocks = answer if isinstance(answer, list) else [answer]
        return [_block(block, f"script-{number}-{position}") for position, block in enumerate(blocks)]
    except ValidationError as error:
        field, reason = first_fault(error, AssistantMessage)
        raise ScenarioError(
            path=path, field=f"[{number}].{field}" if field else f"[{number}]", reason=reason
        ) from error
    except ValueError as error:
        raise ScenarioError(path=path, field=f"[{number}]", reason=str(error)) from error


def _block(block: Any, call_id: str) -> AssistantContent:
    if isinstance(block, str):
        return TextContent(text=block)
    if isinstance(block, dict) and isinstance(block.get("tool"), str) and block.keys() <= {"tool", "arguments", "id"}:
        return ToolCall(id=block.get("id", call_id), name=block["tool"], arguments=block.get("arguments", {}))
    raise ValueError('an answer is a text, {"tool": NAME, "arguments": {…}}, a list of these, or an assistant message')
