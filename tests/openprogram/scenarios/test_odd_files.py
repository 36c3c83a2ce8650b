"""Files of a scenario that are not what they should be: each is refused by name, before anything runs."""

import asyncio
import os
import py_compile
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openprogram.contracts.errors import ContractError
from openprogram.evaluation.replaying import Replayed, replay_scenario
from openprogram.pipeline.errors import PipelineError
from openprogram.scenarios.errors import ScenarioError
from openprogram.scenarios.folder import load_scenario
from openprogram.scenarios.script import read_script
from openprogram.scenarios.starting import new_scenario

JSON_FILES = ("resources/orders.json", "fixtures/order-17-open.json", "script.json", "contracts/pins.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_scenario(tmp_path / "shop", "shop")
    return tmp_path / "shop"


def load(folder: Path) -> None:
    """All that is read before a run begins."""
    load_scenario(folder)
    read_script(folder / "script.json")


def replayed_from(folder: Path) -> Replayed:
    """A whole run of what stands in the folder."""
    return asyncio.run(replay_scenario(load_scenario(folder)))


@pytest.mark.parametrize("name", JSON_FILES)
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not a JSON number"),
        (b'{"a": 1e999}', "not a JSON number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' stands twice in one object"),
        (b"[" * 129 + b"]" * 129, "nested deeper than 128 levels"),
        (b"[" * 100_000, "not JSON"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xff\xfe{\x00", "not UTF-8"),
        (b'"text"', ""),
        (b"17", ""),
    ],
)
def test_json_that_is_none_or_would_hide_something_is_refused(
    folder: Path, name: str, content: bytes, says: str
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises((ScenarioError, ContractError)) as refused:
        load(folder)
    assert name.rpartition("/")[2] in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize("name", [*JSON_FILES, "scenario.toml", "contracts/get_order.toml"])
def test_a_folder_in_a_files_place_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()
    with pytest.raises((ScenarioError, ContractError), match="Is a directory"):
        load(folder)


@pytest.mark.parametrize("name", ["scenario.toml", "contracts/get_order.toml"])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"seed = ", "not TOML"),
        (b"\xff", "not UTF-8"),
        (b"limits = { seconds = nan }", "not a JSON number"),
        (b"limits = { seconds = inf }", "not a JSON number"),
        (b"a = " + b"[" * 200 + b"]" * 200, "nested deeper than 128 levels"),
        (b"surprise = 1", "surprise"),
        (b"name = 1\nid = 1", ""),
    ],
)
def test_toml_that_is_none_or_holds_what_json_does_not_is_refused(
    folder: Path, name: str, line: bytes, says: str
) -> None:
    file = folder / name
    file.write_bytes(line + b"\n" + file.read_bytes())
    with pytest.raises(ScenarioError) as refused:
        load(folder)
    assert file.name in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('[[expect]]\npath = "$["\nexists = true', "is no JSONPath"),
        ('[[expect]]\nabout = "account"\nclaim = "("', "is no regular expression"),
        ('[[expect]]\nschema = { type = "thing" }', "not a JSON Schema"),
        ('[[inject]]\ntool = "get_order"\nfault = "delay"\nseconds = 1e300', "less than or equal"),
        (
            '[[approvals]]\ntool = "x"\narguments = {}\ndecision = "denied"\n' * 2,
            "2 approvals decide the same call of x",
        ),
        ("[credentials]\n'a b' = 'x'", "without spaces"),
    ],
)
def test_what_would_only_fail_after_the_run_is_refused_before(folder: Path, lines: str, says: str) -> None:
    with (folder / "scenario.toml").open("a") as file:
        file.write(f"\n{lines}\n")
    with pytest.raises(ScenarioError, match=says):
        load(folder)


@pytest.mark.parametrize("start", ["9999-12-31T23:00:00Z", "0001-01-01T00:00:00+14:00"])
def test_a_scenario_begins_where_there_is_time_around_it(folder: Path, start: str) -> None:
    settings = folder / "scenario.toml"
    settings.write_text(settings.read_text().replace("2026-01-05T09:00:00Z", start))
    with pytest.raises(ScenarioError, match="too near"):
        load(folder)


def credentials_twice(folder: Path) -> None:
    (folder / "resources/credentials.json").write_text('{"shop": "x"}')
    with (folder / "scenario.toml").open("a") as file:
        file.write("\n[credentials]\nshop = 'y'\n")


def two_operations(folder: Path) -> None:
    with (folder / "operations.py").open("a") as file:
        file.write("\n\n@operation('cancel_order', revision='2')\ndef again(*_):\n    return []\n")


def one_function_for_two_tools(folder: Path) -> None:
    with (folder / "operations.py").open("a") as file:
        file.write("\n\n@operation('x')\n@operation('y')\ndef both(*_):\n    return []\n")


def an_exit(folder: Path) -> None:
    (folder / "operations.py").write_text("raise SystemExit(0)")


def a_name_with_a_slash(folder: Path) -> None:
    (folder / "resources/orders.json").write_text('{"17/18": {}}')


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (credentials_twice, "credentials.json"),
        (two_operations, "two functions answer 'cancel_order'"),
        (one_function_for_two_tools, "both answers a tool already"),
        (an_exit, "operations.py: SystemExit"),
        (a_name_with_a_slash, "orders.json: resource 'orders/17/18'"),
    ],
)
def test_what_would_be_lost_or_end_the_process_is_refused(
    folder: Path, change: Callable[[Path], None], says: str
) -> None:
    change(folder)
    with pytest.raises(ScenarioError, match=says):
        load(folder)


def test_line_ends_of_another_system_and_links_to_files_change_nothing(folder: Path) -> None:
    before = replayed_from(folder).journal
    for file in [*folder.rglob("*.toml"), *folder.rglob("*.json"), *folder.rglob("*.py")]:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    moved = folder.parent / "elsewhere.json"
    (folder / "fixtures/order-17-open.json").rename(moved)
    (folder / "fixtures/order-17-open.json").symlink_to(moved)
    assert replayed_from(folder).journal == before


def test_unicode_names_are_names_as_they_are(folder: Path) -> None:
    name = "é\u0301🫖\u200b"
    for file in [*folder.rglob("*.toml"), *folder.rglob("*.json")]:
        file.write_text(
            file.read_text().replace('"17"', f'"{name}"').replace("/17", f"/{name}").replace("'17'", f"'{name}'")
        )
    replayed = replayed_from(folder)
    assert replayed.result is not None
    assert replayed.result.world[f"orders/{name}"]["status"] == "cancelled"


def test_a_dates_text_stands_for_it(folder: Path) -> None:
    with (folder / "scenario.toml").open("a") as file:
        file.write("\n[[expect]]\nequals = 2026-01-05\n")
    assert load_scenario(folder).settings.expect[-1].equals == "2026-01-05"


def test_what_stands_in_the_file_runs_and_not_what_was_compiled_from_it_before(folder: Path) -> None:
    operations = folder / "operations.py"
    text = operations.read_text()
    operations.write_text(text.replace('"cancelled"', '"forgotten"'))  # as long as the other
    times = operations.stat()
    py_compile.compile(str(operations))
    operations.write_text(text)  # the same size and time: compiled code would pass for this
    os.utime(operations, ns=(times.st_atime_ns, times.st_mtime_ns))
    replayed = replayed_from(folder)
    assert replayed.result is not None
    assert replayed.result.world["orders/17"]["status"] == "cancelled"


def test_nothing_else_is_raised_for_any_single_byte_that_is_lost(folder: Path) -> None:
    for name in ("scenario.toml", "contracts/get_order.toml", "fixtures/order-17-open.json"):
        content = (folder / name).read_bytes()
        for position in range(0, len(content), 7):
            (folder / name).write_bytes(content[:position] + content[position + 1 :])
            try:
                load(folder)
            except PipelineError:
                continue
        (folder / name).write_bytes(content)


def test_assertions_of_expectations_count_also_where_python_leaves_assertions_out(folder: Path) -> None:
    (folder / "expectations.py").write_text(
        "from openprogram.evaluation import expectation\n\n\n"
        '@expectation(about="account")\ndef never(evidence):\n    assert False, "it was judged"\n'
    )
    command = [sys.executable, "-O", "-m", "openprogram", "scenarios", "replay", str(folder)]
    replayed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert replayed.returncode == 1
    assert "it was judged" in replayed.stdout
