"""An answer that does not fit the form that was asked for goes back to the model with what is wrong with it."""

from openprogram.providers.types import AssistantMessage, TextContent, UserMessage

__all__ = ["correction"]


def correction(message: AssistantMessage, timestamp: int) -> UserMessage:
    """What the model is told. `message` has a `parse_error`; `timestamp`: Unix milliseconds."""
    text = (
        f"Your last answer does not fit the JSON Schema that was asked for: {message.parse_error}\n"
        "Answer once more, with JSON that fits it and nothing else."
    )
    return UserMessage(content=[TextContent(text=text)], timestamp=timestamp)
