"""What a tool promises: `Contract`, declared beside its function or in a file, pinned by a digest."""

from openprogram.contracts.contract import (
    ApprovalRule,
    CaptureRule,
    Contract,
    EffectClass,
    ErrorCategory,
    Idempotency,
    ResultLimits,
)
from openprogram.contracts.declare import contract_of, tool
from openprogram.contracts.errors import ContractChanged, ContractError, ContractViolation

__all__ = [
    "ApprovalRule",
    "CaptureRule",
    "Contract",
    "ContractChanged",
    "ContractError",
    "ContractViolation",
    "EffectClass",
    "ErrorCategory",
    "Idempotency",
    "ResultLimits",
    "contract_of",
    "tool",
]
