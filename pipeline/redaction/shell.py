"""Secrets that a command takes: behind an option, through a pipe, in a here-document."""

import re
from collections.abc import Iterator
from typing import Final

from openprogram.pipeline.redaction.gaps import read_gap
from openprogram.pipeline.redaction.judge import WINDOW, Proof, is_random, is_secret_value, is_stand_in
from openprogram.pipeline.redaction.reader import Reader
from openprogram.pipeline.redaction.rules import Rule, Trigger, context_rule, trigger
from openprogram.pipeline.redaction.spans import Span
from openprogram.pipeline.redaction.values import Style, read_value

__all__ = ["SHELL_RULES"]

_USER: Final = re.compile(r"[^\s:\"'`\\$<{\[@%,]*")
_SCHEME: Final = re.compile(r"[A-Za-z0-9+-]*")
#: Between user and password, in the options of a tool.
_MARKS: Final = {"%": "smbclient", ",": "lftp"}
_ENDS_OF_WORD: Final = frozenset({" ", "\n", '"', "'", ""})


def _user_option(reader: Reader, start: int, end: int) -> Span | None:
    """`curl -u user:password`, and in the ways of smbclient and lftp: `-U user%password`, `-u user,password`."""
    if reader.context(start, 1) not in ("", " ", "\t", "\n"):
        return None
    return _user_and_password(reader, start, end)


def _joined_user_option(reader: Reader, start: int, end: int) -> Span | None:
    """`curl -su user:password`."""
    command = reader.context(start, 80).rpartition("\n")[2]
    return _user_and_password(reader, start, end) if "curl" in command else None


def _user_and_password(reader: Reader, start: int, end: int) -> Span | None:
    gap = read_gap(reader, end)
    if gap is None or gap.newline or gap.close or (gap.sep not in ("", "=") and gap.text != " :"):
        return None
    style, user = Style(quote=gap.quote, slashes=gap.slashes), gap.end
    if gap.sep != ":":
        user = reader.run(_USER, gap.end, WINDOW)
        mark = reader.char(user)
        if user == gap.end or (mark != ":" and mark not in _MARKS):
            return None
        if mark in _MARKS and _MARKS[mark] not in reader.context(start, 80):
            return None
        name = reader.text[gap.end : user]
        if mark == ":" and is_random(name, least=20) and reader.char(user + 1) in _ENDS_OF_WORD:
            return Span(gap.end, user)  # `-u token:`
        user += 1
    reader.hold = user
    if reader.literal(reader.run(_SCHEME, user, 16), "://"):
        return None  # `beeline -u jdbc:hive2://…`
    return read_value(reader, user, Proof.NAMED, style)


#: The tools that take a password behind an option; of some, with the command that does.
_TOOLS: Final = {
    "p": r"sshpass|mysql|mariadb|twine|login|mongo|redis-cli|valkey-cli|rabbitmqadmin|psexec|evil-winrm|keytool|cqlsh"
    r"|kinit|influx|clickhouse|7z|(?:un)?zip|(?:un)?rar|beeline|cypher-shell|sql server create|rdesktop|ncftp|publish"
    r"|nuget \w+ source|crackmapexec|nxc|netexec|useradd|usermod|unlock-keychain|ldap|smbclient|htpasswd|sqlcmd|winrs",
    "P": r"sqlcmd|bcp|tsql|ipmitool|mosquitto_|security import|(?:un)?zip|keytool|psexec|ldap|smbclient|evil-winrm"
    r"|influx|7z",
    "a": r"redis-cli|valkey-cli|hatch publish",
    "w": r"ldap\w*|security add-\w+-password|clickhouse|smbclient",
    "k": r"openssl|set-key-partition-list|nuget push",
    "K": r"openssl",
    "b": r"gh (?:secret|variable) set",
    "body": r"gh (?:secret|variable) set",
    "value": r"keyvault secret set|variable set|llm keys set|ssm put-parameter",
    "from-literal": r"kubectl create secret",
    "t": r"vercel|doctl|codecov",
}
_COMMANDS: Final = {option: re.compile(rf"\b(?:{tools})") for option, tools in _TOOLS.items()}
#: Options of which the value may stand right behind them, without a blank: `mysql -p…`.
_JOINED: Final = frozenset("pPwb")
#: What stands behind these is the secret itself, whatever it looks like.
_CERTAIN: Final = frozenset({"b", "body", "value"})
_LITERAL_NAME: Final = re.compile(r"[\w.'\"-]*")
_HTTPIE: Final = re.compile(r"(?:\A|[\s$;&|(`])(?:xhs?|https?)(?=\s|\Z)")
_END_OF_COMMAND: Final = re.compile(r"[\n|;&]")


def _password_option(reader: Reader, start: int, end: int) -> Span | None:
    """`sshpass -p …`, `gh secret set NAME --body …`: an option of a tool that takes a password there."""
    option = reader.text[start:end].lstrip(" -")
    command = reader.context(start, 80 if len(option) == 1 else 160)
    if option == "a" and (tool := _HTTPIE.search(command)) and not _END_OF_COMMAND.search(command, tool.end()):
        return _user_and_password(reader, start, end)
    tool = _COMMANDS[option].search(command)
    if tool is None or _END_OF_COMMAND.search(command, tool.end()):
        return None
    reader.hold = end
    if option == "from-literal":
        end = reader.run(_LITERAL_NAME, end + 1, 64) + 1
        return read_value(reader, end, Proof.NAMED, Style()) if reader.char(end - 1) == "=" else None
    gap = read_gap(reader, end)
    if gap is None or gap.sep not in ("", "=", ":") or gap.newline or (gap.end == end and option not in _JOINED):
        return None
    quote = gap.close or gap.quote  # `-p'…'`: right behind the option, a quote seems to close something
    if quote not in ("", "'", '"') or (gap.close and gap.end != end + 1):
        return None
    if "ssm put-parameter" in tool[0] and "SecureString" not in command:
        reader.hold = gap.end
        if "SecureString" not in reader.text[gap.end : reader.run(_LINE, gap.end, 128)]:
            return None
    proof = Proof.PLACE if option in _CERTAIN else Proof.NAMED
    return read_value(reader, gap.end, proof, Style(quote=quote, slashes=gap.slashes))


_ECHOED: Final = re.compile(r"[^|\n\[]*")
_PIPE: Final = re.compile(r"[^\n\[]*")
#: A command that reads a password.
_READER: Final = (
    r"\bsudo\s[^|]*-\w*S\b|--password-stdin|\bchpasswd\b|--stdin\b|--passphrase-fd[= ]0|--with-token|\bsmbpasswd\b"
    r"|-pass(?:in|out)? stdin|\bcryptsetup\b|\bkinit\b|\bgh (?:secret|variable) set\b|\bwrangler secret put\b"
    r"|\bvercel env add\b|\bgcloud secrets (?:create|versions add)\b|\b(?:docker|podman) secret create\b"
    r"|\bcifscreds\b|\brclone config password\b"
)
_READS_PASSWORD: Final = re.compile(rf"{_READER}|\A\|\s*(?:sudo\s+)?passwd\b")
#: A word, alone or behind a user's name, maybe twice, as `passwd` asks for it.
_WORD: Final = re.compile(
    r"""\s*(?:-[neE]+\s+)?(?:\\*["']?%s(?:\\n)?\\*["']?\s+)?(?:\\*["'])?(?:[a-z][\w.-]{0,31}:)?
    ([^\s"'\\;]+?)(?:\\{1,4}n\1)?(?:\\{1,4}[nr])*(?:\\*["'])?\s*\)?\s*(?:;[^|]*)?\Z""",
    re.X,
)


def _piped(reader: Reader, start: int, end: int) -> Span | None:
    """`echo … | sudo -S …`: a word that a command takes for a password."""
    if not reader.at_word_start(start):
        return None
    reader.hold = end
    stop = reader.run(_ECHOED, end, 128)
    word = _WORD.match(reader.text[end:stop])
    if word is None or reader.char(stop) != "|" or is_stand_in(word[1]):
        return None
    if _READS_PASSWORD.search(reader.text[stop : reader.run(_PIPE, stop, 128)]) is None:
        return None
    last = end + word.end(1)
    while reader.text[last : last + 1] == "\\" and (again := reader.text.find(word[1], last, stop)) >= 0:
        last = again + len(word[1])
    return Span(end + word.start(1), last)


_READS_HERE: Final = re.compile(rf"(?:{_READER}|(?:\A|[\s;|&(])passwd\b)[^\n]*\Z")
_HERE_WORD: Final = re.compile(r"(?:\\*[\"'])?(?:[a-z][\w.-]{0,31}:)?([^\s\"'\\]+)")
#: More than a word in a line: a command.
_WORDS: Final = re.compile(r"\S[ \t]{1,8}\S")
_LINE: Final = re.compile(r"[^\n\[]*")
_BODY: Final = re.compile(r"[^\[]*")
_MARK: Final = re.compile(r"-?[\"']?([A-Za-z_]{1,16})[\"']?[^\n]*\n")


def _here_document(reader: Reader, start: int, end: int) -> Span | None:
    """`sudo -S … <<< word`, `passwd bob <<EOF` and its lines: what a command reads for a password."""
    before = reader.context(start, 160).rpartition("\n")[2]
    if reader.char(end) == "<":
        return _here_string(reader, end + 1) if _READS_HERE.search(before) else None
    reader.hold = reader.end
    stop = reader.run(_LINE, end, 80)
    mark = _MARK.fullmatch(reader.text[end:stop] + reader.char(stop))
    if mark is None or not (_READS_HERE.search(before) or _READS_PASSWORD.search(reader.text[end:stop])):
        return None
    reader.hold = stop + 1
    body = reader.text[stop + 1 : reader.run(_BODY, stop + 1, 160)]
    lines, closing, _rest = body.partition(f"\n{mark[1]}")
    word = _HERE_WORD.match(lines)
    if not closing or word is None or is_stand_in(word[1]) or _WORDS.search(lines):
        return None
    return Span(stop + 1 + word.start(1), stop + 1 + len(lines))


def _here_string(reader: Reader, end: int) -> Span | None:
    reader.hold = end
    stop = reader.run(_LINE, end, 96)
    word = _HERE_WORD.match(reader.text[end:stop].lstrip())
    if word is None or is_stand_in(word[1]):
        return None
    begin = stop - len(reader.text[end:stop].lstrip()) + word.start(1)
    return Span(begin, begin + len(word[1]))


_ARGUMENTS: Final = re.compile(r"[^\n|;&\[]*")
_LAST_ARGUMENT: Final = {
    "rabbitmqctl ": re.compile(r"(?:add_user|change_password)\s+\S+\s+[\"']?([^\s\"']+)"),
    "wandb login ": re.compile(r"(?:--relogin\s+)?([^\s\"'-][^\s\"']+)"),
    "http-basic.": re.compile(r"\S+\s+\S+\s+[\"']?([^\s\"']+)"),
    "user-secrets set ": re.compile(r"\S+\s+[\"']?([^\s\"']+)"),
    "net user ": re.compile(r"[\w.-]+\s+([^\s\"'/*][^\s\"']*)"),
}


def _argument(reader: Reader, start: int, end: int) -> Span | None:
    """`rabbitmqctl add_user bob …`: an argument by its place."""
    if not reader.at_word_start(start):
        return None
    reader.hold = end
    stop = reader.run(_ARGUMENTS, end, 96)
    found = _LAST_ARGUMENT[reader.text[start:end]].match(reader.text[end:stop])
    if found is None or not is_secret_value(found[1][:WINDOW], Proof.NAMED):
        return None
    return Span(end + found.start(1), end + found.end(1))


def _option_triggers() -> Iterator[Trigger]:
    for option in _TOOLS:
        dashes = " --" if len(option) > 1 else " -"
        yield trigger(dashes + option, anchor=1)


SHELL_RULES: Final = (
    Rule(
        "user-option",
        "own",
        "curl -u ann:Zx4Qm81Lw https://h.example",
        (
            *(trigger(option) for option in "-u --user --proxy-user -U".split()),
            *(
                trigger(option, anchor=0)
                for option in "-su -sSu -ku -sku -ksu -fsSu --creds --src-creds --dest-creds".split()
            ),
        ),
        _user_option,
    ),
    context_rule(
        "joined-user-option",
        "curl -su ann:Zx4Qm81Lw https://h.example",
        " -su¦ -sSu¦ -ku¦ -sku¦ -ksu¦ -fsSu",
        _joined_user_option,
    ),
    Rule(
        "password-option", "own", "sshpass -p Zx4Qm81Lw ssh host.example", tuple(_option_triggers()), _password_option
    ),
    context_rule(
        "piped-password",
        "echo Zx4Qm81Lw | sudo -S true",
        "echo ",
        _piped,
        unless=r"[^|\n]{0,127}+\n|[^|\n]{128}",
    ),
    context_rule("here-document", "sudo -S true <<< Zx4Qm81Lw\n", "<<", _here_document),
    context_rule("argument", "wandb login Zx4Qm81Lw", "¦".join(_LAST_ARGUMENT), _argument),
)
