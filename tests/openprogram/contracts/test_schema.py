"""Values held against JSON Schemas."""

from openprogram.contracts.schema import faults

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "items": {"type": "array", "items": {"type": "integer"}}},
    "required": ["id"],
    "additionalProperties": False,
}


def test_every_fault_is_named_with_its_path() -> None:
    assert faults({"id": 1, "items": [1, "2"]}, SCHEMA) == [
        "id: 1 is not of type 'string'",
        "items[1]: '2' is not of type 'integer'",
    ]


def test_a_fault_of_the_whole_is_one_of_the_value() -> None:
    assert faults({}, SCHEMA) == ["value: 'id' is a required property"]


def test_what_fits_has_no_faults() -> None:
    assert faults({"id": "1", "items": [2]}, SCHEMA) == []


def test_true_is_no_integer() -> None:
    assert faults({"id": "1", "items": [True]}, SCHEMA) == ["items[0]: True is not of type 'integer'"]
