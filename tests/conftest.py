"""What every test shares."""

import pytest
from hypothesis import HealthCheck, settings

__all__ = ["anyio_backend"]

# Slow generation says more about a busy machine, or a first run without hypothesis's cache, than about a test.
# `settings()` as parent keeps the profile that hypothesis chooses in CI.
settings.register_profile("patient", settings(), suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("patient")


@pytest.fixture
def anyio_backend() -> str:
    """asyncio is the runtime: tests marked `anyio` run there."""
    return "asyncio"
