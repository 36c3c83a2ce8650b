"""Tool arguments that stream in as JSON text: the recording parses to what redacting the parsed value gives."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from openprogram.pipeline.redaction import SECRET_PLACEHOLDER, redact, remove_secret_values
from openprogram.pipeline.redaction.arguments import ArgumentsScanner
from openprogram.pipeline.redaction.scanner import Piece, Scanner
from tests.pipeline.redaction.texts import FRAGMENTS, JSON_OBJECTS, TEXTS, applied, cut_anywhere


def streamed(pieces: list[str]) -> str:
    machine = ArgumentsScanner()
    decided = [piece for text in pieces for piece in machine.feed(text)] + machine.close()
    return applied("".join(pieces), decided)


def whole(arguments: dict[str, JsonValue]) -> JsonValue:
    clean = remove_secret_values({"type": "toolCall", "arguments": arguments})
    assert isinstance(clean, dict)
    return clean["arguments"]


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_cut_anywhere_the_recording_parses_to_the_redacted_arguments(data: st.DataObject) -> None:
    arguments = data.draw(JSON_OBJECTS)
    text = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1])))
    recorded = streamed(data.draw(cut_anywhere(text)))
    clean = whole(json.loads(text))
    assert json.dumps(json.loads(recorded)) == json.dumps(clean)
    if clean == arguments:
        assert recorded == text


_NASTY = [
    '{"token": 12345, "b": [1, 2]}',
    '{"token" : {"a": "}", "b": ["\\"]"]} , "c": null}',
    '{"token":"","db_password":"","session_key":null,"password":true}',
    '{"token": "[secret removed]", "secret": "[secret removed"}',
    '{"command": "curl -H \\"Authorization: Bearer Zx4Qm81Lw\\u0054\\u0037v\\" https://h.example"}',
    '{"te\\u0078t": "pass\\u0077ord: Zx4Qm81Lw\\n\\ud83d\\udd11 \\ud83d ok \\/"}',
    '{"ghp_Zx4Qm81LwT7vBn2KdP9s": 1, "gho_Zx4Qm81LwT7vBn2KdP9s": 2, "[secret removed]": 3}',
    '{"headers": [{"name": "X-Api-Key", "value": "abc"}], "argv": ["--token", "Zx4Qm81LwT7v"]}',
    '{"a": -1.5e+10, "b": [true, false, null], "c": {}, "d": [], "e": "sk-SK"}',
    '{"word": "\\ud835\\udc1aghp_Zx4Qm81LwT7vBn2KdP9s \\ud835 \\udc1aghp_Zx4Qm81LwT7vBn2KdP9s"}',
    '["[secret removed] ?sig=a1b2", "a ?token=a1 ?token=b1 x", "pw: \\u005aq91Lw x", "[secret removed]x"]',
    '{"x": 1, "x": {"token": 1}, "x": "sk-proj-Zx4Qm81LwT7vBn2KdP9s"}',
]


@pytest.mark.parametrize("text", _NASTY)
def test_cut_in_two_or_into_characters_gives_the_same(text: str) -> None:
    expected = streamed([text])
    assert json.dumps(json.loads(expected)) == json.dumps(whole(json.loads(text)))
    assert streamed(list(text)) == expected
    for cut in range(len(text) + 1):
        assert streamed([text[:cut], text[cut:]]) == expected, cut


def test_a_number_under_a_secret_name_becomes_a_string_and_its_digits_are_left_out() -> None:
    machine = ArgumentsScanner()
    assert machine.feed('{"token": 1') == [(10, None), (1, f'"{SECRET_PLACEHOLDER}"')]
    assert machine.feed("2345") == [(4, "")]
    assert machine.feed("}") == [(1, None)]
    assert machine.count == 1


@pytest.mark.parametrize(
    "text",
    [
        "{'password': 'Zx4Qm81LwT7v'}",
        '{"password": \'Zx4Qm81LwT7v\'}',
        '{"password" "Zx4Qm81LwT7v"}',
        '{"password": Zx4Qm81LwT7v}',
        '{"token": [1, {"a": "Zx4Qm81LwT7v"',
        '{"a": "x" "ghp_Zx4Qm81LwT7vBn2KdP9s"}',
        '{"a": tr ghp_Zx4Qm81LwT7vBn2KdP9s',
        '{"a": "\\x password: Zx4Qm81LwT7v"}',
        'password: Zx4Qm81LwT7v',
        '{"a": 1} Bearer Zx4Qm81LwT7v',
        '{"db_password": "Zx4Qm81LwT7v',
        '{"token": 12 Zx4Qm81LwT7v password=Zx4Qm81LwT7v',
    ],
)  # fmt: skip
def test_text_that_is_not_json_leaks_no_secret_and_its_cuts_do_not_matter(text: str) -> None:
    expected = streamed([text])
    assert SECRET_PLACEHOLDER in expected
    assert "password: Zx4Qm81LwT7v" not in expected
    assert "ghp_Zx4" not in expected
    assert streamed(list(text)) == expected


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_any_text_is_read_without_an_error_and_its_cuts_do_not_matter(data: st.DataObject) -> None:
    good = json.dumps(data.draw(JSON_OBJECTS))
    text = data.draw(
        st.one_of(TEXTS, st.just(good[: data.draw(st.integers(0, len(good)))] + data.draw(st.sampled_from(FRAGMENTS))))
    )
    assert streamed(data.draw(cut_anywhere(text))) == streamed([text])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('["--password", 1, "tundraMaple7525"]', 0),
        ('["--password", "tundraMaple7525"]', 1),
        ('["--password", null , 2, "tundraMaple7525", "--password", "tundraMaple7525"]', 1),
        ('{"a": "ghp_Zx4Qm81LwT7vBn2KdP9s", "token": "x", "db_password": ["a", 1]}', 3),
        ('{"ghp_Zx4Qm81LwT7vBn2KdP9s": 1, "token": ""}', 2),
    ],
)
def test_text_that_comes_at_once_is_read_as_text_that_comes_in_characters(text: str, count: int) -> None:
    expected = redact(json.loads(text))
    for pieces in ([text], list(text)):
        machine = ArgumentsScanner()
        decided = [piece for part in pieces for piece in machine.feed(part)] + machine.close()
        assert json.loads(applied(text, decided)) == expected.value
        assert machine.count == expected.count == count


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_of_the_string_of_a_value_as_much_waits_as_of_the_same_text_alone(text: str, size: int) -> None:
    """Twice, so that each beginning is remembered the second time."""
    text = text.replace('"', "'").replace("\\", "/")
    for _ in range(2):
        alone, machine = Scanner(), ArgumentsScanner()
        machine.feed('{"a":"')
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            assert decided(machine.feed(piece)) == decided(alone.feed(piece))


def decided(pieces: list[Piece]) -> tuple[int, list[str]]:
    """How many characters, and what is new."""
    return sum(length for length, _ in pieces), [new for _, new in pieces if new]


def test_names_beside_values_matter_in_their_own_object_only() -> None:
    text = '[{"a": 1}, {"name": "token", "value": "a"}, {"value": "a"}, {"b": {"value": "a"}, "c": {"name": "token"}}]'
    clean = '[{"a": 1}, {"name": "token", "value": "[secret removed]"}, ' + text[text.index('{"value": "a"}, {"b"') :]
    for _ in range(2):  # nothing is left of the first time
        assert streamed([text]) == streamed(list(text)) == clean


@pytest.mark.parametrize("depth", [1, 2, 3, 50])
def test_rows_of_brackets_are_the_lists_that_they_are(depth: int) -> None:
    lists: JsonValue = ["--token", "Zx4Qm81LwT7v"]
    for _ in range(depth):
        lists = [lists, "Zx4Qm81LwT7v"]
    places: list[dict[str, JsonValue]] = [{"db_password": lists}, {"basicauth": lists}, {"a": {"pass": [lists]}}]
    for arguments in places:
        text = json.dumps(arguments)
        assert json.loads(streamed([text])) == json.loads(streamed(list(text))) == whole(arguments)
