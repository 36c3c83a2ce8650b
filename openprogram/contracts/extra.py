"""The libraries that only scenarios need."""

__all__ = ["MissingScenarioExtra"]


class MissingScenarioExtra(ImportError):
    """`needs`: what can't be done without the extra."""

    def __init__(self, needs: str) -> None:
        super().__init__(needs)
        self.needs = needs

    def __str__(self) -> str:
        return f'{self.needs} needs the extra "scenarios": pip install "openprogram[scenarios]"'
