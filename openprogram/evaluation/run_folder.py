"""A run on disk: made anew, complete, and never written over.

journal.jsonl     what happened; the same bytes for every run of the scenario
world.jsonl       its world events alone
verdict.json      what was expected and what came of it; or the stop
checkpoint.json   where it stopped
run.json          what differs from run to run: when, how long, on what
"""

import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from openprogram.evaluation.replaying import Replayed
from openprogram.scenarios.journal import encoded

__all__ = ["report", "write_run"]


def report(replayed: Replayed) -> dict[str, Any]:
    """The run in JSON output; the fields are stable.

    `stopped`: None where the run came to its own end. One that was stopped at its budget of model calls is judged as
    well, and has all other fields too.
    """
    stop = replayed.stop
    stopped = None if stop is None else {"code": stop.code, "message": stop.message}
    actions = [action.as_json() for action in replayed.actions]
    if replayed.verdict is not None and replayed.result is not None:
        return {
            "stopped": stopped,
            "reason": replayed.result.reason,
            "model_calls": replayed.result.model_calls,
            "tool_calls": replayed.result.tool_calls,
            "journal_digest": replayed.result.journal_digest,
            **replayed.verdict.as_json(),
            "actions": actions,
        }
    return {"stopped": stopped, "passed": False, "actions": actions}


def write_run(path: Path, replayed: Replayed, *, started: datetime, seconds: float) -> None:
    """Write the run into a new folder `path`: all of it, or nothing.

    Raises FileExistsError: there is one, and runs are immutable. OSError: it can't be written.
    """
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        _write_files(unfinished, replayed, started=started, seconds=seconds)
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _write_files(path: Path, replayed: Replayed, *, started: datetime, seconds: float) -> None:
    (path / "journal.jsonl").write_bytes(replayed.journal)
    (path / "world.jsonl").write_bytes(_world_events(replayed.journal))
    _write_json(path / "verdict.json", report(replayed))
    if replayed.checkpoint is not None:
        _write_json(path / "checkpoint.json", replayed.checkpoint)
    diagnostics = {
        "started_at": started.isoformat(),
        "seconds": seconds,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
    _write_json(path / "run.json", diagnostics)


def _world_events(journal: bytes) -> bytes:
    lines = (json.loads(line) for line in journal.splitlines())
    return b"".join(encoded(line["event"]) for line in lines if line["type"] == "world")


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
