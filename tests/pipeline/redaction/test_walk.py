"""`remove_secret_values()` on whole values: what the protocol needs stays, schemas name properties, pairs count."""

import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, redact, remove_secret_values
from tests.pipeline.redaction.texts import JSON_OBJECTS, TEXTS

_GITHUB = "ghp_" + "Zx4Qm81LwT7vBn2KdP9s"
_OTHER = "gho_" + "Zx4Qm81LwT7vBn2KdP9s"


@settings(max_examples=200, deadline=None)
@given(JSON_OBJECTS)
def test_redacting_again_changes_nothing_and_the_input_is_never_changed(value: dict[str, JsonValue]) -> None:
    before = copy.deepcopy(value)
    once = redact(value)
    assert value == before
    assert redact(once.value) == (once.value, 0)
    assert (once.count == 0) == (once.value == value)


def test_what_holds_no_secret_is_returned_as_it_is() -> None:
    value: JsonValue = {"a": [1, {"b": "text"}], "c": None}
    assert remove_secret_values(value) is value


def test_the_places_replaced_are_counted() -> None:
    value: JsonValue = {
        "token": {"a": 1},
        "text": f"{_GITHUB} and {_OTHER}",
        _GITHUB: 1,
        "api_token": SECRET_PLACEHOLDER,
    }
    assert redact(value).count == 4


def test_signatures_and_encrypted_reasoning_stay_whatever_they_hold() -> None:
    block: JsonValue = {"type": "thinking", "thinking": "ok", "thinking_signature": f"Eq+{_GITHUB}"}
    for key in ("thinking_signature", "text_signature", "thought_signature", "thinkingSignature", "encrypted_content"):
        value: JsonValue = {"role": "assistant", "content": [{**block, key: _GITHUB}]}  # type: ignore[dict-item]
        assert remove_secret_values(value) == value


def test_call_ids_and_image_data_stay() -> None:
    value: JsonValue = [
        {"type": "toolCall", "id": _GITHUB, "name": "x", "arguments": {}},
        {"role": "toolResult", "tool_call_id": _GITHUB},
        {"type": "function_call_output", "call_id": _GITHUB},
        {"type": "image", "data": f"iVBORw0KGgo+{_GITHUB}", "mime_type": "image/png"},
    ]
    assert remove_secret_values(value) == value


def test_what_a_vendors_own_block_needs_back_stays() -> None:
    data: list[JsonValue] = [
        {"type": "server_tool_use", "id": _GITHUB, "name": "web_search", "input": {"query": "keys"}},
        {"type": "web_search_tool_result", "tool_use_id": _GITHUB, "content": [{"encrypted_content": _GITHUB}]},
        {"type": "code_execution_result", "encrypted_stdout": _GITHUB},
        {"type": "web_search_call", "id": _GITHUB, "status": "completed"},
        {"type": "image_generation_call", "id": _GITHUB, "result": f"iVBORw0KGgo+{_GITHUB}"},
        {"inline_data": {"mime_type": "image/png", "data": f"iVBORw0KGgo+{_GITHUB}"}},
    ]
    for item in data:
        block: JsonValue = {"type": "provider", "api": "a", "provider": "p", "kind": "k", "data": item}
        assert remove_secret_values(block) == block
    cited: JsonValue = {"type": "text", "text": "a", "citations": [{"url": "u", "encrypted_index": _GITHUB}]}
    assert remove_secret_values(cited) == cited


def test_a_parsed_answer_is_the_programs_own_as_a_tools_arguments_are() -> None:
    message: JsonValue = {"role": "assistant", "parsed": {"signature": _GITHUB, "token": 12345, "n": 3}}
    assert remove_secret_values(message) == {
        "role": "assistant",
        "parsed": {"signature": SECRET_PLACEHOLDER, "token": SECRET_PLACEHOLDER, "n": 3},
    }


def test_a_secret_in_a_vendors_own_block_goes() -> None:
    result: JsonValue = {"type": "bash_code_execution_result", "stdout": f"GITHUB_TOKEN={_GITHUB}", "result": _OTHER}
    block: JsonValue = {"type": "provider", "api": "a", "provider": "p", "kind": "k", "data": result}
    clean = json.dumps(remove_secret_values(block))
    assert _GITHUB not in clean
    assert _OTHER not in clean


def test_in_a_tools_arguments_no_name_is_the_protocols() -> None:
    call: JsonValue = {
        "type": "toolCall",
        "id": "call_1",
        "arguments": {"type": "toolCall", "id": _GITHUB, "signature": _OTHER},
    }
    clean = remove_secret_values(call)
    assert _GITHUB not in json.dumps(clean)
    assert _OTHER not in json.dumps(clean)


_PROPERTIES: JsonValue = {
    "type": "object",
    "properties": {"password": {"type": "string"}, "properties": {"properties": {"token": {"type": "string"}}}},
    "required": ["password"],
}


def test_a_key_under_properties_is_a_propertys_name_in_tools_and_response_formats() -> None:
    value: JsonValue = {
        "context": {"tools": [{"name": "login", "parameters": _PROPERTIES}]},
        "options": {"response_format": {"json_schema": {"schema": _PROPERTIES}}},
    }
    assert remove_secret_values(value) == value


def test_the_default_of_a_property_that_holds_a_secret_goes_where_it_looks_like_one() -> None:
    def tools(example: str) -> JsonValue:
        token: JsonValue = {"type": "string", "default": example, "const": example, "examples": [example, "eos"]}
        return {"tools": [{"parameters": {"properties": {"token": token, "page_token": {"default": example}}}}]}

    assert remove_secret_values(tools("Zx4Qm81LwT7v")) == {
        "tools": [
            {
                "parameters": {
                    "properties": {
                        "token": {
                            "type": "string",
                            "default": SECRET_PLACEHOLDER,
                            "const": SECRET_PLACEHOLDER,
                            "examples": [SECRET_PLACEHOLDER, "eos"],
                        },
                        "page_token": {"default": "Zx4Qm81LwT7v"},
                    }
                }
            }
        ]
    }
    for word in ("", "changeme", "the token of the account", "${TOKEN}"):
        assert remove_secret_values(tools(word)) == tools(word)


def test_what_is_typed_into_a_field_for_a_secret_goes_where_it_looks_like_one() -> None:
    typings: list[dict[str, JsonValue]] = [
        {"element": "Password textbox", "ref": "e12", "text": "tundraMaple7525"},
        {"selector": "input#password", "value": "tundraMaple7525"},
    ]
    for typed in typings:
        key = list(typed)[-1]
        assert remove_secret_values({"arguments": typed}) == {"arguments": {**typed, key: SECRET_PLACEHOLDER}}
    others: list[JsonValue] = [
        {"element": "User name", "text": "tundraMaple7525"},
        {"label": "Password", "text": "At least 12 characters"},
        {"text": "tundraMaple7525", "label": "Password"},
    ]
    for value in others:
        assert remove_secret_values(value) == value


def test_elsewhere_it_is_a_secret_field_and_so_is_a_plain_value_or_an_example_in_a_schema() -> None:
    assert remove_secret_values({"properties": {"password": {"type": "string"}}}) == {
        "properties": {"password": SECRET_PLACEHOLDER}
    }
    in_arguments: JsonValue = {"arguments": {"response_format": _PROPERTIES}}
    assert remove_secret_values(in_arguments) != in_arguments
    leaking: JsonValue = {"response_format": {"properties": {"token": "hunter"}, "examples": [{"token": "hunter"}]}}
    assert "hunter" not in json.dumps(remove_secret_values(leaking))
    assert remove_secret_values({"response_format": {"properties": {"token": 123}}}) == {
        "response_format": {"properties": {"token": SECRET_PLACEHOLDER}}
    }


def test_two_secrets_as_keys_do_not_swallow_each_others_values() -> None:
    clean = remove_secret_values({_GITHUB: {"user": "a"}, _OTHER: {"user": "b"}, SECRET_PLACEHOLDER: 3})
    assert clean == {
        SECRET_PLACEHOLDER: {"user": "a"},
        f"{SECRET_PLACEHOLDER} (2)": {"user": "b"},
        f"{SECRET_PLACEHOLDER} (3)": 3,
    }


def test_many_secrets_as_keys_are_numbered_without_counting_from_one_again() -> None:
    clean = remove_secret_values({f"ghp_{number:030d}": number for number in range(3000)})
    assert isinstance(clean, dict)
    assert list(clean)[-1] == f"{SECRET_PLACEHOLDER} (3000)"


def test_a_name_and_its_value_may_stand_in_a_pair() -> None:
    value: JsonValue = {
        "headers": [{"name": "X-Api-Key", "value": "plain"}, {"name": "Accept", "value": "plain"}],
        "list": [["x-api-key", "Zx4Qm81LwT7v"], ["accept", "Zx4Qm81LwT7v"]],
        "argv": ["tool", "--password", "Zx4Qm81LwT7v", "--page", "Zx4Qm81LwT7v"],
        "basicauth": ["bob", "Zx4Qm81LwT7v", "Zx4Qm81LwT7v"],
        "userpass": [1, "Zx4Qm81LwT7v"],
    }
    assert remove_secret_values(value) == {
        "headers": [{"name": "X-Api-Key", "value": SECRET_PLACEHOLDER}, {"name": "Accept", "value": "plain"}],
        "list": [["x-api-key", SECRET_PLACEHOLDER], ["accept", "Zx4Qm81LwT7v"]],
        "argv": ["tool", "--password", SECRET_PLACEHOLDER, "--page", "Zx4Qm81LwT7v"],
        "basicauth": ["bob", SECRET_PLACEHOLDER, "Zx4Qm81LwT7v"],
        "userpass": [1, "Zx4Qm81LwT7v"],
    }


def test_any_string_and_any_depth_can_be_walked() -> None:
    value: JsonValue = f"\ud800 \x00 \u2028 \U0001f511 {_GITHUB}"
    for _ in range(128):
        value = [value]
    assert _GITHUB not in json.dumps(remove_secret_values(value))
    assert remove_secret_values({"n": 10**5000}) == {"n": 10**5000}


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.text(max_size=20))
def test_a_string_is_redacted_the_same_wherever_it_stands(text: str, other: str) -> None:
    alone = remove_secret_values(text)
    assert remove_secret_values([other * 0, text]) == ["", alone]
    assert remove_secret_values({"x": text}) == {"x": alone}
