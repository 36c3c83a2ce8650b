import pickle
from pathlib import Path

import pytest

from openprogram.errors import ConfigError, OpenProgramError, RecordingNotFound, RecordingRefused, UsageError

ERRORS = [
    OpenProgramError("broken", next_step="Mend it."),
    ConfigError(path=Path("/c.json"), reason="not JSON", line_number=3, field="a.b", next_step="Mend it."),
    RecordingRefused(path=Path("/r.jsonl"), reason="in use", next_step="Mend it."),
    RecordingNotFound("nothing there", next_step="Mend it."),
    UsageError("wrong", next_step="Mend it."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_the_next_step_is_an_attribute_and_a_note(error: OpenProgramError) -> None:
    assert error.next_step == "Mend it."
    assert error.__notes__ == ["Mend it."]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_with_its_data(error: OpenProgramError) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_config_error_names_file_line_and_field() -> None:
    error = ConfigError(path=Path("/c.json"), reason="not JSON", line_number=3, field="a.b")

    assert str(error) == "/c.json, line 3, field a.b: not JSON"
    assert not hasattr(error, "__notes__")
