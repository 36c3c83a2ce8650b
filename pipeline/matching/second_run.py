"""Whether a recording holds a run and then its beginning once more: recording into a file that is there appends."""

from collections.abc import Callable, Sequence
from typing import Any

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.matching.content import Form, outline

__all__ = ["find_second_run", "why_unused"]


def find_second_run(request: Callable[[int], dict[str, Any]], form: Form, unused: Sequence[int]) -> int | None:
    """The call with which the unused calls begin, where it asks what call 0 asked, and no call between them does.

    `request(call_index)`: a recorded request, as it is compared, and what that raises. `unused`: the recorded calls
    that a run did not ask for, in order. Nothing in a file says where a run begins: an agent may ask the same again.
    """
    if not unused or unused[0] == 0 or unused[-1] - unused[0] + 1 != len(unused):
        return None

    def asks(call_index: int) -> bytes:
        return outline(request(call_index), form).whole

    first, begin = asks(0), unused[0]
    if asks(begin) != first or any(asks(call_index) == first for call_index in range(1, begin)):
        return None
    return begin


def why_unused(request: Callable[[int], dict[str, Any]], form: Form, unused: Sequence[int]) -> str | None:
    """A sentence on why recorded calls may be left over, or None. As `find_second_run`, but raises nothing."""
    try:
        begin = find_second_run(request, form, unused)
    except RecordingFileError:  # closed, or changed: what is told is that calls are left over
        return None
    if begin is None:
        return None
    return (
        f"perhaps a second run was recorded into the same file, since recording appends: call {begin} asks what call 0 "
        "asked. To have one run in it, record into a new file"
    )
