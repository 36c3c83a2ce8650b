"""`openprogram recordings diff`."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openprogram.cli.recordings.not_compared import not_compared, not_compared_line
from openprogram.cli.render import count, note, print_json_with, print_line
from openprogram.cli.state import current_home

if TYPE_CHECKING:
    from pathlib import Path

    from openprogram.pipeline.log.reader import Recording
    from openprogram.recordings.comparing import CallDifference, Comparison, Where
    from openprogram.recordings.sides import Answer, AskedTool, Tokens

__all__ = ["diff"]

_RESULTS = {
    "equal": "equal",
    "changed": "changed",
    "follows": "differing by what came before alone",
    "recorded_only": "recorded alone",
    "incoming_only": "incoming alone",
}


def diff(
    recorded: Annotated[str, typer.Argument(metavar="ID-or-PATH", help="The first recording.")],
    incoming: Annotated[str, typer.Argument(metavar="ID-or-PATH", help="The one it is compared with.")],
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Compare two recordings call by call. Exit code 1 where they differ.

    Requests are compared as a replay compares them, answers by the message that their events add up to. Of each call
    the first difference is shown, and where it entered; then tools, text, tokens and costs.
    """
    from openprogram.recordings.comparing import Comparison
    from openprogram.recordings.names import find_recording
    from openprogram.recordings.repairing import read_or_advise

    home = current_home()
    paths = find_recording(home, recorded), find_recording(home, incoming)
    with read_or_advise(paths[0]) as first, read_or_advise(paths[1]) as second:
        comparison = Comparison(first, second)
        counts = dict.fromkeys(_RESULTS, 0)
        if as_json:
            head = {"recorded": _side_fields(first), "incoming": _side_fields(second), "not_compared": not_compared()}
            calls = (_call_fields(call) for call in _counted(comparison, counts))
            print_json_with(head, "calls", calls, lambda: _total_fields(comparison, counts))
        else:
            _print_head(paths, (first, second), comparison)
            for call in _counted(comparison, counts):
                _print_call(call)
            _print_totals(comparison, counts)
    if not _are_equal(comparison, counts):
        raise typer.Exit(1)


def _counted(comparison: "Comparison", counts: dict[str, int]) -> "Iterator[CallDifference]":
    for call in comparison.calls():
        counts[call.result] += 1
        yield call


def _are_equal(comparison: "Comparison", counts: dict[str, int]) -> bool:
    return comparison.same_policy and sum(counts.values()) == counts["equal"]


# ---- for people


def _print_head(paths: "tuple[Path, Path]", sides: "tuple[Recording, Recording]", comparison: "Comparison") -> None:
    for name, path, side in zip(("recorded", "incoming"), paths, sides, strict=True):
        print_line(f"{name}  {path}: {count(side.call_count, 'call')}")
    if not comparison.policy.is_exact:
        print_line(f"matching  {comparison.policy}, as the recorded side declares it")
    if not comparison.same_policy:
        print_line(f"the headers declare different matching: recorded {sides[0].policy}; incoming {sides[1].policy}")


def _print_call(call: "CallDifference") -> None:
    if call.result == "equal":
        return
    if call.result != "follows":
        print_line()
    if call.recorded is None or call.incoming is None:
        _print_alone(call)
        return
    name = f"call {call.recorded}" + (f", incoming call {call.incoming}" if call.incoming != call.recorded else "")
    if call.result == "follows":
        print_line(f"{name}: differs by what came before alone")
        return
    print_line(f"{name}:")
    if call.request is not None:
        _print_where("request", call.request)
    if call.answer is not None:
        _print_where("answer", call.answer)
        _print_answers(*call.answers)


def _print_alone(call: "CallDifference") -> None:
    side, index = ("recorded", call.recorded) if call.incoming is None else ("incoming", call.incoming)
    other = "incoming" if side == "recorded" else "recorded"
    moved = "" if call.moved_to is None else f"; {other} call {call.moved_to} asks the same, in another place"
    print_line(f"{side} call {index}: the other side has no such call{moved}")
    if call.moved_to is None:
        _print_answers(*call.answers)


def _print_where(what: str, where: "Where") -> None:
    from openprogram.pipeline.json_value import show_difference

    difference = where.difference
    recorded, incoming = show_difference(difference.recorded, difference.incoming)
    print_line(f"  {what}, field {difference.field_path or '(all of it)'}:")
    print_line(f"    recorded {recorded}")
    print_line(f"    incoming {incoming}")
    if where.cause is not None:
        print_line(f"    cause: {where.cause}")
    if what == "request" and isinstance(difference.recorded, str) and isinstance(difference.incoming, str):
        _print_text_diff(difference.recorded, difference.incoming)


def _print_answers(recorded: "Answer | None", incoming: "Answer | None") -> None:
    for side, tool in _tool_changes(recorded, incoming):
        print_line(f"  {'-' if side == 'recorded' else '+'} {tool.name} {json.dumps(tool.arguments)}")
    texts = tuple("" if answer is None else answer.text for answer in (recorded, incoming))
    _print_text_diff(*texts, short=recorded is None or incoming is None)


#: Characters of a text that is whole in what `show_difference` shows.
_SHOWN_WHOLE = 160


def _print_text_diff(recorded: str, incoming: str, *, short: bool = False) -> None:
    """As a diff, where that tells more than the two values do."""
    from openprogram.recordings.text_diff import text_diff

    if not short and max(len(recorded), len(incoming)) <= _SHOWN_WHOLE and "\n" not in recorded + incoming:
        return
    for line in text_diff(recorded, incoming):
        print_line(f"    {line}")


def _tool_changes(recorded: "Answer | None", incoming: "Answer | None") -> "list[tuple[str, AskedTool]]":
    """Tool calls of one side alone, with the side; of two with the same name and arguments, the ids don't count."""
    tools = [[] if answer is None else answer.tools for answer in (recorded, incoming)]
    left, right = ([f"{tool.name} {json.dumps(tool.arguments)}" for tool in side] for side in tools)
    changes: list[tuple[str, AskedTool]] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            changes += [("recorded", tool) for tool in tools[0][start:end]]
            changes += [("incoming", tool) for tool in tools[1][other_start:other_end]]
    return changes


def _print_totals(comparison: "Comparison", counts: dict[str, int]) -> None:
    print_line()
    words = ", ".join(
        f"{number} {_RESULTS[result]}" for result, number in counts.items() if number or result == "equal"
    )
    print_line(f"calls   {words}")
    recorded, incoming = comparison.tokens
    print_line(f"tokens  recorded -> incoming: {_token_words(recorded, incoming)}")
    costs = f"${recorded.cost:.6f} -> ${incoming.cost:.6f}"
    print_line(f"cost    {costs} ({_signed(incoming.cost - recorded.cost)})")
    if not _are_equal(comparison, counts):
        note(not_compared_line())


def _token_words(recorded: "Tokens", incoming: "Tokens") -> str:
    return ", ".join(
        f"{name} {getattr(recorded, name)} -> {getattr(incoming, name)}"
        for name in ("input", "output", "cache_read", "cache_write", "total")
    )


def _signed(cost: float) -> str:
    return f"{'-' if cost < 0 else '+'}${abs(cost):.6f}"


# ---- for machines


def _side_fields(side: "Recording") -> dict[str, Any]:
    return {
        "path": str(side.path),
        "call_count": side.call_count,
        "match": side.policy.match,
        "volatile": list(side.policy.volatile),
    }


def _call_fields(call: "CallDifference") -> dict[str, Any]:
    return {
        "recorded": call.recorded,
        "incoming": call.incoming,
        "result": call.result,
        "moved_to": call.moved_to,
        "request": None if call.request is None else _where_fields(call.request),
        "answer": None if call.answer is None else _where_fields(call.answer),
        "tools": [
            {"side": side, "name": tool.name, "arguments": tool.arguments}
            for side, tool in _tool_changes(*call.answers)
        ],
        "text": _text_lines(*call.answers),
    }


def _text_lines(recorded: "Answer | None", incoming: "Answer | None") -> list[str]:
    from openprogram.recordings.text_diff import text_diff

    return text_diff("" if recorded is None else recorded.text, "" if incoming is None else incoming.text)


def _where_fields(where: "Where") -> dict[str, Any]:
    """A side that has nothing there has no field here."""
    from openprogram.pipeline.json_value import ABSENT

    difference = where.difference
    sides = {"recorded": difference.recorded, "incoming": difference.incoming}
    return {
        "field_path": difference.field_path,
        **{name: value for name, value in sides.items() if value is not ABSENT},
        "cause": where.cause,
    }


def _total_fields(comparison: "Comparison", counts: dict[str, int]) -> dict[str, Any]:
    from dataclasses import asdict

    recorded, incoming = (asdict(tokens) for tokens in comparison.tokens)
    return {
        "equal": _are_equal(comparison, counts),
        "same_matching": comparison.same_policy,
        "counts": counts,
        "tokens": {
            "recorded": recorded,
            "incoming": incoming,
            "delta": {name: incoming[name] - recorded[name] for name in recorded},
        },
    }
