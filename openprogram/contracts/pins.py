"""Pinned digests: a contract can't change under the name of a revision that fixtures were reviewed against."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from openprogram.contracts.contract import Contract
from openprogram.contracts.errors import ContractChanged, ContractError
from openprogram.contracts.json_file import NotReadable, parse_json, read_text

__all__ = ["check_pins", "pinned", "read_pins"]


def check_pins(path: Path, contracts: Iterable[Contract]) -> None:
    """Hold `contracts` against the pins in `path`; without that file, nothing is pinned.

    Raises ContractChanged: a contract has the revision of a pin and another text. ContractError: the file can't be
    used.
    """
    pins = read_pins(path)
    for contract in contracts:
        pin = pins.get(contract.name, {}).get(contract.revision)
        if pin is not None and pin != contract.digest:
            raise ContractChanged(
                tool=contract.name, revision=contract.revision, pinned=pin, found=contract.digest, path=path
            )


def read_pins(path: Path) -> dict[str, dict[str, str]]:
    """Tool → revision → digest; {} where there is no file. Raises ContractError: it can't be used."""
    if not path.exists():
        return {}
    try:
        pins = parse_json(read_text(path))
    except NotReadable as error:
        raise ContractError(tool="", reason=f"the pins can't be read: {error}", path=path) from error
    if not _are_pins(pins):
        raise ContractError(tool="", reason="pins are an object of tools, each with digests by revision", path=path)
    return pins  # type: ignore[no-any-return]  # checked just now


def pinned(pins: Mapping[str, Mapping[str, str]], contracts: Iterable[Contract]) -> dict[str, dict[str, str]]:
    """`pins` with those of `contracts` added; old revisions stay, for fixtures name them."""
    added = {tool: dict(revisions) for tool, revisions in pins.items()}
    for contract in contracts:
        added.setdefault(contract.name, {})[contract.revision] = contract.digest
    return {tool: dict(sorted(revisions.items())) for tool, revisions in sorted(added.items())}


def _are_pins(pins: Any) -> bool:
    return isinstance(pins, dict) and all(
        isinstance(revisions, dict) and all(isinstance(pin, str) for pin in revisions.values())
        for revisions in pins.values()
    )
