"""A replayed test reaches nothing live: refused with a clear error, and a failure even where that is caught."""

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from openprogram.providers.types import Context, Model
from openprogram.providers.vendors import VENDOR_APIS, VendorApi, VendorProvider, vendor_providers
from openprogram.pytest_plugin.guard import LiveAttempt, OfflineGuard
from openprogram.pytest_plugin.places import Places
from tests.openprogram.pytest_plugin.suite import Suite

#: A documentation address (RFC 5737): nobody answers there.
ELSEWHERE = ("192.0.2.1", 443)
MODEL = Model(id="small-1", api="anthropic-messages", provider="anthropic")


def guard(*, loopback: bool = False) -> OfflineGuard:
    return OfflineGuard(Places(Path(__file__)), loopback=loopback)


def udp(call: Callable[[socket.socket], object]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        call(sock)


async def _open_connection(host: str) -> None:
    await asyncio.open_connection(host, 443)


LIVE: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.create_connection(ELSEWHERE, timeout=1),
    "connect_ex": lambda: udp(lambda sock: sock.connect_ex(ELSEWHERE)),
    "sendto": lambda: udp(lambda sock: sock.sendto(b"", ELSEWHERE)),
    "sendto with flags": lambda: udp(lambda sock: sock.sendto(b"", 0, ELSEWHERE)),
    "sendmsg": lambda: udp(lambda sock: sock.sendmsg([b""], [], 0, ELSEWHERE)),
    "connect to loopback": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    "getaddrinfo": lambda: socket.getaddrinfo("example.org", 443),
    "getaddrinfo by name": lambda: socket.getaddrinfo(host="example.org", port=443),
    "gethostbyname": lambda: socket.gethostbyname("example.org"),
    "gethostbyname_ex": lambda: socket.gethostbyname_ex("example.org"),
    "asyncio": lambda: asyncio.run(_open_connection("192.0.2.1")),
    "asyncio by name": lambda: asyncio.run(_open_connection("example.org")),
    "a call of a vendor": lambda: vendor_providers()["anthropic-messages"].stream(MODEL, Context()),
    "a simple call of a vendor": lambda: vendor_providers()["anthropic-messages"].stream_simple(MODEL, Context()),
    "the import of an SDK": lambda: VENDOR_APIS[0].load(),
}


@pytest.mark.parametrize("attempt", LIVE.values(), ids=LIVE)
def test_what_is_live_is_refused_kept_and_placed(attempt: Callable[[], object]) -> None:
    with guard() as guarded, pytest.raises(LiveAttempt, match="a replayed test tried to"):
        attempt()
    assert guarded.attempts
    in_a_thread = attempt is LIVE["asyncio by name"]  # of the event loop's own, which no line of the user's started
    assert any(place.file == __file__ for place in guarded.attempts[0].places) is not in_a_thread


def test_everything_is_as_it_was_afterwards() -> None:
    def state() -> list[object]:
        names = ("connect", "connect_ex", "sendto", "sendmsg")
        return [
            *(getattr(socket.socket, name) for name in names),
            *(vars(socket.socket).get(name) for name in names),
            socket.getaddrinfo,
            socket.gethostbyname,
            socket.gethostbyname_ex,
            socket.gethostbyaddr,
            VendorProvider.stream,
            VendorProvider.stream_simple,
            VendorApi.load,
        ]

    before = state()
    with guard():
        assert state() != before
    assert state() == before


def test_what_stays_in_this_process_works() -> None:
    """An event loop wakes itself through a pair of sockets; a server may listen; a thread pool and pipes work."""

    async def main() -> str:
        await asyncio.to_thread(lambda: None)
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "localhost", 0)
        server.close()
        await server.wait_closed()
        left, right = socket.socketpair()
        with left, right:
            left.setblocking(False)
            right.sendall(b"here")
            return (await asyncio.get_running_loop().sock_recv(left, 4)).decode()

    with guard() as guarded:
        assert asyncio.run(main()) == "here"
        socket.getfqdn("127.0.0.1")
    assert guarded.attempts == []


def test_unix_sockets_are_files_and_not_refused(tmp_path: Path) -> None:
    with guard(), socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        client.connect(str(tmp_path / "socket"))


def test_loopback_is_allowed_by_option_and_nothing_else_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, guard(loopback=True) as guarded:
        socket.create_connection(server.getsockname()).close()
        assert guarded.attempts == []
        with pytest.raises(LiveAttempt):
            socket.create_connection(ELSEWHERE, timeout=1)
        with pytest.raises(LiveAttempt):
            socket.create_connection(("127.0.0.1.example.org", 80), timeout=1)


def test_a_thread_is_refused_too() -> None:
    caught: list[BaseException] = []

    def reach() -> None:
        try:
            socket.create_connection(ELSEWHERE, timeout=1)
        except LiveAttempt as error:
            caught.append(error)

    with guard() as guarded:
        thread = threading.Thread(target=reach)
        thread.start()
        thread.join()
    assert len(caught) == len(guarded.attempts) == 1


def test_another_guard_that_was_put_in_place_meanwhile_is_left_alone() -> None:
    def others(*_: object) -> None:
        raise AssertionError

    try:
        with guard():
            socket.socket.connect = others  # type: ignore[method-assign]
        assert socket.socket.connect is others
    finally:
        del socket.socket.connect


def test_a_function_of_a_guard_that_is_put_back_after_its_end_refuses_nothing() -> None:
    before = socket.socket.connect
    with guard():
        kept = socket.socket.connect
    try:
        socket.socket.connect = kept  # type: ignore[method-assign]  # as monkeypatch does that found it in place
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    finally:
        del socket.socket.connect
    assert socket.socket.connect is before


def test_an_attempt_that_the_code_under_test_swallows_fails_the_replayed_test_and_no_other(suite: Suite) -> None:
    suite.write(
        test_a="""
        import socket
        import pytest
        from openprogram.providers import get_api_provider, initialize_provider_runtime
        from openprogram.providers.types import Context, Model
        from openprogram.providers.vendors import vendor_providers

        MODEL = Model(id="small-1", api="anthropic-messages", provider="anthropic")

        def reach():
            try:
                socket.create_connection(("192.0.2.1", 443), timeout=0.01)
            except Exception as error:
                return type(error).__name__

        @pytest.mark.recording
        def test_swallows():
            reach()

        @pytest.mark.recording
        def test_calls_past_its_recording():
            initialize_provider_runtime()  # programs do at their start
            try:
                vendor_providers()["anthropic-messages"].stream(MODEL, Context())
            except Exception:
                pass

        @pytest.mark.recording
        def test_own_failure():
            reach()
            assert 1 + 1 == 3

        def test_without():
            assert reach() != "LiveAttempt"
            vendor_providers()["anthropic-messages"].stream(MODEL, Context())
            assert get_api_provider("here") is not None
        """
    )
    recorded = suite.run("--recording-mode=record", "--deselect", "test_a.py::test_own_failure")
    assert recorded.outcomes == {"passed": 3, "deselected": 1}, recorded
    own, other = (suite.folder / "recordings" / "test_a" / f"test_{name}.jsonl" for name in ("own_failure", "swallows"))
    own.write_bytes(other.read_bytes())
    finished = suite.run()
    assert finished.outcomes == {"failed": 3, "passed": 1}, finished
    assert finished.text.count("it tried to connect to 192.0.2.1:443\n  test_a.py:") == 2
    assert "it tried to call 'anthropic-messages' past its recording\n  test_a.py:" in finished.text
    assert finished.text.count("if that is a vendor's SDK: a recording answers calls that are made through") == 2
    assert "assert (1 + 1) == 3" in finished.text


def test_loopback_is_allowed_by_marker_option_conftest_or_ini(suite: Suite) -> None:
    test = """
        import socket
        import pytest

        @pytest.mark.recording
        def test_server():
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
    """
    suite.write(test_a=test)
    suite.run("--recording-mode=record")
    assert suite.run().outcomes == {"failed": 1}
    assert suite.run("--recording-loopback").outcomes == {"passed": 1}
    assert suite.run("-o", "recording_loopback=true").outcomes == {"passed": 1}
    suite.write(test_a=test.replace("mark.recording", "mark.recording(loopback=True)"))
    assert suite.run().outcomes == {"passed": 1}
    suite.write(test_a=test.replace("mark.recording", "mark.recording(loopback=False)"))
    assert suite.run("--recording-loopback").outcomes == {"failed": 1}
    suite.write(test_a=test, conftest="def pytest_openprogram_settings(item):\n    return {'loopback': True}\n")
    assert suite.run().outcomes == {"passed": 1}
