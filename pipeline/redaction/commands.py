"""Secrets in commands and in what they print: options, literals about to be encoded, the line below a prompt."""

import re
from typing import Final

from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_random, is_secret_value
from openprogram.pipeline.redaction.lines import lone_line, tells
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import context_rule
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import BARE, Style, read_value

__all__ = ["COMMAND_RULES"]

_USER: Final = re.compile(r"[^\s:\"'`\\$<{\[@]*")
_OPENSSL: Final = re.compile(r"\bopenssl\b")


def _openssl_password(reader: Reader, start: int, end: int) -> Span | None:
    """`openssl enc -pass pass:…`: what follows is the password, whatever it looks like."""
    command = reader.context(start, 160)
    if "openssl" not in command or _OPENSSL.search(command) is None:
        return None
    return read_value(reader, end, Proof.PLACE, Style())


_ARGUMENT: Final = re.compile(r"[^\s\[]*")
_LOGIN: Final = re.compile(r"[A-Za-z][\w$#]{0,30}/([^/@\s\"'][^@\s\"'/]*)(?:@|\Z)")


def _oracle_login(reader: Reader, _start: int, end: int) -> Span | None:
    """`sqlplus -S scott/tiger@db`: a user and a password, behind the tool's options."""
    index = end
    for _ in range(4):
        reader.hold = index
        stop = reader.run(_ARGUMENT, index, WINDOW)
        if reader.text[index : index + 1] != "-":
            break
        if reader.char(stop) != " ":
            return None
        index = stop + 1
    login = _LOGIN.match(reader.text[index:stop].lstrip("'\""))
    quoted = reader.text[index : index + 1] in ("'", '"')
    if login is None or not is_secret_value(login[1], Proof.PLACE if "@" in login[0] else Proof.NAMED):
        return None
    begin = index + quoted + login.start(1)
    return Span(begin, begin + len(login[1]))


_ACCOUNT: Final = re.compile(r"[^=;\n\[]*")


def _set_password(reader: Reader, _start: int, end: int) -> Span | None:
    """`SET PASSWORD FOR 'ann'@'%' = '…'`."""
    reader.hold = reader.end
    index = reader.run(_ACCOUNT, end, WINDOW)
    if reader.char(index) != "=":
        return None
    gap = read_gap(reader, index)
    if gap is None or not gap.quote or gap.newline:
        return None
    return read_value(reader, gap.end, Proof.DATA, Style(quote=gap.quote, slashes=gap.slashes))


def _credentials_literal(reader: Reader, _start: int, end: int) -> Span | None:
    """`btoa('user:password')`: what is about to be encoded."""
    gap = read_gap(reader, end)
    quote = "" if gap is None or gap.sep else gap.quote or gap.close[-1:]
    if gap is None or quote not in ("'", '"'):
        return None
    style = Style(quote=quote, slashes=gap.close.count("\\"))
    head = style.end_of_head(reader, gap.end)
    _user, colon, password = reader.text[gap.end : head].partition(":")
    return Span(gap.end, gap.end, style.swallow) if colon and is_secret_value(password, Proof.NAMED) else None


_DECODE_END: Final = re.compile(r"[a-z; ]*")


def _decoded_output(reader: Reader, start: int, end: int) -> Span | None:
    """What `… secret … | base64 -d` printed on the next line."""
    if not tells(reader.context(start, 128)):
        return None
    index = reader.run(_DECODE_END, end, 8)
    return lone_line(reader, index + 1, Proof.NAMED) if reader.char(index) == "\n" else None


_COMMAND: Final = re.compile(r"[^\n\[]*")
_PRINTS: Final = re.compile(
    r"(?i)\b(?:cat|echo|jq|yq|print\w*|pass|op|vault|get|security|gcloud|aws|kubectl|show|read|reveal|decrypt|view|head|tail)\b"
)


def _command_output(reader: Reader, start: int, end: int) -> Span | None:
    """What a command with a telling word in it printed: `$ cat token.txt`, and a value on the next line."""
    if reader.context(start, 1) not in ("", "\n"):
        return None
    stop = reader.run(_COMMAND, end, 160)
    command = reader.text[end:stop]
    if reader.char(stop) != "\n" or not tells(command) or not _PRINTS.search(command):
        return None
    return lone_line(reader, stop + 1, Proof.NEARBY)


_AWS_SECRET: Final = re.compile(r"[A-Za-z0-9/+]*")


def _aws_output(reader: Reader, _start: int, end: int) -> Span | None:
    """The secret key in `aws sts … --output text`: forty characters behind the time of expiry."""
    reader.hold = end
    stop = reader.run(_AWS_SECRET, end, 41)
    return Span(end, stop) if stop - end == 40 and is_random(reader.text[end:stop]) else None


_SQL_USER: Final = re.compile(r"(?i)\b(?:create|alter) (?:user|role)\b[^;]{0,100}\Z")


def _identified_by(reader: Reader, start: int, end: int) -> Span | None:
    """`IDENTIFIED BY '…'`, and without quotes as Oracle has it, behind `CREATE USER`."""
    gap = read_gap(reader, end)
    if gap is None or gap.sep:
        return None
    if reader.text[gap.end - 1] in ("'", '"'):
        return read_value(reader, gap.end, Proof.DATA, Style(quote=gap.quote, slashes=gap.slashes))
    named = gap.text == " " and _SQL_USER.search(reader.context(start, 120))
    return read_value(reader, gap.end, Proof.NAMED, BARE, scheme=False) if named else None


def _pgpass(reader: Reader, _start: int, end: int) -> Span | None:
    """A line of a password file: host, port, database, user, password."""
    index = end
    for _ in range(2):
        index = reader.run(_USER, index, WINDOW)
        if reader.char(index) != ":":
            return None
        index += 1
    return read_value(reader, index, Proof.NAMED, Style())


#: Behind a port, no two fields and a password.
_NO_USER: Final = r"[^\s:\"'`\\$<{\[@]{0,63}+(?:[\s\"'`\\$<{@]|:[^\s:\"'`\\$<{\[@]{0,63}+[\s\"'`\\$<{@])"

COMMAND_RULES: Final = (
    context_rule(
        "openssl-password",
        "openssl enc -pass pass:horse",
        " -pass pass:¦ -passin pass:¦ -passout pass:",
        _openssl_password,
        source="https://docs.openssl.org/master/man1/openssl-passphrase-options/",
    ),
    context_rule(
        "oracle-login",
        "sqlplus scott/tiger@db",
        "sqlplus ¦expdp ¦impdp ¦sqlldr ¦jdbc:oracle:thin:¦jdbc:oracle:oci:",
        _oracle_login,
        source="https://docs.oracle.com/en/database/oracle/oracle-database/23/sqpug/starting-SQL-Plus.html",
    ),
    context_rule(
        "sql-set-password",
        "SET PASSWORD FOR 'ann' = 'Zx4Qm81Lw'",
        "set password for",
        _set_password,
        folded=True,
        source="https://dev.mysql.com/doc/refman/en/set-password.html",
    ),
    context_rule(
        "credentials-literal",
        "btoa('ann:Zx4Qm81Lw')",
        "btoa(¦b64encode(¦Buffer.from(¦encodeToString(",
        _credentials_literal,
    ),
    context_rule(
        "decoded-output",
        "get secret x -o y | base64 -d\nZx4Qm81Lw\n",
        "base64 -d¦base64 --d",
        _decoded_output,
        folded=True,
    ),
    context_rule(
        "command-output", "$ cat token.txt\nZx4Qm81LwT7vBn2KdP9s\n", "$ ", _command_output, unless=r"(?<=[^\n]..)"
    ),
    context_rule(
        "aws-output",
        "2026-03-01T12:00:00Z\tZx4Qm81LwT7vBn2KdP9sZx4Qm81LwT7vBn2KdP9s\t",
        "Z\t",
        _aws_output,
        source="https://docs.aws.amazon.com/cli/latest/reference/sts/get-session-token.html",
    ),
    context_rule(
        "pgpass",
        "db.example:5432:app:ann:Zx4Qm81Lw",
        ":5432:¦:5433:¦:*:",
        _pgpass,
        unless=_NO_USER,
        source="https://www.postgresql.org/docs/current/libpq-pgpass.html",
    ),
    context_rule(
        "sql-password",
        "CREATE USER ann IDENTIFIED BY 'Zx4Qm81Lw'",
        "identified by",
        _identified_by,
        folded=True,
        source="https://dev.mysql.com/doc/refman/en/create-user.html",
    ),
)
