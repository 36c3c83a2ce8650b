"""`scenario.toml` as types. Unknown keys are refused: a misspelt one would silently change what is tested."""

import re
from collections import Counter
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from openprogram.contracts.extra import MissingScenarioExtra
from openprogram.contracts.schema import check_schema
from openprogram.contracts.seconds import Seconds
from openprogram.fixtures.faults import Fault
from openprogram.pipeline.canonical import digest

__all__ = [
    "SCENARIO_FORMAT_VERSION",
    "ApprovalSettings",
    "Budgets",
    "ExpectSettings",
    "InjectSettings",
    "ModelSettings",
    "ProviderSettings",
    "ScenarioSettings",
]

SCENARIO_FORMAT_VERSION = 1


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise ValueError(f"{path!r} is not a path inside the scenario's folder")
    return path


def _json_path(path: str) -> str:
    try:
        import jsonpath
    except ImportError as error:
        raise MissingScenarioExtra("JSONPath") from error
    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"{path!r} is no JSONPath: {str(error).splitlines()[0]}") from error
    return path


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    check_schema(schema)
    return schema


#: A file inside the scenario's folder, with `/`.
InsidePath: TypeAlias = Annotated[str, AfterValidator(_inside)]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Settings):
    """The model that the agent asks for, as in `Model`. A recording is compared with it."""

    id: str
    api: str = "scripted"
    provider: str = "scripted"
    base_url: str = ""
    max_tokens: int = 0


class Budgets(_Settings):
    """Bounds of a whole run; None: no bound. Where `model_calls` are used up before the agent is done,
    the run is stopped, and that has failed. All are judged afterwards.

    `cost_usd`: as the recorded usage says. `scenario_seconds`: of scenario time.
    """

    model_calls: int | None = Field(default=None, gt=0)
    tool_calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    scenario_seconds: Seconds | None = None


class ProviderSettings(_Settings):
    """What answers for the model: a recording, or a script (a JSON list of texts and assistant messages)."""

    recording: InsidePath | None = None
    script: InsidePath | None = None

    @model_validator(mode="after")
    def _one(self) -> "ProviderSettings":
        if (self.recording is None) == (self.script is None):
            raise ValueError("name either a recording or a script")
        return self


class InjectSettings(_Settings):
    """One fault, put into one call. Either of a `tool` or of the model (`provider = true`).

    `call`: which call of that tool, or of the model, from 0. `after`: adapter events, or provider events, that still
    come through. `seconds`: for a delay.
    """

    fault: Fault
    tool: str | None = None
    provider: bool = False
    call: int = Field(default=0, ge=0)
    after: int | None = Field(default=None, ge=0)
    seconds: Seconds = 0.0

    @model_validator(mode="after")
    def _one(self) -> "InjectSettings":
        if (self.tool is None) != self.provider:
            raise ValueError("name the tool, or say provider = true, and not both")
        if self.provider and self.fault not in ("cut", "delay", "cancel"):
            raise ValueError(f"{self.fault} needs events with numbers, which a model's answer has not")
        return self


class ApprovalSettings(_Settings):
    """A decision that is configured for a call of `tool` with exactly these `arguments`.

    `after_s`: seconds of scenario time until it comes. `decision`: what it is.
    """

    tool: str
    arguments: dict[str, Any]
    decision: Literal["approved", "denied"]
    after_s: Seconds = 0.0
    reason: str = ""


class ExpectSettings(_Settings):
    """One declarative expectation.

    `about`: what is looked at. `path`: JSONPath (RFC 9535) into it. Exactly one of `equals`, `schema` (JSON Schema),
    `exists` and `count` says what must hold for all that the path finds.

    With `claim`, a regular expression over the agent's last message: what its group (or the whole of it) says must be
    the text of a value at `path` in the resources. If the message doesn't say so, that is fine, unless `exists = true`.

    `needs`: what the claims ledger must not lack, otherwise the expectation is off.
    """

    name: str = ""
    about: Literal["observation", "trace", "resources", "artifacts", "budgets", "account"] = "resources"
    path: Annotated[str, AfterValidator(_json_path)] = "$"
    equals: Any = None
    schema_: Annotated[dict[str, Any], AfterValidator(_schema)] | None = Field(default=None, alias="schema")
    exists: bool | None = None
    count: int | None = Field(default=None, ge=0)
    claim: Annotated[str, AfterValidator(_pattern)] | None = None
    needs: tuple[Literal["full_content", "known_effects", "captured"], ...] = ()

    @model_validator(mode="after")
    def _one(self) -> "ExpectSettings":
        given = self.model_fields_set & {"equals", "schema_", "exists", "count"}
        if self.claim is not None:
            if self.about != "account" or given - {"exists"}:
                raise ValueError('a claim is about = "account", with a path into the resources and perhaps exists')
            return self
        if len(given) != 1:
            raise ValueError("say exactly one of equals, schema, exists, count")
        return self


class ScenarioSettings(_Settings):
    """The whole file. `start`: with a zone. `tools`: contracts in use; empty: all in the folder.

    `current_time`: adds a tool that tells scenario time. `credentials`: synthetic ones, by name; they are what tools
    and authorisation paths get, as resources `credentials/NAME`, and valid nowhere."""

    format_version: Literal[1] = 1
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    version: str = Field(min_length=1)
    description: str = ""
    seed: str = "0"
    start: datetime
    namespace: str = "default"
    model: ModelSettings
    system_prompt: str | None = None
    system_prompt_file: InsidePath | None = None
    turns: tuple[str, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()
    ends_after: tuple[str, ...] = ()
    current_time: bool = False
    budgets: Budgets = Budgets()
    provider: ProviderSettings | None = None
    credentials: dict[str, str] = Field(default_factory=dict)
    inject: tuple[InjectSettings, ...] = ()
    approvals: tuple[ApprovalSettings, ...] = ()
    expect: tuple[ExpectSettings, ...] = ()

    @model_validator(mode="after")
    def _holds_together(self) -> "ScenarioSettings":
        if not 1 < self.start.year < 9999:
            raise ValueError("start is too near to where time begins or ends")
        if self.start.tzinfo is None:
            raise ValueError("start has no time zone: write 2026-01-05T09:00:00Z, say")
        if self.system_prompt is not None and self.system_prompt_file is not None:
            raise ValueError("give system_prompt or system_prompt_file, not both")
        decided = Counter((approval.tool, digest(approval.arguments)) for approval in self.approvals)
        for (tool, _), times in decided.items():
            if times > 1:
                raise ValueError(f"{times} approvals decide the same call of {tool}")
        return self
