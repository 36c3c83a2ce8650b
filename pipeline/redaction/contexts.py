"""Secrets that only their surroundings give away: a command's option, a cell of a table, a line below a heading."""

import re
from typing import Final

from openprogram.pipeline.redaction.fields import after_name
from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_random, is_secret_value
from openprogram.pipeline.redaction.names import Secrecy, name_secrecy
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, trigger
from openprogram.pipeline.redaction.spans import Match, Span, kept, rest_of
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["CONTEXT_RULES"]

_FOREIGN_LETTERS: Final = re.compile(r"[^\W\d_A-Za-z]*")
_LETTERS: Final = re.compile(r"[^\W\d_]*")


def _foreign_name(reader: Reader, start: int, end: int) -> Span | None:
    """`пароль: …`, `contraseña …`, `密码：…`."""
    if not reader.at_word_start(start) and reader.text[start].isascii():
        return None
    ascii_only = reader.text[end - 1].isascii()
    name_end = reader.run(_LETTERS if ascii_only else _FOREIGN_LETTERS, end, 12)
    if not ascii_only and reader.char(name_end).isascii() and reader.char(name_end).isalnum():
        return read_value(reader, name_end, Proof.NAMED, Style())  # written without blanks: 密码是…
    return after_name(reader, name_end, reader.text[start:name_end], "", Secrecy.STRING)


_USER: Final = re.compile(r"[^\s:\"'`\\$<{\[@]*")


def _user_option(reader: Reader, start: int, end: int) -> Span | None:
    """`curl -u user:password`."""
    if start and reader.text[start - 1] not in " \t\n":
        return None
    gap = read_gap(reader, end)
    if gap is None or gap.sep not in ("", "=") or gap.newline or gap.close:
        return None
    user = reader.run(_USER, gap.end, WINDOW)
    if user == gap.end or reader.char(user) != ":":
        return None
    reader.hold = user + 1
    if reader.at_placeholder(user + 1):
        return kept(user + 1)
    return read_value(reader, user + 1, Proof.NAMED, Style(quote=gap.quote, slashes=gap.slashes))


_LOGIN_TOOLS: Final = re.compile(
    r"sshpass|mysql|mariadb|twine|login|mongo|redis-cli|valkey-cli|ldap|smbclient|rabbitmqadmin|psexec|evil-winrm"
    r"|htpasswd|keytool|sqlcmd|clickhouse|influx|cqlsh|kinit|openssl|7z|zip"
)
_END_OF_COMMAND: Final = re.compile(r"[\n|;&]")


def _password_option(reader: Reader, start: int, end: int) -> Span | None:
    """`sshpass -p …`, `redis-cli -a …`: a short option of a tool that takes a password there."""
    command = reader.context(start, 80)
    tool = _LOGIN_TOOLS.search(command)
    if tool is None or _END_OF_COMMAND.search(command, tool.end()):
        return None
    reader.hold = end
    if reader.at_placeholder(end):
        return kept(end)
    gap = read_gap(reader, end)
    if gap is None or gap.sep not in ("", "=") or gap.newline or gap.close:
        return None
    if reader.at_placeholder(gap.end):
        return kept(gap.end)
    return read_value(reader, gap.end, Proof.NAMED, Style(quote=gap.quote, slashes=gap.slashes))


def _credentials_literal(reader: Reader, _start: int, end: int) -> Span | None:
    """`btoa('user:password')`: what is about to be encoded."""
    gap = read_gap(reader, end)
    quote = "" if gap is None or gap.sep else gap.quote or gap.close[-1:]
    if gap is None or quote not in ("'", '"'):
        return None
    if reader.at_placeholder(gap.end):
        return kept(gap.end)
    style = Style(quote=quote, slashes=gap.close.count("\\"))
    head = style.end_of_head(reader, gap.end)
    _user, colon, password = reader.text[gap.end : head].partition(":")
    return Span(gap.end, gap.end, style.swallow) if colon and is_secret_value(password, Proof.NAMED) else None


#: Characters that end the search at once; they are frequent behind `|` and empty lines.
_NO_VALUE: Final = frozenset("|-\n#*>`")
_CELL: Final = re.compile(r"[^|\n\[]*")
_BLANKS: Final = re.compile(r"[ \t]*")
_TELLING: Final = re.compile(r"(?i)pass|secret|token|credential|api.?key|\bpwd?\b")
_REST_OF_CELL: Final = rest_of(re.compile(r"(?:[^|\n\[ ]| (?=[^|\n\[ ]))*"), "[", " ")


def _table_cell(reader: Reader, _start: int, end: int) -> Span | None:
    """A cell of a Markdown table under, or beside, a telling word not far above."""
    if reader.text[end : end + 1] in _NO_VALUE:
        return None
    index = reader.run(_BLANKS, end, 16)
    reader.hold = index
    if not reader.char(index).isalnum():
        return None
    stop = reader.run(_CELL, index, WINDOW)
    if stop - index < WINDOW and reader.char(stop) not in ("|", "\n", ""):
        return None
    value = reader.text[index:stop].strip()
    if not is_secret_value(value, Proof.NEARBY) or _TELLING.search(reader.context(index, 256)) is None:
        return None
    return Span(index, index, _REST_OF_CELL)


_LINE: Final = re.compile(r"[^\s\[]*")
_REST_OF_LINE: Final = rest_of(_LINE)
_HEADING: Final = re.compile(
    r"(?i)(?:pass(?:word|phrase|code)|secret|token|credential|(?:api|access|private|licen[cs]e).?key)[^\n]{0,80}\s*\Z"
)


def _line_below(reader: Reader, _start: int, end: int) -> Span | None:
    """A random run that has a line for itself, below an empty line and a line with a telling word."""
    if reader.text[end : end + 1] in _NO_VALUE:
        return None
    index = reader.run(_BLANKS, end, 16)
    reader.hold = index
    stop = reader.run(_LINE, index, WINDOW)
    value = reader.text[index:stop]
    if not is_random(value, least=20) or not is_secret_value(value, Proof.NEARBY):
        return None
    if stop - index < WINDOW and reader.char(stop) not in ("\n", "\r", ""):
        return None
    return Span(index, index, _REST_OF_LINE) if _HEADING.search(reader.context(end, 128)) else None


def _decoded_output(reader: Reader, start: int, end: int) -> Span | None:
    """What `… secret … | base64 -d` printed on the next line."""
    if _TELLING.search(reader.context(start, 128)) is None:
        return None
    index = reader.run(_DECODE_END, end, 8)
    if reader.char(index) != "\n":
        return None
    reader.hold = index + 1
    if reader.at_placeholder(index + 1):
        return kept(index + 1)
    stop = reader.run(_LINE, index + 1, WINDOW)
    value = reader.text[index + 1 : stop]
    if stop - index - 1 < WINDOW and reader.char(stop) not in ("\n", "\r", ""):
        return None
    return Span(index + 1, index + 1, _REST_OF_LINE) if is_secret_value(value, Proof.NAMED) else None


_DECODE_END: Final = re.compile(r"[a-z; ]*")
_AWS_SECRET: Final = re.compile(r"[A-Za-z0-9/+]*")


def _aws_output(reader: Reader, _start: int, end: int) -> Span | None:
    """The secret key in `aws sts … --output text`: forty characters behind the time of expiry."""
    reader.hold = end
    stop = reader.run(_AWS_SECRET, end, 41)
    return Span(end, stop) if stop - end == 40 and is_random(reader.text[end:stop]) else None


def _quoted_next(reader: Reader, _start: int, end: int) -> Span | None:
    """A quoted value right behind the words: `IDENTIFIED BY '…'`."""
    gap = read_gap(reader, end)
    if gap is None or not gap.quote or gap.sep:
        return None
    if reader.at_placeholder(gap.end):
        return kept(gap.end)
    return read_value(reader, gap.end, Proof.DATA, Style(quote=gap.quote, slashes=gap.slashes))


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
    if reader.at_placeholder(index + 1):
        return kept(index + 1)
    return read_value(reader, index + 1, Proof.NAMED, Style(quote=quote))


_OPENING: Final = re.compile(r"[\s(]*")
_COMMAND: Final = re.compile(r"[^\n\[]*")
_PRINTS: Final = re.compile(
    r"(?i)\b(?:cat|echo|print\w*|pass|op|vault|get|security|gcloud|aws|kubectl|show|read|reveal|decrypt|view|head|tail)\b"
)


def _command_output(reader: Reader, start: int, end: int) -> Span | None:
    """What a command with a telling word in it printed: `$ cat token.txt`, and a value on the next line."""
    if start and reader.text[start - 1] != "\n":
        return None
    stop = reader.run(_COMMAND, end, 160)
    command = reader.text[end:stop]
    if reader.char(stop) != "\n" or not _TELLING.search(command) or not _PRINTS.search(command):
        return None
    reader.hold = stop + 1
    if reader.at_placeholder(stop + 1):
        return kept(stop + 1)
    last = reader.run(_LINE, stop + 1, WINDOW)
    if last - stop - 1 < WINDOW and reader.char(last) not in ("\n", "\r", ""):
        return None
    return (
        Span(stop + 1, stop + 1, _REST_OF_LINE) if is_secret_value(reader.text[stop + 1 : last], Proof.NEARBY) else None
    )


def _pgpass(reader: Reader, _start: int, end: int) -> Span | None:
    """A line of a password file: host, port, database, user, password."""
    index = end
    for _ in range(2):
        index = reader.run(_USER, index, WINDOW)
        if reader.char(index) != ":":
            return None
        index += 1
    return read_value(reader, index, Proof.NAMED, Style())


def _rule(name: str, example: str, literals: str, match: Match, *, folded: bool = False, source: str = "own") -> Rule:
    return Rule(
        name,
        source,
        example,
        tuple(trigger(one, folded=folded, anchor=1 if one.startswith(" -") else None) for one in literals.split("¦")),
        match,
    )


CONTEXT_RULES: Final = (
    _rule(
        "foreign-name",
        "пароль: Zx4Qm81Lw",
        "пароль¦contraseña¦senha¦kennwort¦wachtwoord¦hasło¦lösenord¦密码¦密碼¦パスワード¦비밀번호¦şifre¦парол¦口令¦令牌¦токен¦ключ"
        "¦clave¦chave¦jelszó¦adgangskode¦parola¦parola d'ordine¦schlüssel¦密钥¦секрет",
        _foreign_name,
        folded=True,
    ),
    _rule("user-option", "curl -u ann:Zx4Qm81Lw https://host.example", "-u¦--user¦--proxy-user¦-U", _user_option),
    _rule("password-option", "sshpass -p Zx4Qm81Lw ssh host.example", " -p¦ -a¦ -w¦ -P", _password_option),
    _rule(
        "credentials-literal",
        "btoa('ann:Zx4Qm81Lw')",
        "btoa(¦b64encode(¦Buffer.from(¦encodeToString(",
        _credentials_literal,
    ),
    _rule("table-cell", "| user | password |\n|---|---|\n| ann | Zx-Quartz-4821! |", "| ", _table_cell),
    _rule("line-below", "Your token was made.\n\n    Zx4Qm81LwT7vBn2KdP9s\n", "\n\n¦\n\r\n", _line_below),
    _rule(
        "decoded-output",
        "get secret x -o y | base64 -d\nZx4Qm81Lw\n",
        "base64 -d¦base64 --d",
        _decoded_output,
        folded=True,
    ),
    _rule(
        "sql-values", "INSERT INTO u (name, password) VALUES ('ann', 'Zx4Qm81Lw')", "values", _sql_values, folded=True
    ),
    _rule("command-output", "$ cat token.txt\nZx4Qm81LwT7vBn2KdP9s\n", "$ ", _command_output),
    _rule(
        "pgpass",
        "db.example:5432:app:ann:Zx4Qm81Lw",
        ":5432:",
        _pgpass,
        source="https://www.postgresql.org/docs/current/libpq-pgpass.html",
    ),
    _rule(
        "aws-output",
        "2026-03-01T12:00:00Z\tZx4Qm81LwT7vBn2KdP9sZx4Qm81LwT7vBn2KdP9s\t",
        "Z\t",
        _aws_output,
        source="https://docs.aws.amazon.com/cli/latest/reference/sts/get-session-token.html",
    ),
    _rule(
        "sql-password",
        "CREATE USER ann IDENTIFIED BY 'Zx4Qm81Lw'",
        "identified by",
        _quoted_next,
        folded=True,
        source="https://dev.mysql.com/doc/refman/en/create-user.html",
    ),
)
