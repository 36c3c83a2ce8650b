"""A contract: what it must say, and that nothing in it changes unseen."""

from typing import Any

import pytest
from pydantic import ValidationError

from openprogram.contracts import Contract, ErrorCategory, Idempotency, ResultLimits, contract_of, tool
from openprogram.contracts.contract import ApprovalRule


def contract(**fields: Any) -> Contract:
    return Contract(**{"name": "cancel", "effect": "write", **fields})


CHANGES: dict[str, Any] = {
    "name": "other",
    "revision": "2",
    "description": "cancels",
    "effect": "external",
    "arguments": {"type": "object", "properties": {"id": {"type": "string"}}},
    "result": {"type": "string"},
    "errors": (ErrorCategory(name="gone"),),
    "reads": ("orders/*",),
    "writes": ("orders/{id}",),
    "idempotency": Idempotency(key="{id}"),
    "ordered": True,
    "limits": ResultLimits(visible_bytes=10),
    "sensitive": ("card",),
    "capture": "none",
    "approval": ApprovalRule(),
}


def test_the_list_of_changes_below_names_every_field() -> None:
    assert CHANGES.keys() == Contract.model_fields.keys()


@pytest.mark.parametrize("field", CHANGES)
def test_every_field_is_part_of_the_digest(field: str) -> None:
    assert contract(**{field: CHANGES[field]}).digest != contract().digest


def test_the_order_of_keys_in_a_schema_is_no_change() -> None:
    one = contract(arguments={"type": "object", "properties": {"a": {}, "b": {}}})
    other = contract(arguments={"properties": {"b": {}, "a": {}}, "type": "object"})
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"effect": "pure", "reads": ("orders/*",)}, "a pure tool depends on its arguments alone"),
        ({"effect": "read", "writes": ("orders/*",)}, "its effect class would be write"),
        ({"reads": ("orders",)}, "names no resource"),
        ({"reads": ("orders/{id",)}, "a brace that is no hole"),
        ({"idempotency": {"key": "{id"}}, "a brace that is no hole"),
        ({"errors": [{"name": "gone"}, {"name": "gone"}]}, "the same name"),
        ({"arguments": {"type": "objekt"}}, "not a JSON Schema"),
        ({"result": {"$ref": "https://example.com/s.json"}}, "only references inside it are followed"),
        ({"result": {"properties": {"a": {"$dynamicRef": "other.json#x"}}}}, "only references inside it are followed"),
        ({"name": "a b"}, "String should match pattern"),
        ({"unknown": 1}, "Extra inputs are not permitted"),
    ],
)
def test_what_does_not_hold_together_is_refused_with_the_reason(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as refused:
        contract(**fields)
    assert says in str(refused.value)


def test_a_contract_survives_its_own_json() -> None:
    full = Contract(**{"name": "cancel", "effect": "write", **CHANGES})
    assert Contract.model_validate_json(full.model_dump_json()) == full
    assert Contract.model_validate_json(full.model_dump_json()).digest == full.digest


@tool(effect="write", revision="3", writes=("orders/{order_id}",))
def cancel_order(order_id: str, notify: bool = True) -> dict[str, str]:
    """Cancel an order that has not been shipped."""
    return {"order": order_id, "notified": str(notify)}


def test_declared_beside_a_function_it_takes_name_description_and_schemas_from_it() -> None:
    declared = contract_of(cancel_order)
    assert (declared.name, declared.revision, declared.effect) == ("cancel_order", "3", "write")
    assert declared.description == "Cancel an order that has not been shipped."
    assert declared.arguments["required"] == ["order_id"]
    assert declared.result == {"type": "object", "additionalProperties": {"type": "string"}}
    assert declared.definition.parameters == declared.arguments


def test_the_function_stays_what_it_was() -> None:
    assert cancel_order("17") == {"order": "17", "notified": "True"}


def test_a_function_without_a_contract_says_how_to_declare_one() -> None:
    with pytest.raises(LookupError, match="@tool"):
        contract_of(len)
