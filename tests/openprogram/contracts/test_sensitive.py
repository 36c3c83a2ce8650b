"""Sensitive fields: masked wherever people look."""

from openprogram.contracts.sensitive import is_sensitive, masked


def test_what_stands_at_a_path_is_masked_in_a_copy() -> None:
    given = {"card": {"number": "4111", "name": "Ada"}, "cards": [{"number": "1"}, {"name": "x"}], "note": "4111"}
    assert masked(given, ["card.number", "cards.number", "nothing.here"]) == {
        "card": {"number": "[sensitive]", "name": "Ada"},
        "cards": [{"number": "[sensitive]"}, {"name": "x"}],
        "note": "4111",
    }
    assert given["card"] == {"number": "4111", "name": "Ada"}


def test_a_field_path_is_sensitive_at_and_below_a_sensitive_path() -> None:
    for path in ("card.number", "card.number.last", "card[0].number", "card.number[3]"):
        assert is_sensitive(path, ["card.number"])
    for path in ("card", "card.numbers", "number", "other.card.number"):
        assert not is_sensitive(path, ["card.number"])
