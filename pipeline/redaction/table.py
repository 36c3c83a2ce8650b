"""All text rules, one table."""

from typing import Final

from openprogram.pipeline.redaction.commands import COMMAND_RULES
from openprogram.pipeline.redaction.contexts import CONTEXT_RULES
from openprogram.pipeline.redaction.encoded import ENCODED_RULES
from openprogram.pipeline.redaction.fields import FIELD_RULES
from openprogram.pipeline.redaction.prompts import PROMPT_RULES
from openprogram.pipeline.redaction.rules import Rule
from openprogram.pipeline.redaction.shapes import SHAPE_RULES
from openprogram.pipeline.redaction.shell import SHELL_RULES
from openprogram.pipeline.redaction.token_table import TOKEN_RULES

__all__ = ["RULES"]

#: In the order of precedence where two triggers share an anchor.
RULES: Final[tuple[Rule, ...]] = (
    *SHAPE_RULES,
    *TOKEN_RULES,
    *COMMAND_RULES,
    *SHELL_RULES,
    *CONTEXT_RULES,
    *ENCODED_RULES,
    *PROMPT_RULES,
    *FIELD_RULES,
)
