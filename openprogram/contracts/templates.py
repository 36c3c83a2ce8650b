"""Templates over a call's arguments: `reservations/{reservation_id}`, `users/{owner.id}`, `flights/*`.

A hole names an argument, or a member of one by dots. It holds a string, an integer or a boolean. A resource is named
`kind/id`; `*` as an id stands for any resource of the kind.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["check_template", "fill", "fits", "resource_named"]

_HOLE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}")
_RESOURCE: Final = re.compile(r"[^/*\s]+/(?:\*|[^/*\s]+)")


def check_template(template: str, *, resource: bool) -> None:
    """Raises ValueError: a brace without its other half, or, for a `resource`, not of the form `kind/id`."""
    rest = _HOLE.sub("x", template)
    if "{" in rest or "}" in rest:
        raise ValueError(f"template {template!r} has a brace that is no hole such as {{order_id}}")
    if resource and not _RESOURCE.fullmatch(rest):
        raise ValueError(f"template {template!r} names no resource: kind/id, with * for any id")


def fill(template: str, arguments: Mapping[str, Any]) -> str | None:
    """The template with `arguments` in its holes; None where one of them isn't there or can't stand in text."""
    filled = []
    position = 0
    for hole in _HOLE.finditer(template):
        value = _member(arguments, hole.group(1).split("."))
        if not isinstance(value, str | int):
            return None
        text = value if isinstance(value, str) else str(value).lower()
        filled += [template[position : hole.start()], text]
        position = hole.end()
    return "".join([*filled, template[position:]])


def resource_named(template: str, arguments: Mapping[str, Any]) -> str | None:
    """The resource, or `kind/*`, that a template names; None where the arguments make no resource's name of it.

    Only the template itself can say `*`: a call with the argument "*" isn't about all resources of the kind.
    """
    filled = fill(template, arguments)
    if filled is None or not _RESOURCE.fullmatch(filled) or ("*" in filled) != ("*" in template):
        return None
    return filled


def fits(resource: str, templates: Iterable[str], arguments: Mapping[str, Any]) -> bool:
    """Whether `resource` is one that the templates name."""
    kind, _, _ = resource.partition("/")
    return any(resource_named(template, arguments) in (resource, f"{kind}/*") for template in templates)


def _member(value: Any, path: list[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value
