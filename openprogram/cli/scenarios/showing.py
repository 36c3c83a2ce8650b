"""How a replayed scenario is told to people: a stop first, the verdict, and where it failed, what the agent did."""

from typing import TYPE_CHECKING, Any, Final

from openprogram.cli.render import count, print_error, print_line, show_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openprogram.evaluation.actions import Action
    from openprogram.evaluation.replaying import Replayed
    from openprogram.evaluation.verdict import RunVerdict

__all__ = ["print_replayed", "print_stop"]

#: Tool calls that are shown; of a longer run, the last ones that came to no result.
SHOWN_ACTIONS: Final = 20
_SHOWN_CHARACTERS: Final = 160

#: Ends that are no stop, and yet no answer of the agent to its user.
_NO_ANSWER: Final = {
    "length": "the model's answer was cut off at its length",
    "provider_error": "the model's answer failed",
}


def print_replayed(replayed: "Replayed", tools: "Iterable[str]") -> None:
    """The whole of it. `tools`: of the scenario, to name those that were never called."""
    stop, result = replayed.stop, replayed.result
    if replayed.verdict is None and stop is not None:
        print_line(f"stopped: {stop.code}")  # in full on stderr, below
    elif stop is not None:
        print_line(f"stopped: {stop.code}: {stop.message}")
    elif result is not None and result.reason in _NO_ANSWER:
        why = getattr(result.messages[-1], "error_message", None)
        _print_indented(f"ended: {result.reason}: {_NO_ANSWER[result.reason]}{f': {why}' if why else ''}")
    if replayed.verdict is not None:
        _print_verdict(replayed.verdict)
    if replayed.verdict is None or not replayed.verdict.passed:
        _print_actions(replayed.actions, tools)
    if replayed.stopped is not None:
        print_stop(replayed.stopped)


def print_stop(stopped: Exception) -> None:
    """What the run had no answer to, and what to do about it."""
    print_error(str(stopped), getattr(stopped, "__notes__", ()))


def _print_verdict(verdict: "RunVerdict") -> None:
    print_line(f"scope {verdict.scope.name}: {verdict.scope.reconstructs}")
    for one in verdict.judged:
        _print_indented(f"{one.status:8}{one.about:12}{one.name}{f': {one.why}' if one.why else ''}")
    claims: dict[str, Any] = verdict.claims.as_json()
    said = [f"{len(sentences)} {name}" for name, sentences in claims.items() if sentences]
    print_line(f"claims: {', '.join(said) or 'no tool ran'}")
    for name in ("denied", "unknown", "substituted", "truncated"):
        for sentence in claims[name]:
            print_line(f"  {name}: {sentence}")


def _print_indented(text: str) -> None:
    """Lines of which all but the first are indented: each of them belongs to it."""
    first, *more = text.split("\n")
    print_line(first)
    for line in more:
        print_line(f"  {line}")


def _print_actions(actions: "Sequence[Action]", tools: "Iterable[str]") -> None:
    shown = actions
    if len(actions) > SHOWN_ACTIONS:
        shown = [action for action in actions if not action.ok][-SHOWN_ACTIONS:]
    left_out = "" if len(shown) == len(actions) else f", of which {len(shown)} that came to no result"
    print_line(f"{count(len(actions), 'tool call')}{left_out}")
    for action in shown:
        print_line(f"  {_told(action)}")
    called = {action.tool for action in actions}
    never = [tool for tool in tools if tool not in called]
    if never:
        print_line(f"never called: {', '.join(never)}")


def _told(action: "Action") -> str:
    number = "-" if action.call is None else action.call
    arguments = "" if action.arguments is None else f" {_shortened(show_arguments(action.arguments))}"
    return f"{number}  {action.tool}{arguments}: {_outcome(action)}"


def _outcome(action: "Action") -> str:
    message = f": {_shortened(action.message)}" if action.message else ""
    match action.outcome:
        case "result":
            return "ok"
        case "stopped":
            return "the run stopped here"
        case "refused" if action.call is None:
            return f"refused, its arguments could not be read{message}"
        case "refused":
            return f"refused by its schema{message}"
        case "error":
            return f"error {action.category}{message}"
    return (
        f"{action.outcome} {action.category}{message}" if action.outcome == "denied" else f"{action.outcome}{message}"
    )


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"
