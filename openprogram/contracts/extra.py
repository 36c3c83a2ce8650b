"""The libraries that only scenarios need."""

from openprogram.errors import OpenProgramError

__all__ = ["MissingScenarioExtra"]


class MissingScenarioExtra(OpenProgramError, ImportError):
    """`needs`: what can't be done without the extra."""

    def __init__(self, needs: str) -> None:
        super().__init__(f"{needs} needs the extra 'scenarios': pip install \"openprogram[scenarios]\"")
        self.needs = needs
