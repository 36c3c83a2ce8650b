"""JSON values for tests of matching: small, with volatile values in texts and keys."""

from typing import Any

from hypothesis import strategies as st

__all__ = ["IDS", "RULES", "requests", "texts", "values"]

#: Rules whose values are `id-<letter>` and nothing else.
RULES = ["regex:id-([A-Z])"]
IDS = "ABCDEF"

_WORDS = [*(f"id-{letter}" for letter in IDS), "plain", " ", '"', "\\", "\n", "é", "\U0001f600", "\ud800", "1", "/"]
texts = st.lists(st.sampled_from(_WORDS), max_size=6).map("".join)
_scalars = st.one_of(texts, st.none(), st.booleans(), st.sampled_from([0, 1, -3, 1.0, 0.0, -0.0, 1e300]))
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": texts | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=2),
        "timestamp": st.integers(0, 3),
        "details": values,
    }
)
_tools = st.fixed_dictionaries({"name": texts, "parameters": values})
#: Requests as they are dumped, in part.
requests: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "model": st.fixed_dictionaries({"id": texts, "name": texts}),
        "context": st.fixed_dictionaries(
            {
                "system_prompt": st.none() | texts,
                "messages": st.lists(_messages, max_size=3),
                "tools": st.none() | st.lists(_tools, max_size=2),
            }
        ),
        "options": st.none() | st.fixed_dictionaries({"metadata": values}),
    }
)
