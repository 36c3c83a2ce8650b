"""Stored API keys: where they are, who reads them, and where they never turn up."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import to_thread

from openprogram.credentials import MAX_KEY_CHARACTERS, forget_key, load_keys, store_key
from openprogram.errors import ConfigError, UsageError
from openprogram.home import Home
from openprogram.providers.types import SimpleStreamOptions
from openprogram.providers.vendors import VENDOR_APIS, VendorProvider
from tests.openprogram.cli.command import Finished, run_process
from tests.openprogram.providers.vendors.loopback import Response, loopback
from tests.openprogram.providers.vendors.small_answers import ANSWERS, HELLO, model, response

#: In no shape that the redaction knows: what keeps it out of files must be that it never gets near them.
KEY = "correct-horse-battery"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", "test")


# ---- the file


def test_a_stored_key_is_read_again_and_the_file_is_its_owners_alone(home: Home) -> None:
    assert load_keys(home) == {}
    assert not home.folder.exists()
    umask = os.umask(0)
    try:
        store_key(home, "groq", KEY)
        store_key(home, "openai", "other")
    finally:
        os.umask(umask)
    assert load_keys(home) == {"groq": KEY, "openai": "other"}
    assert stat.S_IMODE(home.credentials_file.stat().st_mode) == 0o600


def test_a_key_can_be_replaced_and_forgotten(home: Home) -> None:
    store_key(home, "groq", "old")
    store_key(home, "groq", KEY)
    assert load_keys(home) == {"groq": KEY}
    assert forget_key(home, "groq")
    assert not forget_key(home, "groq")
    assert load_keys(home) == {}


@pytest.mark.parametrize("key", ["", "two words", "line\nend", "\x1b[0m", "schlüssel", "x" * (MAX_KEY_CHARACTERS + 1)])
def test_what_can_be_no_key_is_refused_without_being_shown(home: Home, key: str) -> None:
    with pytest.raises(UsageError) as refused:
        store_key(home, "groq", key)
    assert not key or key not in str(refused.value)
    assert not home.folder.exists()


@pytest.mark.parametrize("content", [KEY, f'["{KEY}"]', f'{{"groq": ["{KEY}"]}}', f'{{"groq": "{KEY}', "[" * 100_000])
def test_a_damaged_file_is_refused_kept_and_not_quoted(home: Home, content: str) -> None:
    home.folder.mkdir()
    home.credentials_file.write_text(content)
    tries: list[Callable[[], object]] = [lambda: load_keys(home), lambda: store_key(home, "x", "y")]
    for attempt in tries:
        with pytest.raises(ConfigError) as damaged:
            attempt()
        assert str(home.credentials_file) in str(damaged.value)
        assert KEY not in f"{damaged.value} {damaged.value.__cause__} {damaged.value.__context__}"
    assert home.credentials_file.read_text() == content


# ---- which key a call takes


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("option", "environment", "stored", "sent"),
    [
        ("from-option", "from-environment", "from-file", "from-option"),
        (None, "from-environment", "from-file", "from-environment"),
        (None, "", "from-file", "from-file"),
        (None, None, "from-file", "from-file"),
    ],
)
async def test_the_nearest_key_counts(option: str | None, environment: str | None, stored: str, sent: str) -> None:
    [row] = [row for row in VENDOR_APIS if row.api == "anthropic-messages"]
    environ: dict[str, str] = {}
    asked: list[str] = []

    def stored_key(provider: str) -> str | None:
        asked.append(provider)
        return stored

    provider = VendorProvider(row, environ=environ, now_ms=lambda: 0, stored_key=stored_key)
    async with loopback(response(row.api)) as server:
        stream = provider.stream_simple(
            model(row.api, server.url, provider="anthropic"), HELLO, SimpleStreamOptions(api_key=option)
        )
        assert asked == []
        if environment is not None:
            environ["ANTHROPIC_API_KEY"] = environment  # read when the call is made
        last = [event async for event in stream][-1]
        assert last.type == "done", last
    assert server.requests[0][0]["authorization"] == f"bearer {sent}"
    assert asked == ([] if sent != stored else ["anthropic"])


# ---- a run at the terminal, recorded and replayed


def traces(folder: Path) -> list[str]:
    """The files in which the key stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if KEY.encode() in path.read_bytes())


async def run(home: Home, url: str, *options: str, **environ: str) -> Finished:
    def process() -> Finished:
        clean = {name: text for name, text in os.environ.items() if not name.endswith("_API_KEY")}
        arguments = ("--verbose", *options, "run", "hi", "--model", "groq:m", "--base-url", url)
        return run_process(home.folder, *arguments, environ={**clean, **environ})

    return await to_thread.run_sync(process)


ANSWER = Response([*ANSWERS["openai-completions"][2:4], ANSWERS["openai-completions"][-1]])
REFUSAL = Response.json(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}})


@pytest.mark.anyio
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "in the environment"])
@pytest.mark.parametrize("answer", [ANSWER, REFUSAL], ids=["answered", "refused, with the key in words"])
async def test_a_key_is_in_no_recording_no_log_and_no_output(home: Home, answer: Response, stored: bool) -> None:
    environ = {} if stored else {"GROQ_API_KEY": KEY}
    if stored:
        store_key(home, "groq", KEY)
    run_process(home.folder, "recordings", "record", "--name", "first")
    async with loopback(answer) as server:
        live = await run(home, server.url, "--debug", **environ)
    assert server.wire[0].headers["authorization"] == f"Bearer {KEY}"
    assert (live.code, "[secret removed]" in live.err) == ((0, False) if answer is ANSWER else (1, True))
    assert KEY not in live.out + live.err
    assert traces(home.folder) == (["credentials.json"] if stored else [])

    run_process(home.folder, "recordings", "replay", "first")
    home.credentials_file.write_text("whoever reads this fails")
    replayed = await run(home, server.url)
    assert (replayed.code, replayed.out) == (live.code, live.out)
    assert "replayed 1 of 1 recorded calls, offline" in replayed.err
    assert str(home.credentials_file) not in replayed.err


@pytest.mark.anyio
async def test_a_live_call_that_needs_the_file_says_what_is_wrong_with_it(home: Home) -> None:
    store_key(home, "groq", KEY)
    home.credentials_file.write_text(f"not JSON {KEY}")
    async with loopback() as server:
        failed = await run(home, server.url)
    assert failed.code == 1
    assert str(home.credentials_file) in failed.err
    assert KEY not in failed.err
    assert server.requests == []
