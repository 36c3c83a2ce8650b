"""What holds for every scenario: the same bytes each time, and a journal from which any part of it comes out again."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings

from openprogram.pipeline.errors import PipelineError
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import AssistantMessage, Message
from openprogram.scenarios.history import History
from openprogram.scenarios.partial_runs import ContractReplay, SegmentReplay
from openprogram.scenarios.replay_run import ReplayRun
from openprogram.scenarios.state import stage_for
from openprogram.scenarios.tools import Stage
from tests.openprogram.scenarios.generated import Made, scenarios


class Ran:
    """One whole run. `states`: what it knew whenever a call or a turn began, by line."""

    def __init__(self, made: Made) -> None:
        self._made, self.lines, self.states = made, list[bytes](), dict[int, Any]()
        self._run = ReplayRun(made.scenario, made.fixtures, ScriptedProvider(made.script), write=self._write)
        self.stopped: PipelineError | None = None

    def _write(self, line: bytes) -> None:
        parsed = json.loads(line)
        if parsed["type"] in ("call", "user", "end"):
            begun = parsed["type"] == "call"
            state = known(self._run._stage) | {"calls": self._run._stage.calls - begun}
            # within a turn, what has been said since it began is the agent loop's
            self.states[len(self.lines)] = state | ({} if begun else {"said": said(self._run._messages)})
        self.lines.append(line)

    def run(self) -> "Ran":
        try:
            asyncio.run(self._run.run())
        except PipelineError as stopped:
            self.stopped = stopped
        return self

    @property
    def journal(self) -> bytes:
        return b"".join(self.lines)


def said(messages: Sequence[Message]) -> list[Any]:
    """The conversation; when the model spoke stands in no journal."""
    return [
        message.model_dump(exclude={"timestamp"} if isinstance(message, AssistantMessage) else None)
        for message in messages
    ]


def known(stage: Stage) -> dict[str, Any]:
    """All that a run goes on from, in one comparable value."""
    world = stage.world
    return {
        "resources": {kind: json.dumps(dict(world.kind(kind))) for kind in world.kinds()},
        "revisions": {f"things/{name}": world.revision_of(f"things/{name}") for name in "abc"},
        "world": (world.revision, world.kind_revision("things"), world.clock.now),
        "pending": [scheduled.as_json() for scheduled in world.pending],
        "streams": stage.chance.positions,
        "by_tool": +stage.by_tool,
        "occurrences": +stage.occurrences,
        "kept": dict(stage.ledger._kept),
    }


@given(scenarios())
@settings(max_examples=25)
def test_two_runs_have_the_same_bytes_and_a_stop_is_always_one_with_a_name(made: Made) -> None:
    one, other = Ran(made).run(), Ran(made).run()
    assert one.journal == other.journal
    assert (one.stopped is None) == (json.loads(one.lines[-1])["type"] == "end")


@given(scenarios())
@settings(max_examples=25)
def test_the_state_read_from_a_journal_is_the_state_that_the_run_had(made: Made) -> None:
    ran = Ran(made).run()
    history = History(made.scenario, ran.journal)
    for position, state in ran.states.items():
        begin = history._state(position)
        restored = stage_for(made.scenario, made.fixtures, begin, "main", lambda line: None)
        talk = {"said": said(begin.messages)} if "said" in state else {}
        assert known(restored) | talk | {"calls": restored.calls} == state


@given(scenarios())
@settings(max_examples=25)
def test_every_call_and_every_stretch_of_turns_comes_out_as_in_the_whole_run(made: Made) -> None:
    ran = Ran(made).run()
    history = History(made.scenario, ran.journal)
    observed = [json.loads(line)["call"] for line in ran.lines if json.loads(line)["type"] == "observation"]
    for call in observed:
        result = asyncio.run(ContractReplay(made.scenario, made.fixtures, history).run(call))
        assert (call, result.difference) == (call, None)
    whole = history.turns - (ran.stopped is not None)
    for first in range(whole):
        for last in range(first, whole):
            result = asyncio.run(SegmentReplay(made.scenario, made.fixtures, history).run(first, last))
            assert (first, last, result.difference) == (first, last, None)


_JOURNALS = """
import sys
from hypothesis import given, seed, settings
from tests.openprogram.scenarios.generated import scenarios
from tests.openprogram.scenarios.test_any_scenario import Ran

@seed(7)
@given(scenarios())
@settings(max_examples=20, database=None, deadline=None)
def write(made):
    sys.stdout.buffer.write(Ran(made).run().journal)

write()
"""


def test_the_bytes_are_the_same_whatever_order_a_process_keeps_its_sets_in() -> None:
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        command = [sys.executable, "-c", _JOURNALS]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    (journals,) = outputs
    assert journals.count(b'{"type":"run"') >= 20
