"""The process-wide runtime, each test in a new interpreter: what starts it, what it does once, how it fails closed."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.types import Context, Model, UserMessage
from tests.boundary.child import VENDOR_MODULES, output_of

#: What every program here begins with.
START = """
import asyncio, json, sys, threading
from openprogram.providers import get_api_provider, initialize_provider_runtime, register_api_provider
from openprogram.providers.api_registry import UnknownApi
from openprogram.providers.runtime import ProviderRuntime, get_activation
from openprogram.providers.scripted import ScriptedProvider
from openprogram.providers.stream import complete, stream, stream_simple
from openprogram.providers.types import Context, Model, UserMessage

def model(api="here"):
    return Model(id="small-1", api=api, provider="example")

CONTEXT = Context(messages=[UserMessage(content="hi")])

def call(api="here"):
    return asyncio.run(complete(model(api), CONTEXT)).text
"""


def _run(program: str, *arguments: object, home: Path, **environ: str) -> list[str]:
    return output_of(START + textwrap.dedent(program), *arguments, home=home, **environ).splitlines()


def _configure(home: Path, mode: str, file: Path | str) -> None:
    (home / "config.json").write_text(json.dumps({"record_replay": {"mode": mode, "file": str(file)}}))


async def _record(path: Path, api: str = "here") -> None:
    model = Model(id="small-1", api=api, provider="example")
    context = Context(messages=[UserMessage(content="hi")])
    await RecordingProvider(ScriptedProvider(["recorded"]), path).stream(model, context)


# ---- once, for everybody


def test_threads_and_tasks_start_it_once_and_get_the_same_provider(tmp_path: Path) -> None:
    _configure(tmp_path, "record", tmp_path / "run.jsonl")
    program = """
        register_api_provider("here", ScriptedProvider([]))
        starts, providers, gate = [], [], threading.Barrier(32)
        runtime = ProviderRuntime(built_ins=lambda: starts.append(1) or {})

        def ask():
            gate.wait()
            runtime.initialize()
            providers.append(get_api_provider("here"))

        threads = [threading.Thread(target=ask) for _ in range(32)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()

        async def ask_in_task():
            await asyncio.sleep(0)
            runtime.initialize()
            return get_api_provider("here")

        async def main():
            return await asyncio.gather(*(ask_in_task() for _ in range(32)))

        providers += asyncio.run(main())
        print(len(starts), len(providers), len({id(provider) for provider in providers}))
        print(type(providers[0]).__name__)
    """
    assert _run(program, home=tmp_path) == ["1 64 1", "RecordingProvider"]
    assert (tmp_path / "run.jsonl").read_bytes().count(b"\n") == 1


def test_the_first_lookup_starts_it_and_no_import_or_registration_does(tmp_path: Path) -> None:
    _configure(tmp_path, "record", tmp_path / "run.jsonl")
    program = """
        from pathlib import Path
        register_api_provider("here", ScriptedProvider(["a"]))
        print(Path(sys.argv[1]).exists(), type(get_activation()).__name__)
        call = stream(model(), CONTEXT)
        print(Path(sys.argv[1]).exists(), type(get_activation()).__name__)
    """
    assert _run(program, tmp_path / "run.jsonl", home=tmp_path) == ["False Inactive", "True RecordActive"]


# ---- off


def test_without_configuration_calls_are_live_and_nothing_is_written(tmp_path: Path) -> None:
    program = """
        register_api_provider("here", ScriptedProvider(["live"]))
        print(call(), type(get_activation()).__name__)
        try:
            call("nowhere")
        except UnknownApi as error:
            print("here" in error.known, "anthropic-messages" in error.known)
    """
    environ = {
        "OPENPROGRAM_RECORD": "1",
        "OPENPROGRAM_MODE": "record",
        "OPENPROGRAM_RECORD_REPLAY_MODE": "record",
        "OPENPROGRAM_RECORD_REPLAY_FILE": str(tmp_path / "run.jsonl"),
        "RECORD_REPLAY_MODE": "record",
        "RECORD_REPLAY_FILE": str(tmp_path / "run.jsonl"),
        "OPENPROGRAM_RECORD_REPLAY": json.dumps({"mode": "record", "file": str(tmp_path / "run.jsonl")}),
    }
    assert _run(program, home=tmp_path, **environ) == ["live Inactive", "True True"]
    assert list(tmp_path.iterdir()) == []


def test_what_a_program_registers_first_is_not_replaced_by_a_built_in(tmp_path: Path) -> None:
    program = """
        register_api_provider("anthropic-messages", ScriptedProvider(["mine"]))
        initialize_provider_runtime()
        print(call("anthropic-messages"))
    """
    assert _run(program, home=tmp_path) == ["mine"]


# ---- record


def test_record_covers_providers_that_were_registered_before_and_after_the_start(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    _configure(tmp_path, "record", path)
    program = """
        register_api_provider("early", ScriptedProvider(["one", "two"]))
        print(call("early"))
        register_api_provider("late", ScriptedProvider(["three"]))
        print(call("late"), call("early"))
    """
    assert _run(program, home=tmp_path) == ["one", "three two"]
    requests = [line for line in _lines(path) if line["type"] == "request"]
    assert [(line["call_index"], line["model"]["api"]) for line in requests] == [
        (0, "early"),
        (1, "late"),
        (2, "early"),
    ]
    with ReplayProvider(path) as replay:
        assert replay.call_count == 3


def test_a_second_process_appends_to_what_the_first_recorded(tmp_path: Path) -> None:
    _configure(tmp_path, "record", tmp_path / "run.jsonl")
    program = """
        register_api_provider("here", ScriptedProvider(["a"]))
        call()
    """
    for _ in range(2):
        _run(program, home=tmp_path)
    assert [line["call_index"] for line in _lines(tmp_path / "run.jsonl") if line["type"] == "call_end"] == [0, 1]


# ---- replay


@pytest.mark.anyio
async def test_replay_constructs_no_client_resolves_no_credential_and_touches_no_network(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await _record(path, "anthropic-messages")
    _configure(tmp_path, "replay", path)
    program = """
        from collections.abc import Mapping
        from openprogram.providers.vendors import vendor_providers

        class Watched(Mapping):
            '''An environment that notes what is looked up in it.'''
            def __init__(self, values): self.values_, self.asked = values, []
            def __getitem__(self, key):
                self.asked.append(key)
                return self.values_[key]
            def __iter__(self): return iter(self.values_)
            def __len__(self): return len(self.values_)

        environ = Watched({"OPENPROGRAM_HOME": sys.argv[1], "ANTHROPIC_API_KEY": "x"})
        touched = []
        # asyncio's own self-pipe is a socket pair: made here, before the watch
        loop = asyncio.new_event_loop()
        families = ("socket.", "subprocess.", "os.exec", "os.system", "os.posix_spawn", "os.fork")
        sys.addaudithook(lambda event, arguments: event.startswith(families) and touched.append(event))
        runtime = ProviderRuntime(environ, lambda: vendor_providers(environ=environ))
        runtime.initialize()
        provider = get_api_provider("anthropic-messages")
        register_api_provider("later", ScriptedProvider(["live"]))
        print(type(provider).__name__, get_api_provider("later") is provider)
        print(loop.run_until_complete(complete(model("anthropic-messages"), CONTEXT)).text)
        provider.assert_consumed()
        loop.run_until_complete(loop.shutdown_default_executor())
        print(touched, environ.asked)
        print(sorted(set(sys.argv[2:]) & set(sys.modules)))
        loop.close()
        # The lookup started the process's own runtime beside this one. Asked, neither is reported at the end.
        for active in (runtime.activation, get_activation()): active.provider.verdict.describe()
    """
    assert _run(program, tmp_path, *VENDOR_MODULES, home=tmp_path) == [
        "ReplayProvider True",
        "recorded",
        "[] ['OPENPROGRAM_HOME']",
        "[]",
    ]


@pytest.mark.anyio
async def test_a_replay_that_diverges_or_names_an_unknown_api_never_goes_live(tmp_path: Path) -> None:
    await _record(tmp_path / "run.jsonl")
    _configure(tmp_path, "replay", tmp_path / "run.jsonl")
    program = """
        live = ScriptedProvider(["live"] * 9)
        register_api_provider("here", live)
        CONTEXT.messages[0].content = "another"
        for api in ("here", "nowhere"):
            try:
                call(api)
            except Exception as failure:
                print(type(failure).__name__)
        CONTEXT.messages[0].content = "hi"
        verdict = get_activation().provider.verdict
        print(call(), verdict.failed, live.requests)
        print(verdict.describe().split()[:2])  # asked, it isn't reported at the end
    """
    assert _run(program, home=tmp_path) == [
        "ReplayMismatch",
        "UnknownApi",
        "recorded True []",
        "['replay', 'failed']",
    ]


# ---- an activation that fails


def _missing(home: Path) -> None:
    _configure(home, "replay", home / "missing.jsonl")


def _damaged(home: Path) -> None:
    (home / "run.jsonl").write_text('{"type":"header","format_version":1}\n{"type":"event"')
    _configure(home, "replay", home / "run.jsonl")


def _of_another_version(home: Path) -> None:
    (home / "run.jsonl").write_text('{"type":"header","format_version":99}\n')
    _configure(home, "replay", home / "run.jsonl")


def _into_no_recording(home: Path) -> None:
    (home / "notes.txt").write_text("not a recording\n")
    _configure(home, "record", home / "notes.txt")


def _into_a_folder(home: Path) -> None:
    _configure(home, "record", home)


def _damaged_config(home: Path) -> None:
    (home / "config.json").write_text("{")


def _unknown_mode(home: Path) -> None:
    _configure(home, "replya", home / "run.jsonl")


FAILURES = {
    "a missing file": (_missing, "replay", "no such file"),
    "a damaged file": (_damaged, "replay", "cut off"),
    "a file of another version": (_of_another_version, "replay", "99"),
    "a file that is no recording": (_into_no_recording, "record", "not"),
    "a folder": (_into_a_folder, "record", "is a folder"),
    "a damaged configuration": (_damaged_config, "the configuration", "not valid JSON"),
    "an unknown mode": (_unknown_mode, "the configuration", "record_replay.mode"),
}


@pytest.mark.parametrize(("prepare", "mode", "reason"), FAILURES.values(), ids=FAILURES.keys())
def test_an_activation_that_fails_blocks_every_call_and_not_the_runtime(
    tmp_path: Path, prepare: Any, mode: str, reason: str
) -> None:
    prepare(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    program = """
        live = ScriptedProvider(["live"] * 9)
        register_api_provider("here", live)
        initialize_provider_runtime()
        register_api_provider("later", live)
        failures = []
        for api in ("here", "later", "anthropic-messages", "here"):
            try:
                call(api)
            except Exception as failure:
                failures.append(failure)
        print(len(failures), len({id(failure) for failure in failures}), len(live.requests))
        print(len({(type(failure), str(failure), *failure.__notes__) for failure in failures}))
        print(type(get_activation()).__name__)
        print(json.dumps([failures[0].mode, str(failures[0]), failures[0].next_step]))
        sys.stderr = sys.stdout  # for what is told at the end
    """
    *counts, said, told, advised = _run(program, home=tmp_path)
    assert counts == ["4 4 0", "1", "Blocked"]
    said_mode, message, next_step = json.loads(said)
    assert said_mode == mode
    assert reason in message
    assert "openprogram recordings status" in next_step
    assert "openprogram recordings off" in next_step
    assert (told, advised) == (f"openprogram: 4 calls were refused: {message}", next_step)
    assert {path: path.read_bytes() for path in before} == before
    log = [json.loads(line) for line in (tmp_path / "logs" / "openprogram.jsonl").read_text().splitlines()]
    assert [(line["event"], line["mode"]) for line in log] == [("runtime.activation_blocked", mode)]


def test_a_state_folder_that_cannot_be_found_blocks_every_call_and_not_the_runtime(tmp_path: Path) -> None:
    program = """
        register_api_provider("here", ScriptedProvider(["live"]))
        runtime = ProviderRuntime({"OPENPROGRAM_HOME": "~no-such-user-here/state"})
        runtime.initialize()
        print(runtime.state.value, type(runtime.activation).__name__, type(get_api_provider("here")).__name__)
    """
    # the process-wide runtime starts with the lookup, finds no configuration, and would make calls live again
    assert _run(program, home=tmp_path)[0].startswith("ready Blocked")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
