"""The strings and numbers of a JSON text, and where they stand in it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.json_value import join_path
from openprogram.pipeline.matching.argument_text import json_pieces, json_string_text
from tests.pipeline.matching.json_values import texts, values


def leaves(value: Any, path: str) -> list[tuple[str, Any, bool]]:
    """Keys, strings and numbers of a value, in the order of its text."""
    if isinstance(value, dict):
        found = []
        for key, item in value.items():
            found += [(join_path(path, key), key, True), *leaves(item, join_path(path, key))]
        return found
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, join_path(path, index))]
    return [(path, value, False)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


@given(value=values, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_every_string_and_number_is_found_with_its_path(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = [(piece.path, piece.value, piece.is_key) for piece in json_pieces(text, "a")]
    # A key's own path is where its value stands, but for what it was called before it was read.
    assert [(value, is_key) for _, value, is_key in found] == [
        (value, is_key) for _, value, is_key in leaves(value, "a")
    ]
    assert [(path, value) for path, value, is_key in found if not is_key] == [
        (path, value) for path, value, is_key in leaves(value, "a") if not is_key
    ]


@given(before=texts, inner=texts, after=texts, ascii_only=st.booleans(), new=texts)
def test_a_part_of_a_string_can_be_replaced_where_it_stands(
    before: str, inner: str, after: str, ascii_only: bool, new: str
) -> None:
    text = json.dumps({"k": before + inner + after}, ensure_ascii=ascii_only)
    if json.loads(text)["k"] != before + inner + after:
        return  # two halves of a character met, and are one now
    _, piece = json_pieces(text, "")
    start, end = piece.at(len(before)), piece.at(len(before) + len(inner))
    replaced = text[:start] + json_string_text(new) + text[end:]
    assert json.loads(replaced) == json.loads(json.dumps({"k": before + new + after}, ensure_ascii=ascii_only))


@given(value=values, cut=st.integers(0, 60))
def test_a_text_that_is_cut_off_gives_what_stands_before_the_cut(value: Any, cut: int) -> None:
    text = json.dumps(value)
    whole = [(piece.start, piece.value) for piece in json_pieces(text, "") if piece.end < cut]
    assert [(piece.start, piece.value) for piece in json_pieces(text[:cut], "")][: len(whole)] == whole


@given(text=st.text(alphabet='{}[]",:\\u00d8 a1-', max_size=30))
def test_any_text_is_taken_as_far_as_it_goes(text: str) -> None:
    for piece in json_pieces(text, ""):
        assert 0 <= piece.start <= piece.end <= len(text)
