"""`openprogram config`: read and change the configuration."""

from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.render import note, print_json, print_line, print_table
from openprogram.cli.state import current_home
from openprogram.errors import UsageError

if TYPE_CHECKING:
    from openprogram.config import LoadedConfig

__all__ = ["app"]

app = typer.Typer(help="Read and change the configuration.", no_args_is_help=True, rich_markup_mode=None)


@app.command("path")
def show_path() -> None:
    """Print where the configuration file is, or would be."""
    print_line(str(current_home().config_file))


@app.command("get")
def get(
    key: Annotated[str | None, typer.Argument(help="One setting, such as record_replay.mode; all without it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Print settings and where each value comes from."""
    from openprogram.config import KEYS, load_config

    if key is not None and key not in KEYS:
        raise UsageError(f"{key!r} is not a setting", next_step=f"One of: {', '.join(KEYS)}.")
    config = load_config(current_home())
    values = {name: config.value(name) for name in KEYS if key in (None, name)}
    if as_json:
        settings = {name: {"value": value, "source": config.source(name)} for name, value in values.items()}
        print_json({"path": str(config.path), "settings": settings, "unknown_keys": config.unknown_keys})
    elif key is not None:
        print_line(values[key] or "")
    else:
        rows = [(name, value or "-", config.source(name)) for name, value in values.items()]
        print_table(("setting", "value", "source"), rows)
    _report_unknown(config)


@app.command("set")
def set_setting(
    key: Annotated[str, typer.Argument(help="The setting, such as record_replay.mode.")],
    value: Annotated[str, typer.Argument(help="Its new value.")],
) -> None:
    """Change one setting; it applies when a program starts next."""
    from pathlib import Path

    from openprogram.config import set_value, update_config

    if key == "record_replay.file" and value:
        value = str(Path(value).absolute())  # at a terminal, a relative path starts at the current folder
    config = update_config(current_home(), lambda raw: set_value(raw, key, value))
    print_line(f"{key} = {value}")
    _report_unknown(config)


def _report_unknown(config: "LoadedConfig") -> None:
    if config.unknown_keys:
        note(f"{config.path} has keys without effect in this release: {', '.join(config.unknown_keys)}")
