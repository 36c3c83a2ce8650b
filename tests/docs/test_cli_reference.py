"""docs/cli.md is what the app says of itself."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def test_the_cli_reference_is_generated_from_the_app() -> None:
    command = [sys.executable, "-m", "typer", "openprogram.cli.app", "utils", "docs", "--name", "openprogram"]
    generated = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    assert (CHECKOUT / "docs" / "cli.md").read_text("utf-8").strip() == generated.strip(), "run: make docs"
