"""Pure tools really run. What they return is held against what the same key returned before."""

import sys
from typing import Any, Final

from openprogram.fixtures.errors import RunStopped
from openprogram.pipeline.canonical import digest
from openprogram.pipeline.json_value import to_json_value
from openprogram.scenarios.operations import PureTool

__all__ = ["ANY_ENVIRONMENT", "PureOutputChanged", "PureOutputs", "environment_here"]

#: The environment of a function that depends on none.
ANY_ENVIRONMENT: Final = "any"


class PureOutputChanged(RunStopped):
    """pure.changed: a pure tool returned something else for the same key, or runs where it was not written for.

    `tool`: its name. `reason`: which of the two, with both sides.
    """

    code = "pure.changed"

    def __init__(self, *, tool: str, reason: str, call: int | None = None) -> None:
        super().__init__(f"{tool} is declared pure, but {reason}", call=call, tool=tool, reason=reason)
        self.tool, self.reason = tool, reason
        self.add_note("Raise its implementation revision and review its fixtures, or make it a simulated operation.")


def environment_here() -> str:
    """What this interpreter is called in `@pure(environment=…)`: `python-3.11`, say."""
    return f"python-{sys.version_info.major}.{sys.version_info.minor}"


class PureOutputs:
    """Runs the pure tools of one run. The key: tool, revision, implementation, environment, arguments."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def run(self, tool: PureTool, arguments: dict[str, Any], expected: str | None, call: int) -> Any:
        """The output as JSON. `expected`: its digest, where a fixture has this very call; None: nobody knows.

        Raises PureOutputChanged. What the function raises goes through.
        """
        if tool.environment not in (ANY_ENVIRONMENT, environment_here()):
            reason = f"it was written for {tool.environment}, and this is {environment_here()}"
            raise PureOutputChanged(tool=tool.tool, reason=reason, call=call)
        value = to_json_value(tool.function(arguments))
        key = digest([tool.tool, tool.revision, tool.implementation, tool.environment, arguments])
        found, before = digest(value), expected or self._seen.get(key)
        if before not in (None, found):
            reason = f"implementation {tool.implementation} returned {found} where {before} was due"
            raise PureOutputChanged(tool=tool.tool, reason=reason, call=call)
        self._seen[key] = found
        return value
