"""A scenario's folder, replayed and judged: what the command does, for programs and tests."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from openprogram.evaluation.actions import Action, actions_of
from openprogram.evaluation.claims import ledger_of
from openprogram.evaluation.evidence import Evidence
from openprogram.evaluation.expectations import (
    Expectation,
    approval_expectations,
    budget_expectations,
    declared_expectations,
    fault_expectations,
    python_expectations,
)
from openprogram.evaluation.verdict import RunVerdict, judge
from openprogram.pipeline.errors import PipelineError, ReplayMismatch
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.scenarios.errors import ScenarioError, stop_code
from openprogram.scenarios.folder import SCENARIO_FILE, ScenarioFolder
from openprogram.scenarios.model_calls import ReplayOnlyProvider
from openprogram.scenarios.recorded import in_recorded_order, where_it_is_set
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.scenarios.scenario import Scenario
from openprogram.scenarios.scopes import SCENARIO
from openprogram.scenarios.script import read_script

__all__ = ["Replayed", "Stop", "replay_scenario"]


@dataclass(frozen=True)
class Replayed:
    """One run. `journal`: its bytes, also of a run that stopped. `stopped`: what it had no answer to, or None.

    `result`, `verdict`: None where it stopped; `checkpoint`: where that was. `actions`: the agent's tool calls, with
    what came of each. A run that its budget of model calls ended has a result and a verdict: see `Stop`.
    """

    journal: bytes
    result: RunResult | None
    verdict: RunVerdict | None
    stopped: PipelineError | None
    checkpoint: dict[str, Any] | None = None
    actions: Sequence[Action] = ()

    @property
    def stop(self) -> "Stop | None":
        """Why the run did not come to its own end; None where it did, or where the model's answer failed."""
        if self.stopped is not None:
            return Stop(stop_code(self.stopped), str(self.stopped))
        if self.result is not None and self.result.reason == "call_limit":
            made = self.result.model_calls
            return Stop(
                "budget.model_calls", f"the budget of model calls was used up after {made}; the agent was not done"
            )
        return None


@dataclass(frozen=True, slots=True)
class Stop:
    """`code`: one word of two parts, such as `fixture.missing`. `message`: in a sentence or more."""

    code: str
    message: str


async def replay_scenario(folder: ScenarioFolder) -> Replayed:
    """Run the scenario with the provider that it names, and judge it by what it expects.

    A run that stops is not an error here but a result: see `stopped`.
    Raises ScenarioError: the folder names no provider. RecordingFileError: its recording can't be read.
    """
    written: list[bytes] = []
    with ExitStack() as stack:
        provider = _provider(folder, stack)
        run = ReplayRun(_scenario(folder, provider), folder.fixtures, provider, write=written.append)
        try:
            result = await run.run()
        except PipelineError as stopped:
            if isinstance(stopped, ReplayMismatch) and (place := where_it_is_set(stopped)) is not None:
                stopped.add_note(place)
            actions = actions_of(map(json.loads, written), folder.scenario.contracts)
            return Replayed(b"".join(written), None, None, stopped, run.checkpoint, actions)
        journal = b"".join(written)
        evidence = Evidence.of(folder.scenario, result, journal)
        verdict = judge(evidence, _expectations(folder, provider), SCENARIO, ledger_of(evidence.trace, folder.fixtures))
        actions = actions_of(map(json.loads, written), folder.scenario.contracts)
        return Replayed(journal, result, verdict, None, None, actions)


def _provider(folder: ScenarioFolder, stack: ExitStack) -> ReplayOnlyProvider:
    named = folder.settings.provider
    if named is None:
        raise ScenarioError(path=folder.path / SCENARIO_FILE, field="provider", reason="name a recording or a script")
    if named.recording is not None:
        return stack.enter_context(ReplayProvider(folder.path / named.recording))
    assert named.script is not None
    return read_script(folder.path / named.script)


def _scenario(folder: ScenarioFolder, provider: ReplayOnlyProvider) -> Scenario:
    """With its tools in the order that `tools` gives; without it, that of the recording, or of their names."""
    if folder.settings.tools or not isinstance(provider, ReplayProvider):
        return folder.scenario
    contracts = in_recorded_order(folder.scenario.contracts, provider.first_tools())
    return replace(folder.scenario, contracts=contracts)


def _expectations(folder: ScenarioFolder, provider: ReplayOnlyProvider) -> list[Expectation]:
    """What the scenario declares; then that all of what it describes took part in the run."""
    return [
        *declared_expectations(folder.settings.expect),
        *python_expectations(folder.expectations),
        *budget_expectations(folder.scenario.budgets),
        _used_up(provider),
        *fault_expectations(folder.scenario.injections),
        *approval_expectations(folder.scenario),
    ]


def _used_up(provider: ReplayOnlyProvider) -> Expectation:
    """That the model's answers were asked for to the last: a run that leaves some over is not the one described.

    Of a recording also that no mismatch was swallowed.
    """
    if isinstance(provider, ReplayProvider):
        return Expectation("the recording is used up", "trace", lambda evidence: _not_consumed(provider))
    return Expectation("the script is used up", "trace", lambda evidence: _left_over(provider))


def _not_consumed(provider: ReplayProvider) -> str | None:
    try:
        provider.assert_consumed()
    except PipelineError as error:
        return str(error)
    return None


def _left_over(provider: ScriptedProvider) -> str | None:
    asked, given = len(provider.requests), provider.answer_count
    return None if asked >= given else f"it has {given} answers, and {asked} were asked for"
