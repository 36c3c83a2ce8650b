"""JSON values for tests of matching: small, with volatile values in texts and keys."""

from typing import Any

from hypothesis import strategies as st

__all__ = ["IDS", "RULES", "nearly", "requests", "texts", "values"]

#: Rules whose values are `id-<letter>` and nothing else.
RULES = ["regex:id-([A-Z])"]
IDS = "ABCDEF"

_WORDS = [*(f"id-{letter}" for letter in IDS), "plain", " ", '"', "\\", "\n", "é", "\U0001f600", "\ud800", "1", "/"]
texts = st.lists(st.sampled_from(_WORDS), max_size=6).map("".join)
_scalars = st.one_of(texts, st.none(), st.booleans(), st.sampled_from([0, 1, -3, 1.0, 0.0, -0.0, 1e300]))
values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("timestamp"), inner, max_size=3),
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

#: Values that a comparison tells apart, or doesn't.
_ALIKE: list[list[Any]] = [[0, 0.0, -0.0, False], [1, 1.0, True, "1"], [None, "", "null"], [-3, "-3"]]


@st.composite
def nearly(draw: st.DrawFn, value: Any) -> Any:
    """The value, in a few places as something like it: another kind of number, null or nothing, another time."""
    if isinstance(value, list):
        return [draw(nearly(item)) for item in value]
    if isinstance(value, dict):
        dropped = {key for key, item in value.items() if item is None and draw(st.integers(0, 3)) == 0}
        items = [(key, draw(nearly(item))) for key, item in value.items() if key not in dropped]
        return dict(items if draw(st.booleans()) else reversed(items))
    if draw(st.integers(0, 7)):
        return value
    return draw(st.sampled_from(next((alike for alike in _ALIKE if _is_in(value, alike)), [value])))


def _is_in(value: Any, alike: list[Any]) -> bool:
    return any(type(one) is type(value) and one == value for one in alike)
