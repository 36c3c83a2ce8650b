"""A folder of cases, and the server that answers with them.

DIR/<api>/<name>.json     one conversation a file, format `wire-case/1`
serve.py                  beside DIR, otherwise the one of the shared data
"""

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from tests.shared_data import shared

__all__ = ["WireCase", "diff_json", "read_cases", "serve"]


class WireCase:
    """One file. `name`: `folder/name`, for people; nothing is decided by it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.parent.name
        self.name = f"{self.folder}/{path.stem}"
        self.content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        """Request and response of each, in order."""
        return cast(list[dict[str, Any]], self.content["exchanges"])

    @property
    def provider(self) -> str:
        """The provider's name for `Model.provider`: OpenRouter has a form of reasoning of its own."""
        host = self.content.get("host") or ""
        return "openrouter" if host.endswith("openrouter.ai") else self.folder

    @property
    def left_out(self) -> str | None:
        """Why this conversation is none of ours, or None: an answer that goes on in the background is fetched anew."""
        requests = [exchange["request"] for exchange in self.exchanges]
        if (requests[0].get("body") or {}).get("background") is True:
            return "an answer made in the background"
        if any(request["method"] != "POST" for request in requests):
            return "a stream that is taken up again"
        return None


def read_cases(folder: Path) -> list[WireCase]:
    """All cases of the folder, in order of their names."""
    return [WireCase(path) for path in sorted(folder.glob("*/*.json"))]


@cache
def _server_module(cases: Path) -> Any:
    beside = cases.parent / "serve.py"
    spec = importlib.util.spec_from_file_location(
        "wire_serve", beside if beside.is_file() else shared("wire", "serve.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def serve(case: WireCase, **options: Any) -> Any:
    """A running server for the case, as a context manager that gives its URL. Options: those of serve.py."""
    return _server_module(case.path.parents[1]).serve_case(case.path, **options)


def diff_json(case: WireCase, recorded: Any, sent: Any) -> Iterator[str]:
    """Where two JSON values differ, as `/pointer: what` lines."""
    return cast(Iterator[str], _server_module(case.path.parents[1]).diff_json(recorded, sent))
