"""Where the shared measurement data stands. A user's clone has none: such tests skip there, and fail in CI."""

import os
from pathlib import Path

import pytest

__all__ = ["shared"]


def shared(*parts: str) -> Path:
    """The path of shared data, such as `shared("wire", "cases")`.

    It stands in a folder `shared` beside the checkout, or where OPENPROGRAM_SHARED says.
    Skips the test where it is absent; fails it where CI is set.
    """
    root = Path(os.environ.get("OPENPROGRAM_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    path = root.joinpath(*parts)
    if not path.exists():
        message = f"shared data {'/'.join(parts)} is not there (a folder `shared` beside the checkout)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message, allow_module_level=True)
    return path
