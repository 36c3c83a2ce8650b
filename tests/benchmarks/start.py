"""What a program pays before it does anything: the commands and the import, in processes of their own."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["start_rows"]

_COMMAND: Final = str(Path(sys.executable).with_name("openprogram"))
_STARTS: Final = {
    "openprogram --help": [_COMMAND, "--help"],
    "openprogram recordings status": [_COMMAND, "recordings", "status"],
    "import openprogram.providers": [sys.executable, "-c", "import openprogram.providers"],
}


def start_rows() -> list[tuple[str, str, str]]:
    """Name, measured, goal. CPU milliseconds, beside those of an interpreter that does nothing."""
    with tempfile.TemporaryDirectory() as home:
        bare = _milliseconds([sys.executable, "-c", "pass"], home)
        return [
            (f"start: {name}", f"{_milliseconds(command, home):.0f} ms CPU (python alone: {bare:.0f})", "")
            for name, command in _STARTS.items()
        ]


def _milliseconds(command: list[str], home: str) -> float:
    environment = {**os.environ, "OPENPROGRAM_HOME": home}
    times = []
    for _ in range(7):
        before = os.times()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(times) * 1000
