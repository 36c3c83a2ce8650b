"""The lifecycle as an object: started once, failed for good, never half."""

import threading
from pathlib import Path

import pytest

from openprogram.providers.api_registry import ApiProvider, list_apis, publish_transform, unregister_api_provider
from openprogram.providers.runtime import NEXT_STATE, Inactive, ProviderRuntime, RuntimeFailed, RuntimeState
from openprogram.providers.scripted import ScriptedProvider

API = "runtime-test"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"OPENPROGRAM_HOME": str(tmp_path)}


@pytest.mark.parametrize("state", RuntimeState)
@pytest.mark.parametrize("following", RuntimeState)
def test_the_lifecycle_goes_one_way(state: RuntimeState, following: RuntimeState) -> None:
    allowed = {("new", "initializing"), ("initializing", "ready"), ("initializing", "failed")}
    assert (following in NEXT_STATE[state]) == ((state.value, following.value) in allowed)


def test_a_runtime_is_new_until_it_is_asked_for(environ: dict[str, str]) -> None:
    runtime = ProviderRuntime(environ, lambda: pytest.fail("nobody asked"))
    assert (runtime.state, runtime.activation) == (RuntimeState.NEW, Inactive())


def test_every_caller_of_a_failed_runtime_gets_a_new_exception_that_says_the_same(environ: dict[str, str]) -> None:
    asked = []

    def broken() -> dict[str, ApiProvider]:
        asked.append(1)
        raise ImportError("no module named 'vendor' (api_key=sk-ant-api03-4fQ9xZrT7mN2vB8kL5wJ1cY6hD3gS0pA)")

    runtime = ProviderRuntime(environ, broken)
    before = list_apis()
    failures: list[RuntimeFailed] = []
    for _ in range(3):
        with pytest.raises(RuntimeFailed) as failure:
            runtime.initialize()
        failures.append(failure.value)
    assert len({id(failure) for failure in failures}) == 3
    assert {(failure.stage, failure.cause) for failure in failures} == {
        ("registering the built-in providers", "ImportError")
    }
    assert len({str(failure) for failure in failures}) == 1
    assert "4fQ9xZrT7mN2vB8kL5wJ1cY6hD3gS0pA" not in str(failures[0])
    assert failures[0].__notes__ == failures[1].__notes__
    assert asked == [1]
    assert runtime.state is RuntimeState.FAILED
    assert list_apis() == before


def test_threads_that_wait_for_a_start_that_fails_are_all_told(environ: dict[str, str]) -> None:
    gate = threading.Event()

    def broken() -> dict[str, ApiProvider]:
        gate.wait(10)
        raise OSError("no")

    runtime = ProviderRuntime(environ, broken)
    failures: list[RuntimeFailed] = []

    def ask() -> None:
        try:
            runtime.initialize()
        except RuntimeFailed as failure:
            failures.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(10)
    assert len(failures) == 16
    assert len({id(failure) for failure in failures}) == 16


def test_a_start_that_is_interrupted_ends_the_program_and_leaves_no_runtime_behind(environ: dict[str, str]) -> None:
    def interrupted() -> dict[str, ApiProvider]:
        raise KeyboardInterrupt

    runtime = ProviderRuntime(environ, interrupted)
    with pytest.raises(KeyboardInterrupt):
        runtime.initialize()
    with pytest.raises(RuntimeFailed) as failure:
        runtime.initialize()
    assert failure.value.cause == "KeyboardInterrupt"


def test_a_built_in_that_asks_for_a_provider_while_it_is_registered_fails_the_start(environ: dict[str, str]) -> None:
    runtime: ProviderRuntime

    def asks() -> dict[str, ApiProvider]:
        runtime.initialize()
        return {}

    runtime = ProviderRuntime(environ, asks)
    with pytest.raises(RuntimeFailed, match="by what it starts"):
        runtime.initialize()


def test_built_ins_are_published_once_the_runtime_is_ready(environ: dict[str, str]) -> None:
    provider = ScriptedProvider([])
    runtime = ProviderRuntime(environ, lambda: {API: provider})
    try:
        runtime.initialize()
        runtime.initialize()
        assert (runtime.state, runtime.activation) == (RuntimeState.READY, Inactive())
        assert API in list_apis()
    finally:
        publish_transform(None)
        unregister_api_provider(API)
