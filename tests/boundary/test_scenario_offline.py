"""A replayed scenario reaches nothing live: every live constructor is watched while runs pass, stop and fail."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.boundary.child import VENDOR_MODULES, output_of

EXAMPLE = Path(__file__).parents[2] / "docs/examples/orders"

#: Replays the folder in argv and prints how it ended, then what was touched: connections and name lookups, processes,
#: credential lookups, vendor modules.
WATCH = """
    import os, sys
    folder, unwanted = sys.argv[1], sys.argv[2].split(",")
    seen = []

    def watch(event, arguments):
        if event.startswith("socket.") and event not in ("socket.__new__", "socket.bind"):
            seen.append(event)
        elif event == "socket.__new__" and arguments[1] not in (1,):  # AF_UNIX: asyncio's own wake-up pair
            seen.append(f"socket family {arguments[1]}")
        elif event.split(".")[0] == "subprocess" or event in {"os.system", "os.exec", "os.posix_spawn", "os.fork"}:
            seen.append(event)

    class Environment(dict):
        def _look(self, name):
            if isinstance(name, str) and ("KEY" in name or "TOKEN" in name or "SECRET" in name or "CREDENTIAL" in name):
                seen.append(f"environment {name}")
        def __getitem__(self, name):
            self._look(name)
            return super().__getitem__(name)
        def get(self, name, default=None):
            self._look(name)
            return super().get(name, default)

    import anyio
    from pathlib import Path
    from openprogram.evaluation.replaying import replay_scenario
    from openprogram.fixtures.errors import RunStopped
    from openprogram.scenarios.folder import load_scenario

    os.environ = Environment(os.environ)
    sys.addaudithook(watch)
    replayed = anyio.run(replay_scenario, load_scenario(Path(folder)))
    print(replayed.stopped.code if isinstance(replayed.stopped, RunStopped) else replayed.verdict.passed)
    print(*seen, *sorted(set(unwanted) & set(sys.modules)), sep="\\n")
"""


def folder(tmp_path: Path, script: list[Any], **settings: str) -> Path:
    """The example with another script, and lines of scenario.toml replaced."""
    copy = Path(shutil.copytree(EXAMPLE, tmp_path / "orders"))
    (copy / "script.json").write_text(json.dumps(script))
    text = (copy / "scenario.toml").read_text()
    text = text.replace('[[inject]]\ntool = "pay"\nfault = "lost_ack"\n', "")
    for before, after in settings.items():
        assert before in text
        text = text.replace(before, after)
    (copy / "scenario.toml").write_text(text)
    return copy


def ended(tmp_path: Path, scenario: Path) -> str:
    return output_of(WATCH, scenario, ",".join(VENDOR_MODULES), home=tmp_path / "home", OPENAI_API_KEY="sk-live")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def test_a_run_that_passes_touches_nothing(tmp_path: Path) -> None:
    assert ended(tmp_path, EXAMPLE) == "True"


def test_an_unknown_tool_stops_before_anything_live(tmp_path: Path) -> None:
    assert ended(tmp_path, folder(tmp_path, [call("fly")])) == "tool.unknown"


def test_a_missing_fixture_stops_before_anything_live(tmp_path: Path) -> None:
    scenario = folder(tmp_path, [call("get_order", order_id="17")])
    operations = scenario / "operations.py"
    operations.write_text(operations.read_text().replace('@operation("get_order")\n', ""))
    assert ended(tmp_path, scenario) == "fixture.missing"


def test_a_wrong_schema_revision_stops_before_anything_live(tmp_path: Path) -> None:
    scenario = folder(tmp_path, [call("get_order", order_id="17")])
    contract = scenario / "contracts/get_order.toml"
    contract.write_text(contract.read_text().replace('revision = "1"', 'revision = "2"'))
    assert ended(tmp_path, scenario) == "tool.unanswered"


def test_a_script_that_ends_too_early_stops_before_anything_live(tmp_path: Path) -> None:
    assert ended(tmp_path, folder(tmp_path, [call("wait", seconds=1)])) == "model.unanswered"


def test_an_approval_that_nobody_configured_stops_before_anything_live(tmp_path: Path) -> None:
    assert ended(tmp_path, folder(tmp_path, [call("refund", order_id="18", amount=1)])) == "approval.required"


def test_a_session_of_the_provider_is_kept_in_the_journal_and_never_continued(tmp_path: Path) -> None:
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Order 17 is open."}],
        "response_id": "resp_live_1",
        "conversation": "conv_live_1",
    }
    scenario = folder(tmp_path, [answer, answer, answer])
    assert ended(tmp_path, scenario).splitlines() == ["False"]  # it did not do what is expected, and reached nothing


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/", "https://example.com/redirect"])
def test_a_base_url_in_the_scenario_leads_nowhere(tmp_path: Path, url: str) -> None:
    settings = {'id = "shop-assistant"': f'id = "shop-assistant"\nbase_url = "{url}"\napi = "openai-completions"'}
    assert ended(tmp_path, folder(tmp_path, [call("fly")], **settings)) == "tool.unknown"


def test_the_watch_sees_what_it_watches_for(tmp_path: Path) -> None:
    """The tests above prove nothing unless an operation that does such things is noticed."""
    scenario = folder(tmp_path, [call("wait", seconds=1), call("fly")])
    operations = scenario / "operations.py"
    doing = (
        "    import os, socket, subprocess\n"
        "    import openai\n"
        '    os.environ.get("OPENAI_API_KEY")\n'
        '    subprocess.run(["true"])\n'
        '    try: socket.create_connection(("127.0.0.1", 9), timeout=1)\n'
        "    except OSError: pass\n"
        '    yield Delay(seconds=arguments["seconds"])\n'
    )
    operations.write_text(operations.read_text().replace('    yield Delay(seconds=arguments["seconds"])\n', doing))
    seen = ended(tmp_path, scenario)
    for what in ("environment OPENAI_API_KEY", "subprocess.Popen", "socket.getaddrinfo", "socket.connect", "openai"):
        assert what in seen
