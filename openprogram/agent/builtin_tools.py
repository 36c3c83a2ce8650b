"""Tools that are safe to offer to any model: they change nothing and see one folder."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from openprogram.agent import arithmetic
from openprogram.agent.read_only_folder import ReadOnlyFolder
from openprogram.agent.tools import FunctionTool, tool

__all__ = ["builtin_tools"]


def builtin_tools(root: Path, now_ms: Callable[[], int]) -> list[FunctionTool]:
    """`calculate`, `current_time`, `read_text_file` and `list_files`.

    `root`: the folder that the file tools see. `now_ms`: Unix milliseconds.
    """
    folder = ReadOnlyFolder(root)

    # these docstrings are what the model reads, so they speak to it

    def calculate(expression: str) -> int | float:
        """Evaluate arithmetic such as `(3 + 4) * 2 ** 8 / 5`: numbers, parentheses and + - * / // % **."""
        return arithmetic.calculate(expression)

    def current_time() -> str:
        """The current date and time in UTC."""
        return datetime.fromtimestamp(now_ms() / 1000, tz=UTC).isoformat(timespec="seconds")

    def read_text_file(path: str) -> str:
        """Read a text file. The path is relative to the folder that the file tools see."""
        return folder.read_text_file(path)

    def list_files(path: str = ".") -> str:
        """List a folder, one name a line; folders end with a slash. The path is relative, `.` is the top."""
        return folder.list_files(path)

    return [tool(calculate), tool(current_time), tool(read_text_file), tool(list_files)]
