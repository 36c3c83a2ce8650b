"""A scenario's folder, replayed and judged: what the command does, for programs and tests."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from openprogram.evaluation.claims import ledger_of
from openprogram.evaluation.evidence import Evidence
from openprogram.evaluation.expectations import (
    Expectation,
    budget_expectations,
    declared_expectations,
    fault_expectations,
    python_expectations,
)
from openprogram.evaluation.verdict import RunVerdict, judge
from openprogram.pipeline.errors import PipelineError
from openprogram.providers.replay import ReplayProvider
from openprogram.scenarios.errors import ScenarioError
from openprogram.scenarios.folder import SCENARIO_FILE, ScenarioFolder
from openprogram.scenarios.model_calls import ReplayOnlyProvider
from openprogram.scenarios.replay_run import ReplayRun, RunResult
from openprogram.scenarios.scopes import SCENARIO
from openprogram.scenarios.script import read_script

__all__ = ["Replayed", "replay_scenario"]


@dataclass(frozen=True)
class Replayed:
    """One run. `journal`: its bytes, also of a run that stopped. `stopped`: what it had no answer to, or None.

    `result`, `verdict`: None where it stopped; `checkpoint`: where that was.
    """

    journal: bytes
    result: RunResult | None
    verdict: RunVerdict | None
    stopped: PipelineError | None
    checkpoint: dict[str, Any] | None = None


async def replay_scenario(folder: ScenarioFolder) -> Replayed:
    """Run the scenario with the provider that it names, and judge it by what it expects.

    A run that stops is not an error here but a result: see `stopped`.
    Raises ScenarioError: the folder names no provider. RecordingFileError: its recording can't be read.
    """
    written: list[bytes] = []
    with ExitStack() as stack:
        provider = _provider(folder, stack)
        run = ReplayRun(folder.scenario, folder.fixtures, provider, write=written.append)
        try:
            result = await run.run()
        except PipelineError as stopped:
            return Replayed(b"".join(written), None, None, stopped, run.checkpoint)
        journal = b"".join(written)
        evidence = Evidence.of(folder.scenario, result, journal)
        expectations = [*_expectations(folder), *_consumed(provider), *fault_expectations(folder.scenario.injections)]
        verdict = judge(evidence, expectations, SCENARIO, ledger_of(evidence.trace, folder.fixtures))
        return Replayed(journal, result, verdict, None)


def _provider(folder: ScenarioFolder, stack: ExitStack) -> ReplayOnlyProvider:
    named = folder.settings.provider
    if named is None:
        raise ScenarioError(path=folder.path / SCENARIO_FILE, field="provider", reason="name a recording or a script")
    if named.recording is not None:
        return stack.enter_context(ReplayProvider(folder.path / named.recording))
    assert named.script is not None
    return read_script(folder.path / named.script)


def _expectations(folder: ScenarioFolder) -> list[Expectation]:
    return [
        *declared_expectations(folder.settings.expect),
        *python_expectations(folder.expectations),
        *budget_expectations(folder.scenario.budgets),
    ]


def _consumed(provider: ReplayOnlyProvider) -> list[Expectation]:
    """That a recording was used to its end, and without a mismatch that somebody swallowed."""
    if not isinstance(provider, ReplayProvider):
        return []

    def check(evidence: Evidence) -> str | None:
        try:
            provider.assert_consumed()
        except PipelineError as error:
            return str(error)
        return None

    return [Expectation("the recording is used up", "trace", check)]
