"""Exceptions out of task groups, as themselves."""

__all__ = ["single_failure"]

from openprogram.pipeline.errors import PipelineError


def single_failure(failure: BaseException) -> BaseException:
    """The exception behind `failure`: itself, or where it is a group, one that the group holds.

    A failed recording or replay comes first: nothing that fails beside it may hide it. Otherwise the first one;
    the others stay readable as notes on it.
    """
    if not isinstance(failure, BaseExceptionGroup):
        return failure
    failures = _leaves(failure)
    chosen = next((leaf for leaf in failures if isinstance(leaf, PipelineError)), failures[0])
    for other in failures:
        if other is not chosen:
            chosen.add_note(f"failed at the same time: {type(other).__name__}: {other}")
    return chosen


def _leaves(failure: BaseException) -> list[BaseException]:
    if isinstance(failure, BaseExceptionGroup):
        return [leaf for child in failure.exceptions for leaf in _leaves(child)]
    return [failure]
