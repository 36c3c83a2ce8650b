"""One case, checked: served over HTTP, recorded, replayed with the server gone, and held to what its bytes say."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from anyio import fail_after

from openprogram.pipeline.redaction import remove_secret_values
from openprogram.providers.api_registry import ApiProvider
from openprogram.providers.codec import AssistantEventCodec
from openprogram.providers.recording import RecordingProvider
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.types import AssistantMessageEvent
from openprogram.providers.vendors import vendor_providers
from tests.wire.answers import answer_problems, event_problems, final_message
from tests.wire.calls import Call, Place
from tests.wire.cases import WireCase, diff_json, serve
from tests.wire.formats import APIS, FORMATS, WireFormat

__all__ = ["NOW_MS", "CaseResult", "check_case", "vendor_provider"]

#: Seconds for one exchange. The longest takes a second or two.
_PATIENCE_S = 60

#: The clock of the runs stands still.
NOW_MS = 1_700_000_000_000

Status: TypeAlias = Literal["passed", "failed", "left out", "not implemented"]
Events: TypeAlias = list[AssistantMessageEvent]


@dataclass
class CaseResult:
    """What came of a case. `problems`: why it failed; `notes`: what a reader of the result should know."""

    name: str
    folder: str
    api: str
    status: Status
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def vendor_provider(api: str) -> ApiProvider | None:
    """The adapter for an api, without an environment and with a clock that stands still; None if there is none."""
    return vendor_providers(environ={}, now_ms=lambda: NOW_MS).get(api)


async def check_case(
    case: WireCase,
    provider_of: Callable[[str], ApiProvider | None] = vendor_provider,
    chunk: int | str = "events",
) -> CaseResult:
    """Run the case. `chunk`: how the server cuts its bytes, as for serve.py. Raises nothing that a case can cause."""
    api = APIS.get(case.folder, case.folder)
    result = CaseResult(case.name, case.folder, api, "passed")
    if case.left_out is not None:
        result.status = "left out"
        result.notes.append(case.left_out)
        return result
    provider, form = provider_of(api), FORMATS.get(api)
    if provider is None or form is None:
        result.status = "not implemented"
        return result
    try:
        await _run(case, provider, form, chunk, result)
    except Exception as error:  # noqa: BLE001 - whatever it is, the case has failed, and the others go on
        result.problems.append(f"{type(error).__name__}: {error}")
    result.notes = list(dict.fromkeys(result.notes))  # each once: they repeat from exchange to exchange
    result.status = "failed" if result.problems else "passed"
    return result


async def _run(case: WireCase, provider: ApiProvider, form: WireFormat, chunk: int | str, result: CaseResult) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # the recordings are older than some models' end of life, which Anthropic's SDK warns of
        warnings.filterwarnings("ignore", "The model .* is deprecated", DeprecationWarning)
        path = Path(folder) / "case.jsonl"
        calls, seen = await _record(case, provider, form, chunk, path, result)
        await _replay(path, calls, seen, result)


async def _record(
    case: WireCase, provider: ApiProvider, form: WireFormat, chunk: int | str, path: Path, result: CaseResult
) -> tuple[list[Call], list[Events]]:
    calls: list[Call] = []
    seen: list[Events] = []
    recording = RecordingProvider(provider, path)
    with serve(case, chunk=chunk) as url:
        place = Place(result.api, case.provider, url.base_url)
        for index, exchange in enumerate(case.exchanges):
            call = form.call(exchange["request"], place)
            calls.append(call)
            with fail_after(_PATIENCE_S):
                stream = recording.stream_simple(call.model, call.context, call.options)
                seen.append([event async for event in stream])
            expected = form.expected(exchange["request"], exchange["response"])
            problems = [*event_problems(seen[-1]), *answer_problems(final_message(seen[-1]), seen[-1], expected)]
            result.problems += [f"exchange {index}: {problem}" for problem in problems]
            result.notes += expected.notes
    recording.close()
    result.problems += _server_problems(case, url.server)
    for index, call in enumerate(calls):
        if index < len(url.server.requests):
            sent = url.server.requests[index]["body"]
            result.problems += [
                f"exchange {index}: sent {line}" for line in _sent(case, form, index, call, sent, result)
            ]
    return calls, seen


def _server_problems(case: WireCase, server: Any) -> Iterator[str]:
    """What the server has to say: each exchange asked for once, and nothing else."""
    yield from (f"the server was asked wrongly: {problem}" for problem in server.problems)
    if len(server.requests) != len(case.exchanges):
        yield f"{len(server.requests)} requests for {len(case.exchanges)} exchanges"


def _sent(case: WireCase, form: WireFormat, index: int, call: Call, sent: Any, result: CaseResult) -> Iterator[str]:
    """Differences from the recorded request that are not documented ones."""
    recorded = case.exchanges[index]["request"].get("body")
    if recorded is None:
        return
    for difference in diff_json(case, form.same_form(recorded), form.same_form(sent)):
        lost = [why for at, why in call.left_out.items() if difference.startswith((f"{at}:", f"{at}/"))]
        result.notes += [f"not sent again: {why}" for why in lost]
        if not lost:
            yield difference


async def _replay(path: Path, calls: list[Call], seen: list[Events], result: CaseResult) -> None:
    """The same calls, answered from the file: the server is gone."""
    codec = AssistantEventCodec()
    with ReplayProvider(path) as replay:
        for index, (call, live) in enumerate(zip(calls, seen, strict=True)):
            stream = replay.stream_simple(call.model, call.context, call.options)
            replayed = [event async for event in stream]
            dumped = [codec.dump(event) for event in live]
            if dumped == [remove_secret_values(event) for event in dumped]:
                if replayed != live:
                    result.problems.append(f"exchange {index}: the replayed events differ")
            else:
                result.notes.append("a secret was kept out of the recording: its message is compared, not its deltas")
            if codec.dump(replayed[-1]) != remove_secret_values(codec.dump(live[-1])):
                result.problems.append(f"exchange {index}: the replayed message differs")
            if final_message(replayed).usage != final_message(live).usage:
                result.problems.append(f"exchange {index}: the replayed usage differs")
        replay.assert_consumed()
