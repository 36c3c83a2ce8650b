"""Python functions as tools: schema, validation, running, results."""

import json
import threading
from datetime import date
from enum import Enum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from openprogram.agent import ToolOutput, tool
from openprogram.agent.tool_calls import answer_call
from openprogram.agent.tools import to_content
from openprogram.pipeline.errors import RecordedCallError
from openprogram.pipeline.json_value import NotJson
from openprogram.providers.scripted import tool_call
from openprogram.providers.types import ImageContent, TextContent

pytestmark = pytest.mark.anyio


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Place(BaseModel):
    city: str
    country: str = "NL"


@tool
async def weather(
    place: Place, day: date, unit: Unit = Unit.CELSIUS, hours: Annotated[int, Field(description="to look ahead")] = 1
) -> str:
    """The weather somewhere.

    On one day.
    """
    return f"{place.city},{place.country} {day:%d.%m.} {unit.value} {hours}"


def text(output: ToolOutput) -> str:
    [block] = output.content
    assert isinstance(block, TextContent)
    return block.text


# ---- the schema


async def test_name_description_and_schema_come_from_the_function() -> None:
    definition = weather.definition
    assert definition.name == "weather"
    assert definition.description == "The weather somewhere.\n\nOn one day."
    assert definition.parameters["required"] == ["place", "day"]
    assert definition.parameters["additionalProperties"] is False
    assert definition.parameters["properties"] == {
        "place": {"$ref": "#/$defs/Place"},
        "day": {"format": "date", "type": "string"},
        "unit": {"$ref": "#/$defs/Unit", "default": "celsius"},
        "hours": {"default": 1, "description": "to look ahead", "type": "integer"},
    }


async def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        return "noon"

    assert now.definition.parameters == {"additionalProperties": False, "properties": {}, "type": "object"}
    assert now.definition.description == ""


async def test_parameters_may_have_names_that_pydantic_keeps_for_itself() -> None:
    @tool
    async def odd(_private: int, model_config: int, schema: int, self: int) -> int:
        return _private + model_config + schema + self

    arguments = {"_private": 1, "model_config": 2, "schema": 3, "self": 4}
    assert list(odd.definition.parameters["properties"]) == list(arguments)
    assert text(await odd.run(tool_call("odd", arguments))) == "10"


async def test_a_signature_that_has_no_schema_is_refused() -> None:
    def positional(a: int, /) -> None: ...
    def many(*numbers: int) -> None: ...
    def anything(**options: int) -> None: ...
    def bare(a) -> None: ...  # type: ignore[no-untyped-def]

    for function in (positional, many, anything):
        with pytest.raises(TypeError, match="by name"):
            tool(function)
    with pytest.raises(TypeError, match=r"'a' .* has no annotation"):
        tool(bare)


# ---- arguments


async def test_arguments_arrive_as_the_annotated_types() -> None:
    call = tool_call("weather", {"place": {"city": "Delft"}, "day": "2024-05-01", "unit": "kelvin", "hours": "3"})
    assert text(await weather.run(call)) == "Delft,NL 01.05. kelvin 3"


async def test_arguments_left_out_have_the_function_s_defaults() -> None:
    call = tool_call("weather", {"place": {"city": "Delft"}, "day": "2024-05-01"})
    assert text(await weather.run(call)) == "Delft,NL 01.05. celsius 1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"place": {"city": "Delft"}}, "day: Field required"),
        ({"place": {}, "day": "2024-05-01"}, "place.city: Field required"),
        ({"place": {"city": "Delft"}, "day": "2024-05-01", "when": 1}, "when: Extra inputs are not permitted"),
        ({"place": {"city": "Delft"}, "day": "2024-05-01", "hours": []}, "hours: Input should be a valid integer"),
    ],
)
async def test_arguments_that_do_not_fit_tell_the_model_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    output = await weather.run(tool_call("weather", arguments))
    assert output.is_error
    assert text(output) == f"invalid arguments for weather: {message}"


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["place", "day", "unit", "hours", "other"]), any_json))
async def test_any_arguments_whatever_give_an_output(arguments: dict[str, Any]) -> None:
    output = await answer_call(tool_call("weather", arguments), {"weather": weather})
    assert isinstance(text(output), str)


# ---- running


async def test_a_synchronous_function_runs_in_a_thread_of_its_own() -> None:
    seen: list[threading.Thread] = []

    @tool
    def where(name: str) -> str:
        seen.append(threading.current_thread())
        return name

    assert text(await where.run(tool_call("where", {"name": "a"}))) == "a"
    assert seen[0] is not threading.current_thread()


async def test_a_synchronous_tool_that_raises_is_an_error_result() -> None:
    @tool
    def broken() -> None:
        raise OSError("disk full")

    output = await answer_call(tool_call("broken", {}), {"broken": broken})
    assert (text(output), output.is_error) == ("OSError: disk full", True)


async def test_a_result_without_a_json_form_is_an_error_result() -> None:
    @tool
    async def odd() -> Any:
        return object()

    output = await answer_call(tool_call("odd", {}), {"odd": odd})
    assert output.is_error
    assert text(output).startswith("NotJson: ")


async def test_of_an_exception_group_the_model_reads_the_exception() -> None:
    @tool
    async def broken() -> None:
        raise ExceptionGroup("several", [KeyError("a")])

    assert text(await answer_call(tool_call("broken", {}), {"broken": broken})) == "KeyError: 'a'"


async def test_a_failed_replay_in_a_tool_is_no_answer_to_the_model() -> None:
    failure = RecordedCallError(call_index=0, outcome="error")

    @tool
    async def nested() -> None:
        raise failure from KeyError("cause")

    with pytest.raises(RecordedCallError) as raised:
        await answer_call(tool_call("nested", {}), {"nested": nested})
    assert raised.value is failure
    assert isinstance(raised.value.__cause__, KeyError)


# ---- results


IMAGE = ImageContent(data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("text", [TextContent(text="text")]),
        (None, [TextContent(text="")]),
        (TextContent(text="block"), [TextContent(text="block")]),
        (IMAGE, [IMAGE]),
        ([TextContent(text="a"), IMAGE], [TextContent(text="a"), IMAGE]),
        ([], [TextContent(text="[]")]),
        (3, [TextContent(text="3")]),
        (True, [TextContent(text="true")]),
        (1.5, [TextContent(text="1.5")]),
        ({"ä": [1, None]}, [TextContent(text='{"ä": [1, null]}')]),
        (Place(city="Delft"), [TextContent(text='{"city": "Delft", "country": "NL"}')]),
        ([Place(city="Delft")], [TextContent(text='[{"city": "Delft", "country": "NL"}]')]),
        (date(2024, 5, 1), [TextContent(text='"2024-05-01"')]),
    ],
)
async def test_results_become_content(result: Any, content: list[Any]) -> None:
    assert to_content(result) == content


@given(any_json.filter(lambda value: value is not None and not isinstance(value, str)))
def test_any_json_result_reads_back_the_same(value: Any) -> None:
    [block] = to_content(value)
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == value


async def test_a_number_that_json_has_not_is_refused() -> None:
    with pytest.raises(NotJson):
        to_content(float("nan"))
