"""Which provider answers for which api name, and the one transform over all of them.

The registry is a value: `Registry` is immutable, and a change publishes a new one in a single assignment, so a
reader sees all of a change or nothing of it. The process-wide registry below is part of the runtime lifecycle.
"""

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, TypeAlias, runtime_checkable

from openprogram.providers.types import AssistantMessageEvent, Context, Model, SimpleStreamOptions, StreamOptions

__all__ = [
    "ApiProvider",
    "ProviderOverride",
    "ProviderTransform",
    "UnknownApi",
    "get_api_provider",
    "get_registered_provider",
    "list_apis",
    "override_providers",
    "publish_transform",
    "register_api_provider",
    "unregister_api_provider",
]


@runtime_checkable
class ApiProvider(Protocol):
    """Answers calls for one api. Two plain async generators of events are enough.

    A failure of the provider is a terminal `error` event; only programming errors raise. The stream ends at its
    first terminal event (`done` or `error`).
    """

    def stream(
        self, model: Model, context: Context, options: StreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Events of one call, with the options of this api."""
        ...

    def stream_simple(
        self, model: Model, context: Context, options: SimpleStreamOptions | None = None
    ) -> AsyncIterator[AssistantMessageEvent]:
        """Events of one call, with options that mean the same for every api."""
        ...


ProviderTransform: TypeAlias = Callable[[str, ApiProvider], ApiProvider]

#: Answers a lookup of an api name in place of the registry.
ProviderOverride: TypeAlias = Callable[[str], ApiProvider]


class UnknownApi(LookupError):
    """No provider is registered for `api`. `known`: the names that are."""

    def __init__(self, api: str, known: list[str]) -> None:
        super().__init__(api, known)
        self.api, self.known = api, known

    def __str__(self) -> str:
        return (
            f"no provider is registered for api {self.api!r}; registered: {', '.join(self.known) or 'none'}. "
            f"Register one with register_api_provider({self.api!r}, provider)."
        )


def _unchanged(_api: str, provider: ApiProvider) -> ApiProvider:
    return provider


@dataclass(frozen=True)
class _Registry:
    base: MappingProxyType[str, ApiProvider] = field(default_factory=lambda: MappingProxyType({}))
    published: MappingProxyType[str, ApiProvider] = field(default_factory=lambda: MappingProxyType({}))
    transform: ProviderTransform = _unchanged
    overrides: tuple[ProviderOverride, ...] = ()


def _found(providers: Mapping[str, ApiProvider], api: str) -> ApiProvider:
    try:
        return providers[api]
    except KeyError:
        raise UnknownApi(api, sorted(providers)) from None


_registry = _Registry()
_changing = threading.Lock()


def register_api_provider(api: str, provider: ApiProvider) -> None:
    """Answer calls for `api` with `provider` from now on, in place of an earlier one.

    The transform in force, if any, applies to it. Where the transform raises, nothing has changed.
    """
    global _registry
    with _changing:
        base = {**_registry.base, api: provider}
        published = {**_registry.published, api: _registry.transform(api, provider)}
        _registry = replace(_registry, base=MappingProxyType(base), published=MappingProxyType(published))


def unregister_api_provider(api: str) -> None:
    """Forget the provider for `api`; for tests. Unknown names are ignored."""
    global _registry
    with _changing:
        base = {name: provider for name, provider in _registry.base.items() if name != api}
        published = {name: provider for name, provider in _registry.published.items() if name != api}
        _registry = replace(_registry, base=MappingProxyType(base), published=MappingProxyType(published))


def publish_transform(
    transform: ProviderTransform | None, defaults: Mapping[str, ApiProvider] = MappingProxyType({})
) -> None:
    """Apply `transform(api, provider)` to every provider, present and future; None takes it away.

    `defaults`: providers for apis that nobody has registered, published in the same step.
    All or nothing: where the transform raises for one provider, the registry is as it was.
    """
    global _registry
    with _changing:
        chosen = transform or _unchanged
        base = {**defaults, **_registry.base}
        published = {api: chosen(api, provider) for api, provider in base.items()}
        _registry = replace(
            _registry, base=MappingProxyType(base), published=MappingProxyType(published), transform=chosen
        )


@contextmanager
def override_providers(choose: ProviderOverride) -> Iterator[None]:
    """While it is entered, `choose(api)` answers every lookup, in every thread and task of the process.

    The registry is not asked and the runtime not started, so an override that can't go live makes a process that
    can't. What is registered meanwhile counts afterwards. Of several overrides the last one entered answers.
    """
    global _registry
    with _changing:
        _registry = replace(_registry, overrides=(*_registry.overrides, choose))
    try:
        yield
    finally:
        with _changing:
            # not simply the last one: whoever is left first may have been entered first
            left = tuple(other for other in _registry.overrides if other is not choose)
            _registry = replace(_registry, overrides=left)


def get_api_provider(api: str) -> ApiProvider:
    """The provider that answers for `api`: the override's, else the registered one with the transform applied.

    The first lookup in the registry starts the runtime. Raises UnknownApi: none is registered under that name.
    RuntimeFailed: the runtime could not start. Whatever an override raises.
    """
    overrides = _registry.overrides
    return overrides[-1](api) if overrides else _found(_started().published, api)


def get_registered_provider(api: str) -> ApiProvider:
    """The provider that was registered for `api`, with neither transform nor override: for an override that wraps it.

    Raises as `get_api_provider`.
    """
    return _found(_started().base, api)


def _started() -> _Registry:
    # Here and not above: the runtime registers what it starts. No lookup may go past it, or replay would be live.
    from openprogram.providers.runtime import initialize_provider_runtime

    initialize_provider_runtime()
    return _registry


def list_apis() -> list[str]:
    """The registered api names, sorted."""
    return sorted(_registry.published)
