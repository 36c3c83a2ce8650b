"""Ways to change a plain value somewhere in it."""

from collections.abc import Iterator
from typing import Any

from tests.pipeline.requests import CODEC

__all__ = ["containers", "touch"]

PLAIN = CODEC.plain_types


def containers(value: Any) -> Iterator[Any]:
    """Every list, dict and model in a value, itself included."""
    if isinstance(value, (list, dict)) or type(value) in PLAIN:
        yield value
    if isinstance(value, dict):
        items = list(value.values())
    elif isinstance(value, list):
        items = value
    else:
        items = [*vars(value).values(), value.__pydantic_extra__] if type(value) in PLAIN else []
    for item in items:
        yield from containers(item)


def touch(container: Any, how: int) -> bool:
    """Change a container in one of the ways there are. False where it has no room for that."""
    members = container if isinstance(container, (list, dict)) else vars(container)
    keys = list(range(len(members))) if isinstance(members, list) else list(members)
    match how:
        case 0 if isinstance(members, list):
            members.append(None)
        case 0 if isinstance(container, dict):
            container["one more"] = None
        case 0:
            container.note = "an extra field"
        case 1 if keys:
            del members[keys[-1]]
        case 2 if keys:
            members[keys[0]] = object()
        case 3 if keys and isinstance(members, dict):
            members["renamed"] = members.pop(keys[-1])
        case 4 if len(keys) > 1 and isinstance(members, dict):
            members[keys[0]] = members.pop(keys[0])  # another order
        case 5 if isinstance(members, list) and len({id(item) for item in members}) > 1:
            members.append(members.pop(next(at for at in keys if members[at] is not members[-1])))
        case _:
            return False
    return True
