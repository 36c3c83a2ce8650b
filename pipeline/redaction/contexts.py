"""Secrets that only their surroundings give away: names in other languages, cells of tables, lines below a heading."""

import re
from typing import Final

from openprogram.pipeline.redaction.fields import after_name
from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_random, is_secret_value
from openprogram.pipeline.redaction.lines import lone_line, tells
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy
from openprogram.pipeline.redaction.prose import DULL_PROSE
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import context_rule
from openprogram.pipeline.redaction.spans import Span, rest_of
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["CONTEXT_RULES"]

_FOREIGN_LETTERS: Final = re.compile(r"[^\W\d_A-Za-z]*")
_LETTERS: Final = re.compile(r"[^\W\d_]*")
#: A word in small letters behind the name, which is no value and leads to none.
_DULL_WORD: Final = re.compile(r"[а-яё]{0,12}+ [а-яё]{1,16}+[ ,;.\n]")


_SOFT_SIGN: Final = frozenset("ьЬ")


def _foreign_name(reader: Reader, start: int, end: int) -> Span | None:
    """`пароль: …`, `contraseña …`, `密码：…`."""
    if not reader.at_word_start(start) and reader.text[start].isascii():
        return None
    if DULL_PROSE.match(reader.text, end) or _DULL_WORD.match(reader.text, end):
        return None
    if reader.text[end : end + 1] in _SOFT_SIGN and reader.text[end - 1] in "лЛ":
        return None  # пароль, which is a name of its own
    ascii_only = reader.text[end - 1].isascii()
    name_end = reader.run(_LETTERS if ascii_only else _FOREIGN_LETTERS, end, 12)
    if not ascii_only and reader.char(name_end).isascii() and reader.char(name_end).isalnum():
        return read_value(reader, name_end, Proof.NAMED, Style())  # written without blanks: 密码是…
    return after_name(reader, name_end, reader.text[start:name_end], "", Secrecy.STRING)


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

CONTEXT_RULES: Final = (
    context_rule(
        "foreign-name",
        "пароль: Zx4Qm81Lw",
        "пароль¦contraseña¦senha¦kennwort¦wachtwoord¦hasło¦lösenord¦密码¦密碼¦パスワード¦비밀번호¦şifre¦парол¦口令¦令牌¦токен¦ключ"
        "¦clave¦chave¦jelszó¦adgangskode¦parola¦parola d'ordine¦schlüssel¦密钥¦секрет",
        _foreign_name,
        folded=True,
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
