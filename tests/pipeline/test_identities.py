"""Lists of the same objects have the same identities, and no others have."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openprogram.pipeline.identities import identities, one_by_one

objects = st.lists(st.sampled_from([[], [], {}, 0, False, 0.0, -0.0, "", b"", (), None, 10**30, 1e300, object()]))


@given(objects, objects)
def test_objects_have_the_same_identities_only_where_they_are_the_same(one: list[Any], other: list[Any]) -> None:
    same = list(map(id, one)) == list(map(id, other))
    assert (identities(one) == identities(other)) == same
    assert (one_by_one(one) == one_by_one(other)) == same


@given(objects)
def test_both_ways_to_tell_them_say_the_same(some: list[Any]) -> None:
    assert identities(some) == one_by_one(some)
