"""While a test is replayed, this process opens no connection and constructs no client of our vendors.

Vendor providers may be made: they hold no client, and a program that starts the runtime makes them. A call is refused.

In-process only: sockets made through Python's `socket`, and our own vendor providers. A subprocess, and a library that
connects from native code (uvloop, gRPC's core, libcurl), is not seen.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from openprogram.errors import OpenProgramError
from openprogram.providers.types import Model
from openprogram.providers.vendors import VendorApi, VendorProvider
from openprogram.pytest_plugin.places import Place, Places

__all__ = ["Attempt", "LiveAttempt", "OfflineGuard"]

#: Methods of a socket that take an address, and which argument it is.
_ADDRESSING: Final[dict[str, Callable[[tuple[Any, ...]], tuple[Any, ...]]]] = {
    "connect": lambda arguments: arguments[:1],
    "connect_ex": lambda arguments: arguments[:1],
    "sendto": lambda arguments: arguments[1:][-1:],  # behind the data, or behind its flags
    "sendmsg": lambda arguments: arguments[3:4],
}
_RESOLVING: Final = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
_LOCAL_FAMILIES: Final = {getattr(socket, "AF_UNIX", None)}


class LiveAttempt(OpenProgramError):
    """A test that is replayed tried to reach something live. `what`: a sentence's end, such as `connect to …`."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"a replayed test tried to {what}",
            next_step="A replay is offline. Stand in for what it reaches, or allow loopback: "
            "docs/how-to/pytest.md, 'Offline'.",
        )
        self.what = what


class Attempt(NamedTuple):
    """One attempt, kept: an agent may catch the exception. `places`: where, as far as known."""

    what: str
    places: tuple[Place, ...]


class OfflineGuard:
    """Refuses while it is entered. `loopback`: connections to this machine are allowed."""

    def __init__(self, places: Places, *, loopback: bool) -> None:
        self.attempts: list[Attempt] = []
        self._places, self._loopback = places, loopback
        self._paused = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for name, address_of in _ADDRESSING.items():
            self._replace(socket.socket, name, partial(self._reaching, name, address_of))
        for name in _RESOLVING:
            self._replace(socket, name, self._resolving)
        for name in ("stream", "stream_simple"):
            self._replace(VendorProvider, name, self._calling)
        self._replace(VendorApi, "load", self._loading)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._paused = True  # whoever kept one of our functions, to put it back later, must not refuse for ever
        self._stack.close()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Allow everything for a while: what is done belongs to no test."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def _replace(self, owner: Any, name: str, guarded: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        inherited = name not in vars(owner)
        original = getattr(owner, name)
        ours = guarded(original)

        def restore() -> None:
            if vars(owner).get(name) is not ours:
                return  # another guard has put its own in place, and takes it away itself
            if inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, original)

        setattr(owner, name, ours)
        self._stack.callback(restore)

    def _refuse(self, what: str) -> None:
        self.attempts.append(Attempt(what, self._places.here()))
        raise LiveAttempt(what)

    def _allows(self, host: object) -> bool:
        return self._paused or (self._loopback and _is_loopback(host))

    def _reaching(
        self, name: str, address_of: Callable[[tuple[Any, ...]], tuple[Any, ...]], original: Callable[..., Any]
    ) -> Callable[..., Any]:
        connects = name.startswith("connect")

        def reach(sock: socket.socket, *arguments: Any) -> Any:
            for address in address_of(arguments):
                if sock.family not in _LOCAL_FAMILIES and not self._allows(_host(address)):
                    if connects:
                        sock.close()  # callers close it after an OSError only, and would leak it after ours
                    self._refuse(f"{'connect' if connects else 'send'} to {_shown(address)}")
            return original(sock, *arguments)

        return reach

    def _resolving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def resolve(host: Any, *arguments: Any, **named: Any) -> Any:
            # An address or the machine's own name asks nobody.
            if not self._paused and not _is_local_name(host):
                self._refuse(f"look up {host!r}")
            return original(host, *arguments, **named)

        return resolve

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(provider: VendorProvider, model: Model, *arguments: Any, **named: Any) -> Any:
            if not self._paused:
                self._refuse(f"call {model.api!r} past its recording")
            return original(provider, model, *arguments, **named)

        return call

    def _loading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(row: VendorApi) -> Any:
            if not self._paused:
                self._refuse(f"load the SDK for {row.api!r}")
            return original(row)

        return load


def _host(address: Any) -> object:
    return address[0] if isinstance(address, tuple) and address else address


def _shown(address: Any) -> str:
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) and len(address) > 1 else repr(address)


def _is_loopback(host: object) -> bool:
    address = _address(host)
    return host in ("localhost", b"localhost") if address is None else address.is_loopback


def _is_local_name(host: object) -> bool:
    return host in (None, "", b"", "localhost", b"localhost", socket.gethostname()) or _address(host) is not None


def _address(host: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    try:
        return ipaddress.ip_address(text.partition("%")[0]) if isinstance(text, str) else None
    except ValueError:
        return None
