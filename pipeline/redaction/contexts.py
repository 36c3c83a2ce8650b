"""Secrets that only their surroundings give away: names in other languages, cells of tables, lines below a heading."""

import re
from collections.abc import Iterator
from typing import Final

from openprogram.pipeline.redaction.fields import after_name
from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_random, is_secret_value
from openprogram.pipeline.redaction.languages import API_KEYS, FOREIGN_LITERALS, KEYS_OF_ANY_KIND
from openprogram.pipeline.redaction.lines import lone_line, tells
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy
from openprogram.pipeline.redaction.prose import DULL_PROSE
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, Trigger, any_case, context_rule, trigger
from openprogram.pipeline.redaction.spans import Span, rest_of
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["CONTEXT_RULES"]

#: Letters that are not Latin ones without marks, and the marks of scripts whose words have some.
_FOREIGN_LETTERS: Final = re.compile(
    r"(?:[^\W\d_A-Za-z]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e31-\u0eff\u1000-\u109f\u1780-\u17ff\u200c\u200d])*"
)
_LETTERS: Final = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])*")
#: A word in small letters behind the name, which is no value and leads to none.
_DULL_WORD: Final = re.compile(r" (?!(?:е|є|це|это)\b)[а-яё]{1,16}+[ ,;.\n]")
#: Letters of the Latin alphabet, with marks or without.
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
#: Words that say more of the password, in languages where they follow it: `clave secreta: …`, `пароль доступа: …`.
_QUALIFYING: Final = re.compile(r"(?:[^\W\d_]|[ '’])*")
_QUALIFIED: Final = re.compile(r"(?:[ ](?:[^\W\d_]{1,2}['’])?[^\W\d_]{1,16}){1,3}[ ]?")
_SAYS_WHICH: Final = frozenset(":：=")


def _foreign_name(reader: Reader, start: int, end: int) -> Span | None:
    """`пароль: …`, `contraseña …`, `密码：…`."""
    text = reader.text
    if text[start].isascii() and not _begins_name(reader, start, end):
        return None
    end -= text[end - 1] == ":"
    latin = _LATIN.match(text, end - 1) is not None
    name_end = reader.run(_LETTERS if latin else _FOREIGN_LETTERS, end, 24)
    if not latin and (after := reader.char(name_end)).isascii() and after.isalnum():
        return read_value(reader, name_end, Proof.NAMED, Style())  # written without blanks: 密码是…
    span = None
    if not (DULL_PROSE.match(text, name_end) or _DULL_WORD.match(text, name_end)):
        secrecy = Secrecy.PERHAPS if text[start:end].lower() in KEYS_OF_ANY_KIND else Secrecy.STRING
        span = after_name(reader, name_end, text[start:name_end], "", secrecy)
    return span or _qualified(reader, name_end)


def _qualified(reader: Reader, index: int) -> Span | None:
    """The value behind words that say more of the password, and a colon."""
    reader.hold = reader.end
    stop = reader.run(_QUALIFYING, index, 40)
    if reader.char(stop) not in _SAYS_WHICH or _QUALIFIED.fullmatch(reader.text, index, stop) is None:
        return None
    return after_name(reader, stop, "", "", Secrecy.PERHAPS)


_BEHIND_API: Final = re.compile(r"(?:[^\W\d_]|[\u0900-\u0965\u0e31-\u0e4e])*")


def _api_key(reader: Reader, start: int, end: int) -> Span | None:
    """`API-Schlüssel`, `clé API : …`, `APIキー：…`: a key by its other half."""
    if not reader.at_word_start(start):
        return None
    index = end + (reader.char(end) in (" ", "-"))
    name_end = reader.run(_BEHIND_API, index, 16)
    if reader.text[index:name_end].lower() not in API_KEYS:
        if not reader.before(start, 24).lower().rstrip(" -").endswith(tuple(API_KEYS)):
            return None
        name_end = end
    return after_name(reader, name_end, "api_key", "", Secrecy.STRING)


def _begins_name(reader: Reader, start: int, end: int) -> bool:
    """Whether a word or a part of a name begins at `start` (`DB_SENHA`, `dbSenha`), or it is long."""
    if end - start >= 8 or reader.at_word_start(start):
        return True
    before = reader.text[start - 1]
    return before == "_" or (before.islower() and reader.text[start].isupper())


#: Characters that end the search at once; they are frequent behind `|` and empty lines.
_NO_CELL: Final = frozenset("|-\n#>")
_NO_VALUE: Final = _NO_CELL | frozenset("*`")
_SHORT_CELL: Final = re.compile(r"[ \t]{0,16}+[^|\s\[]{0,7}+[|\s]")
#: What is in a cell, by what it is set in: nothing, backticks or bold letters.
_CELLS: Final = {mark: re.compile(rf"[^|\s\[{mark}]*") for mark in ("", "`", "*")}
_RESTS_OF_CELLS: Final = {mark: rest_of(cell, "[") for mark, cell in _CELLS.items()}
_MARKS: Final = re.compile(r"[`*]*")
_BLANKS: Final = re.compile(r"[ \t]*")


def _table_cell(reader: Reader, start: int, end: int) -> Span | None:
    """A cell of a Markdown table under, or beside, a telling word not far above."""
    if reader.text[end : end + 1] in _NO_CELL or _SHORT_CELL.match(reader.text, end) or reader.before(start, 1) == "|":
        return None  # a rule, an empty cell, `a || b` in code
    index = reader.run(_MARKS, reader.run(_BLANKS, end, 16), 2)
    reader.hold = index
    if not reader.char(index).isalnum():
        return None
    mark = reader.text[index - 1].strip()
    stop = reader.run(_CELLS[mark], index, WINDOW)
    if not is_secret_value(reader.text[index:stop], Proof.NEARBY):
        return None
    behind = reader.run(_MARKS, stop, 2) if mark else stop
    if stop - index < WINDOW and reader.char(reader.run(_BLANKS, behind, 64)) not in ("|", "\n", ""):
        return None
    if not tells(reader.context(index, 256)):
        return None
    return Span(index, index, _RESTS_OF_CELLS[mark])


_HEADING: Final = re.compile(
    r"(?i)(?:pass(?:word|phrase|code)|secret|token|credential|(?:api|access|private|licen[cs]e).?key)[^\n]{0,80}\s*\Z"
)


def _line_below(reader: Reader, _start: int, end: int) -> Span | None:
    """A random run that has a line for itself, indented, below an empty line and a line with a telling word."""
    if reader.text[end : end + 1] in _NO_VALUE:
        return None
    span = lone_line(reader, reader.run(_BLANKS, end, 16), Proof.NEARBY)
    if span is None:
        return None
    value = reader.text[span.start : span.start + WINDOW].split(maxsplit=1)[0]
    return span if is_random(value, least=20) and _HEADING.search(reader.context(end, 128)) else None


_OPENING: Final = re.compile(r"[\s(]*")
_COLUMNS: Final = re.compile(r"\(([^()\[]{1,160})\)\s{0,4}\Z")
_ITEM: Final = re.compile(r"[^,()'\"\[]*")


def _sql_values(reader: Reader, start: int, end: int) -> Span | None:
    """`INSERT INTO users (name, password) VALUES ('ann', '…')`: the value in the column of a telling name."""
    columns = _COLUMNS.search(reader.context(start, 200))
    if columns is None:
        return None
    telling = [
        place
        for place, column in enumerate(columns[1].split(","))
        if name_secrecy(column.strip(' "`')) >= Secrecy.STRING
    ]
    if not telling:
        return None
    index = reader.run(_OPENING, end, 8)
    for _ in range(telling[0]):
        index = reader.run(_ITEM, index, WINDOW)
        if (quote := reader.char(index)) in ("'", '"'):
            index = reader.run(_ITEM, Style(quote=quote).end_of_head(reader, index + 1) + 1, WINDOW)
        if reader.char(index) != ",":
            return None
        index = reader.run(_OPENING, index + 1, 8)
    quote = reader.char(index)
    reader.hold = index + 1
    if quote not in ("'", '"'):
        return None
    return read_value(reader, index + 1, Proof.NAMED, Style(quote=quote))


def _secure_string(reader: Reader, _start: int, end: int) -> Span | None:
    """`"Type": "SecureString", "Value": "…"` of a parameter store, `ConvertTo-SecureString "…"`."""
    return after_name(reader, end, "SecureString", "", Secrecy.STRING)


_WORD: Final = re.compile(r"[a-z]*")


def _sensitive_output(reader: Reader, _start: int, end: int) -> Span | None:
    """`"sensitive": true, "type": "string", "value": "…"`, as Terraform prints its outputs."""
    for word in ("type", "string"):
        gap = read_gap(reader, end)
        if gap is None or not gap.quote:
            return None
        end = reader.run(_WORD, gap.end, 8)
        if reader.text[gap.end : end] != word:
            return None
    return after_name(reader, end, "sensitive", "", Secrecy.STRING)


_FIELD_ABOVE: Final = re.compile(r"(?:\A|\n)([\w.-]{1,128})\n[^\n]{1,160}\Z")


def _refused_input(reader: Reader, start: int, end: int) -> Span | None:
    """What pydantic says of a value that doesn't fit: the field's line, then `… [type=…, input_value='…', …]`."""
    field = _FIELD_ABOVE.search(reader.context(start, 240))
    return _quoted(reader, start, end) if field and name_secrecy(field[1]) >= Secrecy.STRING else None


def _quoted(reader: Reader, _start: int, end: int) -> Span | None:
    """A quoted value right behind the words: `SecretStr("…")`."""
    reader.hold = end
    quote = reader.char(end)
    return read_value(reader, end + 1, Proof.DATA, Style(quote=quote)) if quote in ("'", '"') else None


#: A first word of a cell or line that is short, or a word of prose, or has another behind it: no secret alone there.
_DULL_CELL: Final = (
    r"[|\n#>-]|[ \t]{0,16}+(?:[^|\s\[]{0,7}+[|\s]|[`*]{0,2}+[A-Z]?[a-z]{0,62}+[`*]{0,2}+[|\s]"
    r"|[^|\s\[]{0,62}+[ \t]{1,62}+[^| \t\n]|[!-)+-/:-@\\\]-_{}~])"
)
_DULL_LINE: Final = r"[|\n#*>`-]|[ \t]{0,16}+(?:[^\s\[]{0,7}+\s|[A-Z]?[a-z]{0,62}+\s|[^\s\[]{0,62}+[ \t])"
#: Before `values`, no closing parenthesis.
_NO_COLUMNS: Final = r"(?<=[^)\s].{6})|(?<=[^)\s]\s.{6})"

#: Words of frequent characters, found with the colon behind them: to look for them alone would slow down all searches.
_FREQUENT: Final = frozenset(
    """contrasena contrasenya fjalëkalimi geslo haslo heslo kodeord parool lykilorð salasana sifre
    slaptažodis""".split()
) | {"kata sandi"}


def _foreign_triggers() -> Iterator[Trigger]:
    for word in FOREIGN_LITERALS:
        if not {"σ", "ς"}.isdisjoint(word):  # which have one capital, so that case says less there
            yield trigger(word)
            yield trigger(word.capitalize())
        elif word not in _FREQUENT:
            yield trigger(word, folded=True)
        else:
            yield trigger(f"{word}:", folded=True, anchor=len(word))


#: Behind the word API, where enough is there to tell: neither a word for a key, nor one before it and a separator.
_NO_KEY_OF_API: Final = (
    rf"[A-Za-z0-9_./]|(?=[\s\S]{{16}})(?![ -]?(?:{'|'.join(any_case(word) for word in sorted(API_KEYS))})"
    r"|(?<=[^\s\d_][ '’-].{3})[ ]?[:：=])"
)

CONTEXT_RULES: Final = (
    Rule("foreign-name", "own", "пароль: Zx4Qm81Lw", tuple(_foreign_triggers()), _foreign_name),
    context_rule(
        "foreign-api-key",
        "clé API : Zx4Qm81Lw",
        "api",
        _api_key,
        folded=True,
        unless=_NO_KEY_OF_API,
    ),
    context_rule(
        "table-cell",
        "| user | password |\n|---|---|\n| ann | Zx-Quartz-4821! |",
        "| ",
        _table_cell,
        unless=_DULL_CELL,
    ),
    context_rule(
        "line-below",
        "Your token was made.\n\n    Zx4Qm81LwT7vBn2KdP9s\n",
        "\n\n ¦\n\n\t",
        _line_below,
        unless=_DULL_LINE,
    ),
    context_rule(
        "secure-string",
        '"Type": "SecureString",\n"Value": "Zx4Qm81Lw"',
        "SecureString¦SecureString -String",
        _secure_string,
        source="https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_Parameter.html",
    ),
    context_rule(
        "sensitive-output",
        '{"sensitive": true,\n"type": "string",\n"value": "Zx4Qm81Lw"}',
        '"sensitive": true¦"sensitive":true',
        _sensitive_output,
        source="https://developer.hashicorp.com/terraform/cli/commands/output",
    ),
    context_rule(
        "refused-input",
        "password\n  Too short [type=string_too_short, input_value='Zx4Qm81Lw', input_type=str]",
        "input_value=",
        _refused_input,
        source="https://docs.pydantic.dev/latest/errors/errors/",
    ),
    context_rule("wrapped-secret", "SecretStr('Zx4Qm81Lw')", "SecretStr(¦SecretBytes(¦SecretString(", _quoted),
    context_rule(
        "sql-values",
        "INSERT INTO u (name, password) VALUES ('ann', 'Zx4Qm81Lw')",
        "values",
        _sql_values,
        folded=True,
        unless=_NO_COLUMNS,
    ),
)
