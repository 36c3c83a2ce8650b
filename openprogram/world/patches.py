"""JSON Patch (RFC 6902): the changes of one resource.

Applying is the jsonpatch library's. Finding the difference is ours, since it must be the same in every process: keys
are taken in sorted order, and lists by position.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openprogram.contracts.extra import MissingScenarioExtra
from openprogram.pipeline.json_value import ABSENT, Absent
from openprogram.world.errors import WorldError
from openprogram.world.values import freeze, thaw

__all__ = ["ABSENT", "Change", "Patch", "apply_patch", "patch_between"]

#: Operations of RFC 6902, each a JSON object.
Patch = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a resource: a patch is applied, or it gets a whole new value; ABSENT removes it."""

    patch: Patch | None = None
    value: Any | Absent = ABSENT

    def patch_for(self, before: Any | Absent) -> Patch:
        """The change as a patch of `before`; [] where nothing changes."""
        return patch_between(before, self.value) if self.patch is None else self.patch

    def as_json(self) -> dict[str, Any]:
        """The change in files."""
        if self.patch is not None:
            return {"patch": self.patch}
        return {} if self.value is ABSENT else {"value": self.value}

    @classmethod
    def from_json(cls, change: Mapping[str, Any]) -> "Change":
        """The inverse of `as_json`."""
        return cls(change.get("patch"), change.get("value", ABSENT))


_REMOVE_ALL: Final[Patch] = [{"op": "remove", "path": ""}]


def patch_between(before: Any | Absent, after: Any | Absent) -> Patch:
    """The patch that turns `before` into `after`; [] where they are equal as JSON. ABSENT: no resource."""
    if after is ABSENT:
        return [] if before is ABSENT else list(_REMOVE_ALL)
    if before is ABSENT:
        return [{"op": "add", "path": "", "value": thaw(after)}]
    return list(_changes(before, after, ""))


def apply_patch(resource: str, before: Any | Absent, patch: Sequence[dict[str, Any]]) -> Any | Absent:
    """What `before` becomes, frozen; ABSENT where the resource is removed.

    Raises WorldError: the patch doesn't apply, or isn't one.
    """
    try:
        import jsonpatch
    except ImportError as error:
        raise MissingScenarioExtra("a patched resource") from error
    if list(patch) == _REMOVE_ALL:
        if before is ABSENT:
            raise WorldError(resource=resource, reason="it can't be removed, for there is none")
        return ABSENT
    if before is ABSENT:
        first = patch[0] if patch else {}
        if first.get("op") != "add" or first.get("path") != "":
            raise WorldError(resource=resource, reason="there is none yet: its first change adds a value at path ''")
        before, patch = first.get("value"), patch[1:]
    try:
        return freeze(jsonpatch.apply_patch(thaw(before), patch, in_place=True))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError) as error:
        raise WorldError(resource=resource, reason=f"the patch does not apply: {error}") from error


def _changes(before: Any, after: Any, path: str) -> Patch:
    if isinstance(before, dict) and isinstance(after, dict):
        return _dict_changes(before, after, path)
    if isinstance(before, list) and isinstance(after, list):
        return _list_changes(before, after, path)
    if _same_leaf(before, after):
        return []
    return [{"op": "replace", "path": path, "value": thaw(after)}]


def _dict_changes(before: dict[str, Any], after: dict[str, Any], path: str) -> Patch:
    patch: Patch = []
    for key in sorted(before.keys() | after.keys()):
        here = f"{path}/{_escaped(key)}"
        if key not in after:
            patch.append({"op": "remove", "path": here})
        elif key not in before:
            patch.append({"op": "add", "path": here, "value": thaw(after[key])})
        else:
            patch += _changes(before[key], after[key], here)
    return patch


def _list_changes(before: list[Any], after: list[Any], path: str) -> Patch:
    common = min(len(before), len(after))
    patch: Patch = []
    for index in range(common):
        patch += _changes(before[index], after[index], f"{path}/{index}")
    # from the end, so that every index still names the same item
    patch += [{"op": "remove", "path": f"{path}/{index}"} for index in reversed(range(common, len(before)))]
    patch += [
        {"op": "add", "path": f"{path}/{index}", "value": thaw(after[index])} for index in range(common, len(after))
    ]
    return patch


def _same_leaf(before: Any, after: Any) -> bool:
    # 1, 1.0 and true differ, and so do 0.0 and -0.0
    same = type(before) is type(after) and bool(before == after)
    return same and (not isinstance(before, float) or repr(before) == repr(after))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")  # RFC 6901
