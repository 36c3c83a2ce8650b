"""The contract of one tool, in one revision. Source: docs/decisions/0011-scenario-replay.md, and the vocabulary there.

A contract is data: it can be declared beside a function, written as TOML, compared and pinned. `digest` covers all
of it, so nothing changes without a new revision.
"""

from functools import cached_property
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from openprogram.contracts.schema import check_schema
from openprogram.contracts.seconds import Seconds
from openprogram.contracts.templates import check_template
from openprogram.pipeline.canonical import digest
from openprogram.providers.types import Tool

__all__ = [
    "ApprovalRule",
    "CaptureRule",
    "Contract",
    "EffectClass",
    "ErrorCategory",
    "Idempotency",
    "ResultLimits",
]

#: `pure`: depends on its arguments alone. `read`: on the world. `write`: changes the simulated world.
#: `external`: changes something that no run can take back.
EffectClass: TypeAlias = Literal["pure", "read", "write", "external"]
#: How much of a live observation may be kept.
CaptureRule: TypeAlias = Literal["full", "projection", "digest", "synthetic", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorCategory(_Part):
    """A way to fail that callers may count on. `retryable`: the same call can succeed later."""

    name: str
    description: str = ""
    retryable: bool = False


class Idempotency(_Part):
    """Calls with the same key are one call. `key`: a template over the arguments, such as `{order_id}/{request_id}`.

    A repeat with the same arguments gets the first answer (`converge`) or fails (`fail`). The same key with other
    arguments always fails.
    """

    key: str
    on_repeat: Literal["converge", "fail"] = "converge"


class ResultLimits(_Part):
    """Bounds of one answer; None: no bound. `visible_bytes`: of the text that the model sees.
    `seconds`: scenario time."""

    result_bytes: int | None = Field(default=None, gt=0)
    visible_bytes: int | None = Field(default=None, gt=0)
    seconds: Seconds | None = Field(default=None, gt=0)


class ApprovalRule(_Part):
    """A call needs a decision first. `expires_after_s`: seconds of scenario time in which a decision counts."""

    expires_after_s: Seconds = Field(default=3600.0, gt=0)


class Contract(_Part):
    """What a tool promises.

    `arguments`, `result`: JSON Schemas. `reads`, `writes`: templates of resource ids over the arguments, such as
    `reservations/{reservation_id}`, or `reservations/*` for any of a kind. `ordered`: the same call may be answered
    differently the next time, so its occurrence counts. `sensitive`: paths in the arguments
    (`card.number`) whose values no message and no report shows. `approval`: None where none is needed.

    Raises ValidationError: a schema is none, a template is malformed, or the parts contradict each other.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    revision: str = Field(default="1", min_length=1)
    description: str = ""
    effect: EffectClass
    arguments: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})
    result: dict[str, Any] = Field(default_factory=dict)
    errors: tuple[ErrorCategory, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    idempotency: Idempotency | None = None
    ordered: bool = False
    limits: ResultLimits = ResultLimits()
    sensitive: tuple[str, ...] = ()
    capture: CaptureRule = "full"
    approval: ApprovalRule | None = None

    @model_validator(mode="after")
    def _holds_together(self) -> "Contract":
        check_schema(self.arguments)
        check_schema(self.result)
        for template in (*self.reads, *self.writes):
            check_template(template, resource=True)
        if self.idempotency is not None:
            check_template(self.idempotency.key, resource=False)
        if self.effect == "pure" and (self.reads or self.writes):
            raise ValueError("a pure tool depends on its arguments alone: it reads and writes no resource")
        if self.effect == "read" and self.writes:
            raise ValueError("a tool of effect class read writes no resource; its effect class would be write")
        if len({error.name for error in self.errors}) < len(self.errors):
            raise ValueError("two error categories have the same name")
        return self

    @cached_property
    def digest(self) -> str:
        """`sha256:…` over the whole contract."""
        return digest(self.model_dump(mode="json"))

    @property
    def definition(self) -> Tool:
        """The tool as the model sees it."""
        return Tool(name=self.name, description=self.description, parameters=self.arguments)

    def error(self, name: str) -> ErrorCategory | None:
        """The error category of that name, or None where the contract has none."""
        return next((error for error in self.errors if error.name == name), None)
