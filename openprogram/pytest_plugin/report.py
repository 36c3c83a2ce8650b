"""What a failed test says about its recording: both sides, the cause, and how to record it again."""

import os
import shlex

import pytest

from openprogram.pipeline.errors import PipelineError
from openprogram.pytest_plugin.replay_item import ReplayItem

__all__ = ["command_for", "describe_error", "describe_replay"]


def describe_replay(replay: ReplayItem, command: str) -> str:
    """What came of each call, the first failure in full."""
    return f"{replay.verdict.describe()}\nrecording: {replay.path}\nto record this test again: {command}"


def describe_error(error: PipelineError, command: str) -> str:
    """Why the recording can't be used."""
    return "\n".join([str(error), *getattr(error, "__notes__", []), f"to record this test: {command}"])


def command_for(item: pytest.Item) -> str:
    """The command that records this test anew, for the folder in which pytest was started."""
    _, separator, rest = item.nodeid.partition("::")
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    return f"pytest {shlex.quote(path + separator + rest)} --recording-mode=rewrite"
