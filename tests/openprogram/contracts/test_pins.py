"""Pins: a revision means one text."""

import json
from pathlib import Path

import pytest

from openprogram.contracts import Contract, ContractChanged, ContractError
from openprogram.contracts.pins import check_pins, pinned, read_pins

FIRST = Contract(name="cancel", effect="write", description="one")
CHANGED = Contract(name="cancel", effect="write", description="two")
SECOND = Contract(name="cancel", effect="write", description="two", revision="2")


def write(path: Path, pins: object) -> Path:
    path.write_text(json.dumps(pins))
    return path


def test_a_changed_text_under_the_same_revision_is_refused_and_a_new_revision_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "pins.json", pinned({}, [FIRST]))
    check_pins(path, [FIRST])
    check_pins(path, [SECOND])
    with pytest.raises(ContractChanged) as refused:
        check_pins(path, [CHANGED])
    assert (refused.value.tool, refused.value.revision) == ("cancel", "1")
    assert (refused.value.pinned, refused.value.found) == (FIRST.digest, CHANGED.digest)
    assert str(refused.value).startswith(f"{path}: contract of 'cancel': revision 1 is pinned as ")
    assert "new revision" in str(refused.value)


def test_pins_of_old_revisions_stay() -> None:
    assert pinned(pinned({}, [FIRST]), [SECOND]) == {"cancel": {"1": FIRST.digest, "2": SECOND.digest}}


def test_without_a_file_nothing_is_pinned(tmp_path: Path) -> None:
    assert read_pins(tmp_path / "pins.json") == {}


@pytest.mark.parametrize("content", ["{", "[]", '{"cancel": "sha256:1"}', '{"cancel": {"1": 2}}'])
def test_a_damaged_file_is_refused_and_not_taken_as_empty(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pins.json"
    path.write_text(content)
    with pytest.raises(ContractError) as refused:
        check_pins(path, [FIRST])
    assert refused.value.path == path
