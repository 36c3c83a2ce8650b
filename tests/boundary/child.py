"""Programs in a new interpreter, where nothing of this test run is imported and warnings are errors."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import openprogram

__all__ = ["CHECKOUT", "VENDOR_MODULES", "output_of"]

#: The folder that holds `openprogram` and `tests`.
CHECKOUT = Path(openprogram.__file__).parents[1]

#: What only a call to a vendor may import.
VENDOR_MODULES = (
    "anthropic",
    "openai",
    "pydantic_ai",
    "httpx",
    "httpx2",
    "google.genai",
    "boto3",
    "botocore",
    "mistralai",
)


def output_of(program: str, *arguments: object, home: Path, **environ: str) -> str:
    """What the program prints. Fails where it prints anything to stderr, or doesn't end well.

    `arguments`: its `sys.argv[1:]`. `home`: its OPENPROGRAM_HOME. `environ`: added to the environment.
    """
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
        cwd=CHECKOUT,
        env={**os.environ, "OPENPROGRAM_HOME": str(home), **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (finished.stderr, finished.returncode) == ("", 0)
    return finished.stdout.strip()
