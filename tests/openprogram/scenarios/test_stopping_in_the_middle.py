"""A run that is cancelled, or whose journal can't be written, at any line."""

import asyncio
import json
from collections.abc import Callable

import pytest

from openprogram.fixtures.registry import FixtureRegistry
from openprogram.providers.scripted import ScriptedProvider, tool_call
from openprogram.scenarios.replay_run import ReplayRun
from openprogram.scenarios.settings import InjectSettings
from tests.openprogram.scenarios.stage import Script, scenario

SCRIPT: Script = [[tool_call("pay", {"id": "17"}, "a"), tool_call("pay", {"id": "18"}, "b")], "Paid.", "Bye."]


class Lines(list[bytes]):
    """A journal at whose line `at` something happens instead of, or after, its being written."""

    def __init__(self, at: int = -1, happens: Callable[[], object] = lambda: None) -> None:
        self._at, self.happens = at, happens

    def write(self, line: bytes) -> None:
        if len(self) == self._at:
            self.happens()
        self.append(line)


def run_of(lines: Lines) -> ReplayRun:
    """Two turns, with a fault in the model's second call."""
    shop = scenario(["Pay.", "Thanks."], injections=(InjectSettings(fault="cut", provider=True, call=1, after=1),))
    return ReplayRun(shop, FixtureRegistry(), ScriptedProvider(SCRIPT), write=lines.write)


def whole() -> Lines:
    lines = Lines()
    asyncio.run(run_of(lines).run())
    return lines


@pytest.mark.parametrize("at", range(len(whole()) - 1))
def test_cancelled_at_any_line_it_leaves_no_task_and_writes_nothing_that_did_not_happen(at: int) -> None:
    async def cancelled() -> None:
        run = run_of(lines)
        host = asyncio.ensure_future(run.run())
        lines.happens = host.cancel
        with pytest.raises(asyncio.CancelledError):
            await host
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert run.checkpoint is None

    lines = Lines(at)
    asyncio.run(cancelled())
    assert lines == whole()[: len(lines)]
    assert json.loads(lines[-1])["type"] not in ("end", "stopped")


@pytest.mark.parametrize("at", range(len(whole())))
def test_a_journal_that_cannot_be_written_ends_the_run_with_that_error(at: int) -> None:
    def full() -> None:
        raise OSError("no space left")

    async def failed() -> None:
        with pytest.raises(OSError, match="no space left"):
            await run_of(lines).run()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    lines = Lines(at, full)
    asyncio.run(failed())
    assert len(lines) == at
