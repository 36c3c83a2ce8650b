"""The contracts of the airline's tools: what the benchmark's schemas leave out."""

from collections.abc import Sequence
from typing import Any

from openprogram.contracts import Contract, ErrorCategory

_NOT_FOUND = ErrorCategory(name="not_found", description="a user, reservation or flight does not exist")
_UNAVAILABLE = ErrorCategory(name="unavailable", description="a flight is not open, or has too few seats")
_PAYMENT = ErrorCategory(name="payment", description="a payment method is missing or does not cover the amount")
_PASSENGERS = ErrorCategory(name="passengers", description="not the number of passengers that was booked")
_EXPRESSION = ErrorCategory(name="expression", description="no arithmetic expression")

_RESERVATION = "reservations/{reservation_id}"
_UPDATE = {"effect": "write", "reads": (_RESERVATION, "flights/*", "users/*"), "writes": (_RESERVATION, "users/*")}

#: Per tool, all fields of Contract but name, description and arguments.
_PROMISES: dict[str, dict[str, Any]] = {
    "get_user_details": {"effect": "read", "reads": ("users/{user_id}",), "errors": (_NOT_FOUND,)},
    "get_reservation_details": {"effect": "read", "reads": (_RESERVATION,), "errors": (_NOT_FOUND,)},
    "list_all_airports": {"effect": "pure"},
    "search_direct_flight": {"effect": "read", "reads": ("flights/*",)},
    "search_onestop_flight": {"effect": "read", "reads": ("flights/*",)},
    "book_reservation": {
        "effect": "write",
        "reads": ("users/{user_id}", "flights/*", "reservations/*"),
        "writes": ("users/{user_id}", "reservations/*"),
        "errors": (_NOT_FOUND, _UNAVAILABLE, _PAYMENT),
        "ordered": True,
    },
    "update_reservation_flights": {**_UPDATE, "errors": (_NOT_FOUND, _UNAVAILABLE, _PAYMENT), "ordered": True},
    "update_reservation_baggages": {**_UPDATE, "errors": (_NOT_FOUND, _PAYMENT), "ordered": True},
    "update_reservation_passengers": {
        "effect": "write",
        "reads": (_RESERVATION,),
        "writes": (_RESERVATION,),
        "errors": (_NOT_FOUND, _PASSENGERS),
    },
    "cancel_reservation": {
        "effect": "write",
        "reads": (_RESERVATION,),
        "writes": (_RESERVATION,),
        "errors": (_NOT_FOUND,),
        "ordered": True,
    },
    "send_certificate": {
        "effect": "write",
        "reads": ("users/{user_id}",),
        "writes": ("users/{user_id}",),
        "errors": (_NOT_FOUND,),
        "ordered": True,
    },
    "calculate": {"effect": "pure", "errors": (_EXPRESSION,)},
    "think": {"effect": "pure"},
    "transfer_to_human_agents": {"effect": "external"},
}


def airline_contracts(schemas: Sequence[dict[str, Any]]) -> dict[str, Contract]:
    """The contracts by tool name. `schemas`: name, description and parameters of each tool."""
    return {
        schema["name"]: Contract(
            name=schema["name"],
            description=schema["description"],
            arguments=schema["parameters"],
            **_PROMISES[schema["name"]],
        )
        for schema in schemas
    }
