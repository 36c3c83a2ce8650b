"""Requests as the provider boundary makes them, for tests of what the pipeline makes of them."""

from hypothesis import strategies as st

from openprogram.pipeline.request_parts import PartMemo, RequestText
from openprogram.pipeline.stages.normalize import normalized
from openprogram.pipeline.stages.redact import IsRecorded, clean_request
from openprogram.providers.codec import ProviderRequestCodec
from openprogram.providers.types import (
    AssistantMessage,
    Context,
    Message,
    Model,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["CODEC", "MODEL", "clean", "contexts", "json_values", "messages", "options", "texts"]

MODEL = Model(id="m", api="scripted", provider="p")
CODEC = ProviderRequestCodec()


def clean(
    context: Context, options: StreamOptions | None, memo: PartMemo, is_recorded: IsRecorded | None = None
) -> RequestText:
    """The request as the stages before the writer make it, or those before the comparison."""
    return clean_request(normalized((MODEL, context, options), CODEC, memo), memo, is_recorded).request


texts = st.text(max_size=20) | st.sampled_from(
    ["sk-ant-api03-" + "aB3" * 20, "Bearer " + "x9Y" * 12, "\ud800", "\ufffd"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("token"), inner, max_size=3),
    max_leaves=8,
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, content=texts, timestamp=st.integers(0, 9)),
    st.builds(
        AssistantMessage,
        content=st.lists(
            st.builds(TextContent, text=texts)
            | st.builds(ToolCall, id=texts, name=texts, arguments=st.dictionaries(texts, json_values, max_size=3)),
            max_size=2,
        ),
        timestamp=st.integers(0, 9),
    ),
    st.builds(
        ToolResultMessage,
        tool_call_id=texts,
        tool_name=texts,
        content=st.lists(st.builds(TextContent, text=texts), max_size=2),
        details=json_values,
        timestamp=st.integers(0, 9),
    ),
)
contexts = st.builds(
    Context,
    system_prompt=st.none() | texts,
    messages=st.lists(messages, max_size=4),
    tools=st.none()
    | st.lists(st.builds(Tool, name=texts, parameters=st.dictionaries(texts, json_values, max_size=2)), max_size=2),
)
options = st.none() | st.builds(SimpleStreamOptions, api_key=st.none() | texts, metadata=st.none() | st.just({"a": 1}))
