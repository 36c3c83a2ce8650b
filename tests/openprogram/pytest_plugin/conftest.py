"""A user's suite for every test here."""

from pathlib import Path

import pytest

from tests.openprogram.pytest_plugin.suite import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """An empty suite with an agent and a live provider."""
    return Suite(tmp_path)
