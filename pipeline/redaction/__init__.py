"""Secrets out of everything that is recorded: always on, the same in every process, the same when applied twice.

Source: docs/redaction.md, docs/decisions/0003-redaction.md.
"""

from openprogram.pipeline.redaction.names import SECRET_FIELD_NAMES, SECRET_PLACEHOLDER
from openprogram.pipeline.redaction.stream import StreamRedactor
from openprogram.pipeline.redaction.walk import REDACTION_VERSION, Redacted, redact, remove_secret_values

__all__ = [
    "REDACTION_VERSION",
    "SECRET_FIELD_NAMES",
    "SECRET_PLACEHOLDER",
    "Redacted",
    "StreamRedactor",
    "redact",
    "remove_secret_values",
]
