"""Volatile rules as a user has to write them: in Python, and in pyproject.toml. Source: docs/how-to/volatile-ids.md."""

import json
from collections.abc import Sequence

__all__ = ["in_python", "in_toml"]


def in_python(rules: Sequence[str]) -> str:
    r"""As an argument, such as `volatile=["uuid", r"regex:order-(\d+)"]`."""
    return f"volatile=[{', '.join(map(_python, rules))}]"


def in_toml(rules: Sequence[str]) -> str:
    r"""As a setting, such as `volatile = ["uuid", 'regex:order-(\d+)']`."""
    return f"volatile = [{', '.join(map(_toml, rules))}]"


def _python(rule: str) -> str:
    quote = "'" if '"' in rule else '"'
    if not rule.isprintable() or quote in rule or rule.endswith("\\"):
        return repr(rule)
    raw = "r" if "\\" in rule else ""
    return f"{raw}{quote}{rule}{quote}"


def _toml(rule: str) -> str:
    needs_no_escape = "\\" not in rule and '"' not in rule
    if needs_no_escape or "'" in rule or not rule.isprintable():
        return json.dumps(rule, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"'{rule}'"
