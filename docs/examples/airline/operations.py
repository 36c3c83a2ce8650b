"""The airline's 14 tools as simulated operations. What they must do, quirks included, is in the data's README."""

import ast
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from openprogram.fixtures.events import AdapterEvent, Commit, Result
from openprogram.scenarios.operations import ToolError, operation, pure
from openprogram.world import Resources, thaw

Arguments = dict[str, Any]
Events = Iterator[AdapterEvent]

AIRPORTS = {
    "SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago", "DFW": "Dallas",
    "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami", "BOS": "Boston", "PHX": "Phoenix",
    "IAH": "Houston", "LAS": "Las Vegas", "MCO": "Orlando", "EWR": "Newark", "CLT": "Charlotte",
    "MSP": "Minneapolis", "DTW": "Detroit", "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip

BOOKED_AT = "2024-05-15T15:00:00"
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
INSURANCE_PRICE = 30  # a passenger
BAG_PRICE = 50  # a bag that isn't free


def refused(category: str, message: str) -> ToolError:
    return ToolError(category, f"Error: {message}")


# ---- looking things up


@operation("get_user_details")
def get_user_details(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    yield _document(resources, f"users/{arguments['user_id']}")


@operation("get_reservation_details")
def get_reservation_details(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    yield _document(resources, f"reservations/{arguments['reservation_id']}")


def _document(resources: Resources, resource: str) -> AdapterEvent:
    if resource not in resources:
        raise refused("not_found", "user not found")  # of reservations too, the airline says so of the user
    return Result(value=resources[resource])


@pure("list_all_airports")
def list_all_airports(arguments: Arguments) -> dict[str, str]:
    return AIRPORTS


@operation("search_direct_flight")
def search_direct_flight(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    flights = _available(resources, arguments["date"], origin=arguments["origin"], destination=arguments["destination"])
    yield Result(value=[_offer(flight, arguments["date"]) for flight in flights])


@operation("search_onestop_flight")
def search_onestop_flight(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    date, destination = arguments["date"], arguments["destination"]
    pairs = []
    for first in resources.kind("flights").values():
        if first["origin"] != arguments["origin"]:
            continue
        for second in resources.kind("flights").values():
            if second["origin"] != first["destination"] or second["destination"] != destination:
                continue
            arrives_next_day = "+1" in first["scheduled_arrival_time_est"]
            second_date = f"2024-05-{int(date[-2:]) + 1}" if arrives_next_day else date
            if first["scheduled_arrival_time_est"] > second["scheduled_departure_time_est"]:
                continue
            if _is_available(first, date) and _is_available(second, second_date):
                # a quirk: seats and prices of the second leg are those of the first leg's date
                pairs.append([_offer(first, date) | {"date": date}, _offer(second, date) | {"date": second_date}])
    yield Result(value=pairs)


def _available(resources: Resources, date: str, origin: str, destination: str) -> Iterator[Mapping[str, Any]]:
    for flight in resources.kind("flights").values():
        if (flight["origin"], flight["destination"]) == (origin, destination) and _is_available(flight, date):
            yield flight


def _is_available(flight: Mapping[str, Any], date: str) -> bool:
    return bool(flight["dates"].get(date, {}).get("status") == "available")


def _offer(flight: Mapping[str, Any], date: str) -> dict[str, Any]:
    return {key: value for key, value in flight.items() if key != "dates"} | flight["dates"][date]


# ---- booking and changing


@operation("book_reservation")
def book_reservation(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    user = _user(resources, arguments["user_id"])
    passengers = arguments["passengers"]
    flights = [_priced(resources, flight, arguments["cabin"], len(passengers)) for flight in arguments["flights"]]
    total = sum(flight["price"] for flight in flights) * len(passengers)
    total += INSURANCE_PRICE * len(passengers) if arguments["insurance"] == "yes" else 0
    total += BAG_PRICE * arguments["nonfree_baggages"]
    _check_payments(user, arguments["payment_methods"], total)
    for payment in arguments["payment_methods"]:
        _use_up(user, payment["payment_id"], payment["amount"])
    name = next(name for name in NEW_RESERVATIONS if f"reservations/{name}" not in resources)
    reservation = {
        "reservation_id": name,
        **{key: arguments[key] for key in ("user_id", "origin", "destination", "flight_type", "cabin")},
        "flights": flights,
        "passengers": passengers,
        "payment_history": arguments["payment_methods"],
        "created_at": BOOKED_AT,
        **{key: arguments[key] for key in ("total_baggages", "nonfree_baggages", "insurance")},
    }
    user["reservations"].append(name)
    yield Commit(resource=f"reservations/{name}", value=reservation)
    yield Commit(resource=f"users/{arguments['user_id']}", value=user)
    yield Result(value=reservation)


@operation("update_reservation_flights")
def update_reservation_flights(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    reservation = _reservation(resources, arguments["reservation_id"])
    user = _user(resources, reservation["user_id"])
    count = len(reservation["passengers"])
    flights = [_kept(reservation, flight, arguments["cabin"]) or _priced(resources, flight, arguments["cabin"], count)
               for flight in arguments["flights"]]  # fmt: skip
    before = sum(flight["price"] for flight in reservation["flights"])
    price = (sum(flight["price"] for flight in flights) - before) * count
    _check_payment(user, arguments["payment_id"], price)
    reservation["flights"] = flights  # a quirk: the cabin field stays as it was
    yield from _paid(reservation, user, arguments["payment_id"], price)


@operation("update_reservation_baggages")
def update_reservation_baggages(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    reservation = _reservation(resources, arguments["reservation_id"])
    user = _user(resources, reservation["user_id"])
    price = BAG_PRICE * max(0, arguments["nonfree_baggages"] - reservation["nonfree_baggages"])
    _check_payment(user, arguments["payment_id"], price)
    reservation["total_baggages"] = arguments["total_baggages"]
    reservation["nonfree_baggages"] = arguments["nonfree_baggages"]
    yield from _paid(reservation, user, arguments["payment_id"], price)


@operation("update_reservation_passengers")
def update_reservation_passengers(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    reservation = _reservation(resources, arguments["reservation_id"])
    if len(arguments["passengers"]) != len(reservation["passengers"]):
        raise refused("passengers", "number of passengers does not match")
    reservation["passengers"] = arguments["passengers"]
    yield from _changed(reservation)


@operation("cancel_reservation")
def cancel_reservation(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    reservation = _reservation(resources, arguments["reservation_id"])
    reservation["payment_history"] += [
        {"payment_id": payment["payment_id"], "amount": -payment["amount"]}
        for payment in reservation["payment_history"]
    ]
    reservation["status"] = "cancelled"
    yield from _changed(reservation)


@operation("send_certificate")
def send_certificate(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    name, amount = arguments["user_id"], arguments["amount"]
    user = _user(resources, name)
    certificate = next(free for free in NEW_CERTIFICATES if free not in user["payment_methods"])
    user["payment_methods"][certificate] = {"source": "certificate", "amount": amount, "id": certificate}
    yield Commit(resource=f"users/{name}", value=user)
    yield Result(value=f"Certificate {certificate} added to user {name} with amount {amount}.")


@pure("think")
def think(arguments: Arguments) -> str:
    return ""


@operation("transfer_to_human_agents")
def transfer_to_human_agents(resources: Resources, arguments: Arguments, clock: Any, random: Any) -> Events:
    yield Result(value="Transfer successful")


def _user(resources: Resources, name: str) -> dict[str, Any]:
    if f"users/{name}" not in resources:
        raise refused("not_found", "user not found")
    user: dict[str, Any] = thaw(resources[f"users/{name}"])
    return user


def _reservation(resources: Resources, name: str) -> dict[str, Any]:
    if f"reservations/{name}" not in resources:
        raise refused("not_found", "reservation not found")
    reservation: dict[str, Any] = thaw(resources[f"reservations/{name}"])
    return reservation


def _priced(resources: Resources, wanted: Mapping[str, Any], cabin: str, seats: int) -> dict[str, Any]:
    """A flight at today's price, once all that must hold for it holds."""
    number, date = wanted["flight_number"], wanted["date"]
    flight = resources.get(f"flights/{number}")
    if flight is None:
        raise refused("not_found", f"flight {number} not found")
    if date not in flight["dates"]:
        raise refused("not_found", f"flight {number} not found on date {date}")
    day = flight["dates"][date]
    if day["status"] != "available":
        raise refused("unavailable", f"flight {number} not available on date {date}")
    if day["available_seats"][cabin] < seats:
        raise refused("unavailable", f"not enough seats on flight {number}")
    return {**wanted, "price": day["prices"][cabin], "origin": flight["origin"], "destination": flight["destination"]}


def _kept(reservation: Mapping[str, Any], wanted: Mapping[str, Any], cabin: str) -> dict[str, Any] | None:
    """The flight at its old price, where it was booked already and the cabin stays the same."""
    for flight in reservation["flights"]:
        same = (flight["flight_number"], flight["date"]) == (wanted["flight_number"], wanted["date"])
        if same and cabin == reservation["cabin"]:
            return {**wanted, **{key: flight[key] for key in ("price", "origin", "destination")}}
    return None


def _check_payments(user: Mapping[str, Any], payments: list[dict[str, Any]], total: int) -> None:
    methods = user["payment_methods"]
    for payment in payments:
        name = payment["payment_id"]
        if name not in methods:
            raise refused("payment", f"payment method {name} not found")
        if methods[name]["source"] != "credit_card" and methods[name]["amount"] < payment["amount"]:
            raise refused("payment", f"not enough balance in payment method {name}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != total:
        raise refused("payment", f"payment amount does not add up, total price is {total}, but paid {paid}")


def _check_payment(user: Mapping[str, Any], name: str, price: int) -> None:
    if name not in user["payment_methods"]:
        raise refused("payment", "payment method not found")
    method = user["payment_methods"][name]
    if method["source"] == "certificate":
        raise refused("payment", "certificate cannot be used to update reservation")
    if method["source"] == "gift_card" and method["amount"] < price:
        raise refused("payment", "gift card balance is not enough")


def _use_up(user: dict[str, Any], name: str, amount: int) -> None:
    method = user["payment_methods"][name]
    if method["source"] == "gift_card":
        method["amount"] -= amount
    elif method["source"] == "certificate":
        del user["payment_methods"][name]


def _paid(reservation: dict[str, Any], user: dict[str, Any], payment_id: str, price: int) -> Events:
    _use_up(user, payment_id, price)
    if price:
        reservation["payment_history"].append({"payment_id": payment_id, "amount": price})
    yield Commit(resource=f"users/{reservation['user_id']}", value=user)
    yield from _changed(reservation)


def _changed(reservation: dict[str, Any]) -> Events:
    yield Commit(resource=f"reservations/{reservation['reservation_id']}", value=reservation)
    yield Result(value=reservation)


# ---- arithmetic


@pure("calculate")
def calculate(arguments: Arguments) -> str:
    expression = arguments["expression"]
    if any(character not in "0123456789+-*/(). " for character in expression):
        raise refused("expression", "invalid characters in expression")
    try:
        return str(round(float(_value(ast.parse(expression, "<string>", mode="eval").body)), 2))
    except (SyntaxError, ArithmeticError, ValueError, RecursionError) as error:
        raise refused("expression", str(error)) from error


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand))
    raise ValueError("only numbers, + - * / and parentheses are understood")
