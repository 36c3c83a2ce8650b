"""What of a conversation can be sent, whoever made it: its turns, with each tool call beside its result.

Vendors refuse a call without a result, a result without a call, two calls of one id, ids of another vendor's shape
and messages without content. A conversation may hold all of that: it was cut, edited, or begun with another vendor.
The rules, in docs/vendors.md under "Conversations of other vendors", are the same for every api.
"""

import hashlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from openprogram.providers.vendors.surrogates import encodable_message

__all__ = ["ANY_CALL_ID", "CallIds", "Turn", "sendable_turns"]

#: An answer, or everything that was said between two answers: results first.
Turn: TypeAlias = AssistantMessage | list[UserMessage | ToolResultMessage]

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class CallIds:
    """Which ids of tool calls an api takes. `pattern`: of a whole id; `length`: of those made in place of others."""

    pattern: re.Pattern[str]
    length: int


#: For apis that take any id, as long as it is one.
ANY_CALL_ID = CallIds(re.compile(r"(?s).+"), 24)


def sendable_turns(messages: Sequence[Message], ids: CallIds) -> list[Turn]:
    """The conversation as turns, answers and what stands between them in alternation where possible.

    Strings are encodable. `messages` stay as they are.
    """
    kept = [encodable_message(message) for message in messages if not _failed(message)]
    return _grouped(_with_content(_paired(_grouped(kept), _Naming(ids, kept))))


def _failed(message: Message) -> bool:
    """Failed and aborted answers can hold half a thought, and calls that were never run."""
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")


def _grouped(messages: Iterable[Message]) -> list[Turn]:
    turns: list[Turn] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            turns.append(message)
        elif turns and isinstance(turns[-1], list):
            turns[-1].append(message)
        else:
            turns.append([message])
    return turns


def _paired(turns: list[Turn], naming: "_Naming") -> Iterable[Message]:
    """Calls that have a result in the next turn, and results of calls of the last: all others are left out or text."""
    open_calls: dict[str, deque[str]] = {}
    for turn, following in zip(turns, [*turns, []][1:], strict=True):
        if isinstance(turn, AssistantMessage):
            open_calls = defaultdict(deque)
            yield turn.model_copy(update={"content": _answered(turn.content, following, naming, open_calls)})
            continue
        said: list[UserMessage] = []
        for message in turn:
            if isinstance(message, UserMessage):
                said.append(message)
            elif open_calls.get(message.tool_call_id):
                # At once behind the calls: nothing may come between them.
                yield message.model_copy(update={"tool_call_id": open_calls[message.tool_call_id].popleft()})
            else:
                said.append(_orphan(message))
        yield from said


def _answered(
    content: list[AssistantContent], following: Turn, naming: "_Naming", open_calls: dict[str, deque[str]]
) -> list[AssistantContent]:
    between = [] if isinstance(following, AssistantMessage) else following
    results = Counter(message.tool_call_id for message in between if isinstance(message, ToolResultMessage))
    kept: list[AssistantContent] = []
    for block in content:
        if not isinstance(block, ToolCall):
            kept.append(block)
        elif results[block.id]:
            results[block.id] -= 1
            open_calls[block.id].append(naming.new(block.id))
            kept.append(block.model_copy(update={"id": open_calls[block.id][-1]}))
    return kept


def _orphan(result: ToolResultMessage) -> UserMessage:
    note = f"A result of the tool {result.tool_name!r}, whose call is not part of this conversation:"
    return UserMessage(content=[TextContent(text=note), *result.content])


def _is_empty(block: AssistantContent | UserContent) -> bool:
    """A text without anything. An empty one may carry a signature."""
    return isinstance(block, TextContent) and not (block.text or block.text_signature)


def _with_content(messages: Iterable[Message]) -> Iterable[Message]:
    """Without empty texts, and without messages in which nothing is left. A tool may well return nothing."""
    for message in messages:
        if isinstance(message, ToolResultMessage):
            yield message
        elif isinstance(message.content, str):
            if message.content:
                yield message
        elif left := [block for block in message.content if not _is_empty(block)]:
            yield message.model_copy(update={"content": left})


class _Naming:
    """Ids that fit stay; another becomes one that fits, the same in every request. No two calls share one."""

    def __init__(self, ids: CallIds, messages: Iterable[Message]) -> None:
        self._ids = ids
        given = [
            call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls
        ]
        self._taken = {each for each in given if ids.pattern.fullmatch(each)}
        self._seen: Counter[str] = Counter()

    def new(self, id: str) -> str:  # noqa: A002 - the field's name
        """The id to send for the next call that has `id`."""
        self._seen[id] += 1
        if self._seen[id] == 1 and id in self._taken:
            return id
        attempt = 0
        while (made := self._made(f"{id}\0{self._seen[id]}\0{attempt}")) in self._taken:
            attempt += 1
        self._taken.add(made)
        return made

    def _made(self, seed: str) -> str:
        number = int.from_bytes(hashlib.sha256(seed.encode()).digest())
        digits = []
        for _ in range(self._ids.length):
            number, digit = divmod(number, len(_ALPHABET))
            digits.append(_ALPHABET[digit])
        return "".join(digits)
