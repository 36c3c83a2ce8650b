"""What reads like a secret in a scenario's files: they are committed, and nothing redacts them."""

import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from openprogram.contracts.json_file import NotReadable, parse_json, read_text
from openprogram.pipeline.json_value import NotJson, to_json_value
from openprogram.pipeline.redaction import SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.findings import Finding, find_secrets, text_rules

__all__ = ["FoundInFile", "secrets_in"]

_TEXTS: Final = frozenset({".md", ".py", ".txt"})
_KINDS: Final = _TEXTS | {".json", ".toml"}


class FoundInFile(NamedTuple):
    """`where`: a file of the folder, relative to it. `finding`: its `field_path` is "" in a file that is plain text."""

    where: str
    finding: Finding


def secrets_in(folder: Path, declared: Collection[str]) -> Iterator[FoundInFile]:
    """What redaction would remove from the folder's JSON, TOML, Python and text files, file by file.

    `declared`: the scenario's synthetic credentials, which are none. A recording is left out, which `openprogram
    recordings check` looks at, and so is a file that can't be read: where it matters, loading has said so.
    """
    for path in sorted(folder.rglob("*")):
        if path.suffix in _KINDS and path.is_file():
            for finding in _found(path, declared):
                yield FoundInFile(path.relative_to(folder).as_posix(), finding)


def _found(path: Path, declared: Collection[str]) -> list[Finding]:
    try:
        text = read_text(path)
        for credential in filter(None, declared):
            text = text.replace(credential, SECRET_PLACEHOLDER)  # which is no secret, wherever it stands
        found = [] if path.suffix in _TEXTS else find_secrets(_parsed(text, path.suffix))
        if found or path.suffix == ".json":
            return found
        # Of TOML too, for its comments.
        return [Finding("", rule, places) for rule, places in Counter(text_rules(text)).items()]
    except (NotReadable, NotJson, tomllib.TOMLDecodeError, RecursionError):
        return []


def _parsed(text: str, suffix: str) -> Any:
    return parse_json(text) if suffix == ".json" else to_json_value(tomllib.loads(text))
