"""Importing defines names and does nothing else."""

import pkgutil
import tomllib
from pathlib import Path

import pytest

from tests.boundary.child import CHECKOUT, VENDOR_MODULES, output_of

#: Imports modules while it watches what the interpreter opens, connects to and starts.
WATCH = """
    import importlib, os, pathlib, sys, sysconfig
    modules, unwanted = (names.split(",") for names in sys.argv[1:])
    roots = {pathlib.Path(root).resolve() for root in
             (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), os.getcwd())}
    seen = []

    def watch(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = pathlib.Path(os.fsdecode(arguments[0])).resolve()
            if not any(path.is_relative_to(root) for root in roots):
                seen.append(f"open {path}")
        elif event.split(".")[0] in {"socket", "subprocess"} or event in {"os.system", "os.exec", "os.posix_spawn"}:
            seen.append(event)

    sys.addaudithook(watch)
    for module in modules:
        importlib.import_module(module)
    print(*seen, *sorted(set(unwanted) & set(sys.modules)), sep="\\n")
"""

MODULES = [
    "openprogram.providers",
    "openprogram.providers.stream",
    "openprogram.providers.recording",
    "openprogram.providers.replay",
    "openprogram.providers.types",
    "openprogram.providers.vendors",
    "openprogram.agent.run",
]


def test_importing_opens_no_file_and_brings_no_vendor(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("not even JSON: whoever reads this fails")
    assert output_of(WATCH, ",".join(MODULES), ",".join(VENDOR_MODULES), home=tmp_path) == ""


def test_the_watch_sees_what_it_watches_for(tmp_path: Path) -> None:
    """The test above proves nothing unless a module that does such things is noticed."""
    (tmp_path / "does_things.py").write_text(
        "import json, pathlib, socket, subprocess\n"
        "pathlib.Path(__file__).with_name('read.txt').read_text()\n"
        "socket.socket().close()\n"
    )
    (tmp_path / "read.txt").touch()
    seen = output_of(WATCH, "does_things", "json", home=tmp_path, PYTHONPATH=str(tmp_path)).splitlines()
    assert f"open {tmp_path / 'read.txt'}" in seen
    assert {"socket.__new__", "json"} <= set(seen)


def _modules_after(tmp_path: Path, *modules: str) -> list[str]:
    program = """
        import importlib, sys
        for module in sys.argv[1:]:
            importlib.import_module(module)
        print(*sorted(name for name in sys.modules if name.startswith("openprogram.")), sep="\\n")
    """
    return output_of(program, *modules, home=tmp_path).splitlines()


def test_the_pipeline_imports_nothing_else_of_openprogram(tmp_path: Path) -> None:
    sources = (CHECKOUT / "pipeline").rglob("*.py")
    names = [
        ".".join(("openprogram", *source.relative_to(CHECKOUT).with_suffix("").parts)).removesuffix(".__init__")
        for source in sources
    ]
    assert "openprogram.pipeline.replay" in names
    loaded = _modules_after(tmp_path, *sorted(names))
    assert [name for name in loaded if not f"{name}.".startswith("openprogram.pipeline.")] == []


@pytest.mark.parametrize("module", ["openprogram.pipeline.replay", "openprogram.providers.replay"])
def test_replay_loads_nothing_live(tmp_path: Path, module: str) -> None:
    loaded = _modules_after(tmp_path, module)
    assert "openprogram.pipeline.stages.compare" in loaded
    live = {
        "openprogram.pipeline.record",
        "openprogram.pipeline.stages.live",
        "openprogram.pipeline.stages.write",
        "openprogram.pipeline.log.header",
        "openprogram.pipeline.log.writer",
        "openprogram.providers.recording",
        "openprogram.providers.runtime",
        "openprogram.providers.vendors",
    }
    assert live & set(loaded) == set()


def test_the_command_line_loads_no_runtime_before_a_command_needs_it(tmp_path: Path) -> None:
    loaded = _modules_after(tmp_path, "openprogram.cli.app")
    assert {"openprogram.providers.runtime", "openprogram.providers.vendors"} & set(loaded) == set()


#: Runs a program, then names the top-level modules of other projects that it has imported.
THIRD_PARTY = """
    import contextlib, io, pathlib, sys, sysconfig
    before = set(sys.modules)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        exec(sys.argv.pop(1))
    folders = {pathlib.Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}

    def is_third_party(name):
        origin = getattr(getattr(sys.modules[name], "__spec__", None), "origin", None) or ""
        return any(pathlib.Path(origin).resolve().is_relative_to(folder) for folder in folders)

    names = {name.partition(".")[0] for name in set(sys.modules) - before if is_third_party(name)}
    print(*sorted(names - {"openprogram"}))
"""

TYPER = {"typer", "annotated_doc", "click", "shellingham", "typing_extensions"}
PYDANTIC = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
ANYIO = {"anyio", "idna", "sniffio"}

#: What starts cold, and often: the program, its arguments, what it may import, what it surely does.
COLD_STARTS = {
    "--help": ("from openprogram.cli.app import main; main()", ["--help"], TYPER, {"typer"}),
    "recordings status": (
        "from openprogram.cli.app import main; main()",
        ["recordings", "status"],
        TYPER | PYDANTIC | {"platformdirs"},
        {"typer", "pydantic", "platformdirs"},
    ),
    "import openprogram.providers": ("import openprogram.providers", [], PYDANTIC | ANYIO, {"pydantic"}),
}


@pytest.mark.parametrize(("program", "arguments", "may", "does"), COLD_STARTS.values(), ids=COLD_STARTS)
def test_what_starts_often_imports_no_more_than_it_needs(
    tmp_path: Path, program: str, arguments: list[str], may: set[str], does: set[str]
) -> None:
    """A name that is missing here costs every start; add one only where there is no way around it.

    `may` holds what other versions of the same dependencies bring, too, so it is a limit and not the exact set.
    """
    imported = set(output_of(THIRD_PARTY, program, *arguments, home=tmp_path).split())
    assert imported <= may
    assert imported >= does  # or the test sees nothing
    heavy = {"structlog", "rich", *(module.partition(".")[0] for module in VENDOR_MODULES)}
    assert not imported & heavy


def test_the_import_rules_name_every_neighbour_of_the_pipeline() -> None:
    """A package that is added to openprogram has to be added to the rule: import-linter has no "all but this"."""
    rules = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rule,) = [rule for rule in rules if rule["name"] == "pipeline imports nothing else of openprogram"]
    neighbours = {f"openprogram.{module.name}" for module in pkgutil.iter_modules([str(CHECKOUT / "openprogram")])} - {
        "openprogram.pipeline",
        "openprogram.__main__",
    }
    assert set(rule["forbidden_modules"]) == neighbours
