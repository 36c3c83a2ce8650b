"""What every test shares."""

import pytest

__all__ = ["anyio_backend"]


@pytest.fixture
def anyio_backend() -> str:
    """asyncio is the runtime: tests marked `anyio` run there."""
    return "asyncio"
