"""A window on text that may still be growing, through which every rule looks.

A rule may look only through a Reader. Where its look would reach past the end of text that may grow, the Reader
raises NeedMore instead of answering; so a rule's answer depends on the characters alone and never on how the
text was cut. That is what makes a streamed text and a whole one agree.

Idempotence comes from the same place. To the left a rule sees the *redacted* text: nothing before the last
placeholder. To the right a look that meets a placeholder ends the rule with Stop. So a rule that said no still
says no once a later secret in its view has become a placeholder.
"""

import re
from typing import Final

from openprogram.pipeline.redaction.names import SECRET_PLACEHOLDER

__all__ = ["LEFT_CONTEXT", "NeedMore", "Reader", "Stop"]

#: Characters to the left of a trigger that a rule may look at.
LEFT_CONTEXT: Final = 320
_WIDTH: Final = len(SECRET_PLACEHOLDER)
#: What stands for one character, or for none, and ends in a letter or a digit: an escape of a string, a percent code,
#: a terminal's colour code.
_ESCAPED: Final = re.compile(
    r"(?:\\(?:[abfnrtv0]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%(?:25){0,3}[0-9A-Fa-f]{2}"
    r"|(?:\x1b|\\(?:e|033|x1[bB]|u001[bB]))\[[0-9;]{0,12}m)\Z"
)


class NeedMore(Exception):
    """The answer depends on text that hasn't come yet. Never leaves this package."""


class Stop(Exception):
    """A placeholder stands in the rule's view: the rule doesn't apply. Never leaves this package."""


class Reader:
    """`text` from `floor` on; `closed`: no more will come.

    `floor`: index after the last placeholder, where a virtual `]` stands to the left; -1 where there is none.
    `hold`: where the text that the running rule may remove begins; what stands before it needs not wait.
    `run_on`: the run that the end of the text cut short: its pattern, that end, and where it ends at the latest.
    """

    __slots__ = ("closed", "end", "floor", "hold", "past", "run_on", "text")

    def __init__(self, text: str = "", *, closed: bool = False) -> None:
        self.text, self.end, self.closed = text, len(text), closed
        self.floor, self.hold = -1, len(text)
        self.past = ""  # redacted text that ends at `floor`
        self.run_on: tuple[re.Pattern[str], int, int] | None = None

    def char(self, index: int) -> str:
        """The character at `index`, or "" where the text has ended. Raises NeedMore, Stop."""
        if index >= self.end:
            if self.closed:
                return ""
            raise NeedMore
        found = self.text[index]
        if found == "[" and self.at_placeholder(index):
            raise Stop
        return found

    def at_placeholder(self, index: int) -> bool:
        """Whether a placeholder begins at `index`. Raises NeedMore."""
        if self.text.startswith(SECRET_PLACEHOLDER, index):
            return True
        if not self.closed and self.end - index < _WIDTH and SECRET_PLACEHOLDER.startswith(self.text[index : self.end]):
            raise NeedMore
        return False

    def run(self, pattern: re.Pattern[str], start: int, limit: int, brackets: str = "") -> int:
        """Index after the run of `pattern` that begins at `start`, at most `limit` characters on.

        `pattern`: one character class without `[`, repeated. `brackets`: "[" where the run goes on through one.
        Raises NeedMore, Stop.
        """
        stop = start + limit
        while True:
            match = pattern.match(self.text, start, stop)
            end = match.end() if match else start
            if end >= stop:
                return end
            if end >= self.end:
                if self.closed:
                    return end
                self.run_on = pattern, end, stop
                raise NeedMore
            if self.text[end] != "[":
                return end
            if self.at_placeholder(end):
                raise Stop
            if not brackets:
                return end
            start = end + 1

    def runs_on(self) -> bool:
        """Whether the new end of the text cuts `run_on` short too, so that the rule that asked for it still waits."""
        assert self.run_on is not None
        pattern, start, stop = self.run_on
        match = pattern.match(self.text, start, stop)
        return match is not None and match.end() == self.end < stop

    def literal(self, index: int, literal: str) -> bool:
        """Whether `literal` stands at `index`. Raises NeedMore."""
        if self.text.startswith(literal, index):
            return True
        if not self.closed and self.end - index < len(literal) and literal.startswith(self.text[index : self.end]):
            raise NeedMore
        return False

    def before(self, index: int, count: int) -> str:
        """At most `count` characters that stand before `index` in the redacted text, none of a placeholder."""
        begin = index - count
        if begin < self.floor or begin < 0:
            begin = self.floor if self.floor > 0 else 0
        return self.text[begin:index]

    def context(self, index: int, count: int) -> str:
        """At most `count` characters of the redacted text before `index`, placeholders included."""
        if self.floor < 0 or index - count >= self.floor:
            return self.text[index - count if index > count else 0 : index]
        return (self.past + self.text[self.floor : index])[-count:]

    def at_word_start(self, index: int) -> bool:
        """Whether a word may begin at `index`: before it no ASCII letter, digit or `_`, unless an escape ends in that.

        Chinese and Japanese have no blank between a word and a token, nor has JSON in a string: `"…\\nghp_…"`.
        """
        if index <= 0 or index <= self.floor:
            return True
        previous = self.text[index - 1]
        if previous == "_" or (previous.isascii() and previous.isalnum()):
            return previous != "_" and _ESCAPED.search(self.before(index, 20)) is not None
        return True
