"""The registry: which provider answers for an api, and a transform over all of them that is applied whole or not."""

import threading
from collections.abc import Iterator

import pytest

from openprogram.providers.api_registry import (
    ApiProvider,
    ProviderOverride,
    UnknownApi,
    get_api_provider,
    list_apis,
    override_providers,
    publish_transform,
    register_api_provider,
    unregister_api_provider,
)
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.scripted import ScriptedProvider

#: Names that no other test uses: the registry is one for the process.
NAMES = "registry-test-a", "registry-test-b", "registry-test-c"


class Wrapped(ScriptedProvider):
    """What a transform makes of a provider."""

    def __init__(self, api: str, inner: ApiProvider) -> None:
        super().__init__([])
        self.api, self.inner = api, inner


def _get(api: str) -> ApiProvider:
    """As `get_api_provider`, but without starting the runtime of the process that tests run in."""
    from openprogram.providers import api_registry

    return api_registry._registry.published[api]


def _overrides() -> tuple[ProviderOverride, ...]:
    from openprogram.providers import api_registry

    return api_registry._registry.overrides


@pytest.fixture(autouse=True)
def _registry_as_it_was() -> Iterator[None]:
    yield
    publish_transform(None)
    for name in NAMES:
        unregister_api_provider(name)


def test_a_provider_is_registered_replaced_and_forgotten() -> None:
    first, second = ScriptedProvider([]), ScriptedProvider([])
    register_api_provider(NAMES[0], first)
    assert _get(NAMES[0]) is first
    register_api_provider(NAMES[0], second)
    assert _get(NAMES[0]) is second
    assert NAMES[0] in list_apis()
    unregister_api_provider(NAMES[0])
    unregister_api_provider(NAMES[0])
    assert NAMES[0] not in list_apis()


def test_a_transform_applies_to_providers_that_are_there_and_to_later_ones() -> None:
    early, late = ScriptedProvider([]), ScriptedProvider([])
    register_api_provider(NAMES[0], early)
    publish_transform(Wrapped)
    register_api_provider(NAMES[1], late)
    for name, inner in ((NAMES[0], early), (NAMES[1], late)):
        provider = _get(name)
        assert isinstance(provider, Wrapped)
        assert (provider.api, provider.inner) == (name, inner)


def test_a_transform_that_is_taken_away_leaves_the_providers_as_they_were_registered() -> None:
    provider = ScriptedProvider([])
    register_api_provider(NAMES[0], provider)
    publish_transform(Wrapped)
    publish_transform(Wrapped)
    wrapped = _get(NAMES[0])
    assert isinstance(wrapped, Wrapped)
    assert wrapped.inner is provider, "applied to the base, not to the result of the last transform"
    publish_transform(None)
    assert _get(NAMES[0]) is provider


def _fails_for_b(api: str, provider: ApiProvider) -> ApiProvider:
    if api == NAMES[1]:
        raise ValueError("no room for b")
    return Wrapped(api, provider)


def test_a_transform_that_raises_for_one_provider_changes_nothing() -> None:
    providers = {name: ScriptedProvider([]) for name in NAMES}
    for name, provider in providers.items():
        register_api_provider(name, provider)
    with pytest.raises(ValueError, match="no room"):
        publish_transform(_fails_for_b, {"registry-test-new": ScriptedProvider([])})
    assert {name: _get(name) for name in NAMES} == providers
    assert "registry-test-new" not in list_apis()
    register_api_provider(NAMES[1], providers[NAMES[1]])
    assert _get(NAMES[1]) is providers[NAMES[1]]


def test_a_later_registration_for_which_the_transform_raises_changes_nothing() -> None:
    register_api_provider(NAMES[0], ScriptedProvider([]))
    publish_transform(_fails_for_b)
    before = list_apis()
    with pytest.raises(ValueError, match="no room"):
        register_api_provider(NAMES[1], ScriptedProvider([]))
    assert list_apis() == before
    publish_transform(None)
    assert list_apis() == before


def test_a_default_does_not_replace_what_was_registered() -> None:
    own, default, other = ScriptedProvider([]), ScriptedProvider([]), ScriptedProvider([])
    register_api_provider(NAMES[0], own)
    publish_transform(None, {NAMES[0]: default, NAMES[1]: other})
    assert _get(NAMES[0]) is own
    assert _get(NAMES[1]) is other


# ---- override


def test_an_override_answers_every_lookup_in_every_thread_and_leaves_the_registry_as_it_was() -> None:
    registered, answering = ScriptedProvider([]), ScriptedProvider([])
    register_api_provider(NAMES[0], registered)
    seen: list[ApiProvider] = []
    with override_providers(lambda _api: answering):
        thread = threading.Thread(target=lambda: seen.append(get_api_provider("never registered")))
        thread.start()
        thread.join()
        assert get_api_provider(NAMES[0]) is answering
    assert seen == [answering]
    assert _get(NAMES[0]) is registered
    assert not _overrides()


def test_what_is_registered_or_transformed_under_an_override_counts_afterwards() -> None:
    answering, registered, transformed = ScriptedProvider([]), ScriptedProvider([]), ScriptedProvider([])
    with override_providers(lambda _api: answering):
        register_api_provider(NAMES[0], registered)
        publish_transform(lambda _api, _provider: transformed)
        assert get_api_provider(NAMES[0]) is answering
    assert _get(NAMES[0]) is transformed


def test_of_several_overrides_the_last_one_entered_answers_in_whatever_order_they_are_left() -> None:
    one, other = ScriptedProvider([]), ScriptedProvider([])
    for leave_first_first in (True, False):
        first, second = override_providers(lambda _api: one), override_providers(lambda _api: other)
        first.__enter__()
        second.__enter__()
        assert get_api_provider(NAMES[0]) is other
        (first if leave_first_first else second).__exit__(None, None, None)
        assert get_api_provider(NAMES[0]) is (other if leave_first_first else one)
        (second if leave_first_first else first).__exit__(None, None, None)
        assert not _overrides()


def test_an_override_goes_with_an_exception() -> None:
    with pytest.raises(KeyError), override_providers(lambda _api: ScriptedProvider([])):
        raise KeyError
    assert not _overrides()


def test_an_unknown_api_names_the_known_ones_and_what_to_do() -> None:
    error = UnknownApi("anthropic-massages", ["anthropic-messages", "scripted"])
    assert "'anthropic-massages'" in str(error)
    assert "anthropic-messages, scripted" in str(error)
    assert "register_api_provider('anthropic-massages'" in str(error)
    assert "registered: none" in str(UnknownApi("x", []))


def test_providers_are_recognised_by_their_two_methods() -> None:
    assert isinstance(ScriptedProvider([]), ApiProvider)
    assert issubclass(RecordingProvider, ApiProvider)
    assert not isinstance(object(), ApiProvider)
