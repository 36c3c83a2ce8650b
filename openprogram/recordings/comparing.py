"""Two recordings, call by call: what differs, where it entered, and what only follows from an earlier difference.

The first side is called `recorded` and the second `incoming`, as in a replay: the question is the same, whether the
second session would have been answered by the first recording, and in addition how its answers differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openprogram.pipeline.log.reader import Recording
from openprogram.pipeline.matching.bindings import Bindings
from openprogram.pipeline.matching.comparison import SymbolComparison
from openprogram.pipeline.matching.content import Form
from openprogram.pipeline.matching.policy import MatchingPolicy
from openprogram.pipeline.stages.compare import Difference, find_first_difference
from openprogram.providers.causes import find_entry
from openprogram.providers.replay import COMPARISON_RULES
from openprogram.recordings.alignment import align
from openprogram.recordings.known_differences import KnownDifferences
from openprogram.recordings.sides import Answer, Side, Tokens

__all__ = ["CallDifference", "Comparison", "Result", "Where"]

#: `equal`; `changed`: something entered here; `follows`: it differs by what an earlier call left in the conversation
#: alone; `recorded_only`, `incoming_only`: the other side has no such call.
Result: TypeAlias = Literal["equal", "changed", "follows", "recorded_only", "incoming_only"]


@dataclass(frozen=True)
class Where:
    """The first difference of a request or an answer. `cause`: where it entered, or None where nothing is known."""

    difference: Difference
    cause: str | None = None


@dataclass(frozen=True)
class CallDifference:
    """One call of the two. `recorded`, `incoming`: its call_index on each side, or None.

    `request`: its first difference, of those that entered here; None where there is none. `answer`: likewise.
    `answers`: both answers where they differ, or the one there is. `moved_to`: the call_index on the other side that
    asks the very same in another place.
    """

    recorded: int | None
    incoming: int | None
    result: Result
    request: Where | None = None
    answer: Where | None = None
    answers: tuple[Answer | None, Answer | None] = (None, None)
    moved_to: int | None = None


class Comparison:
    """Of two opened recordings. Iterate `calls()` once; `tokens` is complete then.

    `policy`: how requests are matched, as the recorded side declares it. `tokens`: recorded, incoming.
    """

    def __init__(self, recorded: Recording, incoming: Recording) -> None:
        self.policy: MatchingPolicy = recorded.policy
        self.same_policy = recorded.policy == incoming.policy
        self.tokens = Tokens(), Tokens()
        volatile = recorded.policy.rules()
        form = Form(COMPARISON_RULES, volatile)
        self._sides = Side(recorded, form), Side(incoming, form)
        self._symbols = SymbolComparison(Bindings(volatile), COMPARISON_RULES) if volatile.rules else None
        self._known = KnownDifferences(*self._sides, lambda one, other: self._differ(one, other, 0))

    def calls(self) -> Iterator[CallDifference]:
        """Every call, equal ones too, in order. Raises RecordingFileError: a file changed, or doesn't fit."""
        keys = list(self._sides[0].keys()), list(self._sides[1].keys())
        places = tuple({key.whole: index for index, key in reversed(list(enumerate(side)))} for side in keys)
        for recorded, incoming in align(*keys, in_order=self.policy.match == "order"):
            if recorded is not None and incoming is not None:
                yield self._pair(recorded, incoming, same=keys[0][recorded].whole == keys[1][incoming].whole)
            elif recorded is not None:
                answer = self._alone(0, recorded)
                moved = places[1].get(keys[0][recorded].whole)
                yield CallDifference(recorded, None, "recorded_only", answers=(answer, None), moved_to=moved)
            elif incoming is not None:
                answer = self._alone(1, incoming)
                moved = places[0].get(keys[1][incoming].whole)
                yield CallDifference(None, incoming, "incoming_only", answers=(None, answer), moved_to=moved)

    def _alone(self, side: int, call_index: int) -> Answer:
        answer = self._answer(side, call_index)
        self._known.add_call(side, self._sides[side].request(call_index), answer)
        return answer

    def _pair(self, recorded: int, incoming: int, *, same: bool) -> CallDifference:
        request, follows = (None, False) if same and self._symbols is None else self._requests(recorded, incoming)
        answers = self._answer(0, recorded), self._answer(1, incoming)
        answer = self._differ(answers[0].value, answers[1].value, recorded)
        if answer is not None:
            self._known.add_answers(*answers)
        result: Result = "changed" if request or answer else "follows" if follows else "equal"
        return CallDifference(
            recorded,
            incoming,
            result,
            request,
            None if answer is None else Where(answer),
            (None, None) if answer is None else answers,
        )

    def _requests(self, recorded: int, incoming: int) -> tuple[Where | None, bool]:
        """What entered with these requests, and whether they differ by what is known."""
        requests = self._sides[0].request(recorded), self._sides[1].request(incoming)
        first = self._differ(*requests, recorded)
        if first is None:
            return None, False
        new = self._known.new_difference(*requests)
        self._known.add_requests(*requests)
        if new.difference is None and new.has_known:
            return None, True
        # Where nothing is known yet, the very place that a replay names. So it is with a binding that contradicts.
        difference = new.difference if new.difference is not None and new.has_known else first
        cause = None
        if new.is_level or len(_messages(requests[0])) != len(_messages(requests[1])):
            cause = find_entry(self._sides[0].recording, recorded, *requests, difference, COMPARISON_RULES)
        return Where(difference, None if cause is None else cause.text), False

    def _differ(self, recorded: Any, incoming: Any, call_index: int) -> Difference | None:
        if self._symbols is None:
            return find_first_difference(recorded, incoming, COMPARISON_RULES)
        return self._symbols.compare(recorded, incoming, call_index).difference

    def _answer(self, side: int, call_index: int) -> Answer:
        answer = self._sides[side].answer(call_index)
        self.tokens[side].add(answer.value["message"]["usage"])
        return answer


def _messages(request: dict[str, Any]) -> list[Any]:
    messages = request["context"].get("messages")
    return messages if isinstance(messages, list) else []
