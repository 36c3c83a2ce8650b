"""Hypothesis strategies: anything that a live call can carry."""

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from openprogram.pipeline.log.lines import OUTCOMES

__all__ = ["any_machine", "calls", "json_objects", "json_text", "json_values", "texts"]

#: For every property here: how long an example takes says nothing, on a machine that has other things to do.
any_machine = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])

#: Every code point, lone surrogates and what other tools take for a line end included.
texts: SearchStrategy[str] = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["\ud800", "\udfff", "\ud83d\ude00", "\u2028", "\u2029", "\u0085", "\0", "\r\n", "\ufeff", '"}\n{"', "\\u0041", ""]
)

scalars: SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
)

json_values: SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)

json_objects: SearchStrategy[dict[str, Any]] = st.dictionaries(texts, json_values, max_size=4)

#: JSON text, most of it nearly right.
json_text = (
    json_values.map(lambda value: json.dumps(value, ensure_ascii=False))
    | json_values.map(json.dumps)
    | st.text(st.sampled_from('{}[]",:0123456789.eE+-tfnulrasNI\\ \t\r\x0b\u00a0\u2028\ufeff'), max_size=12)
).map(lambda text: text.encode("utf-8", "surrogatepass"))

_requests = st.fixed_dictionaries(
    {"model": json_values, "context": json_values, "options": json_values},
    optional={"later": json_values, "\ud800": json_values, "event": json_values},
)

_errors = st.none() | st.fixed_dictionaries({"type": texts, "message": texts})

#: Request, events, outcome, error.
calls: SearchStrategy[tuple[dict[str, Any], list[dict[str, Any]], Any, Any]] = st.tuples(
    _requests, st.lists(json_objects, max_size=4), st.sampled_from(OUTCOMES), _errors
)
