"""The scenarios below a folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openprogram.pipeline.errors import PipelineError
from openprogram.scenarios.folder import SCENARIO_FILE, ScenarioFolder, load_scenario

__all__ = ["FoundScenario", "find_scenarios"]


@dataclass(frozen=True, slots=True)
class FoundScenario:
    """`folder`: None where it can't be used; then `problem` says why."""

    path: Path
    folder: ScenarioFolder | None
    problem: str | None = None


def find_scenarios(root: Path) -> Iterator[FoundScenario]:
    """Every folder at or below `root` with a scenario.toml, in the order of their paths."""
    for file in sorted(root.rglob(SCENARIO_FILE)):
        try:
            yield FoundScenario(file.parent, load_scenario(file.parent))
        except (PipelineError, ImportError) as error:
            yield FoundScenario(file.parent, None, str(error))
