"""`openprogram config`: read and change the configuration."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.model_choice import PROVIDERS
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


@app.command("show")
def show(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False) -> None:
    """Print every setting, and for which providers a key is stored. Never a key."""
    from openprogram.config import KEYS, load_config
    from openprogram.credentials import load_keys

    home = current_home()
    config, providers = load_config(home), sorted(load_keys(home))
    if as_json:
        settings = {name: {"value": config.value(name), "source": config.source(name)} for name in KEYS}
        keys = {"path": str(home.credentials_file), "providers": providers}
        print_json({"path": str(config.path), "settings": settings, "stored_keys": keys})
        return
    rows = [(name, config.value(name) or "-", config.source(name)) for name in KEYS]
    rows += [(f"key of {provider}", "stored", str(home.credentials_file)) for provider in providers]
    print_table(("setting", "value", "source"), rows)
    _report_unknown(config)


_ProviderArgument = Annotated[str, typer.Argument(metavar="PROVIDER", help=f"One of: {', '.join(PROVIDERS)}.")]


@app.command("set-key")
def set_key(provider: _ProviderArgument) -> None:
    """Store the API key of a provider, read from stdin, or asked for at a terminal.

    A live call takes its key from the call's own options, otherwise from the environment, otherwise from here.
    """
    from openprogram.credentials import store_key

    _check_provider(provider)
    home = current_home()
    store_key(home, provider, _read_key(provider))
    print_line(f"stored the key of {provider} in {home.credentials_file}")


@app.command("remove-key")
def remove_key(provider: _ProviderArgument) -> None:
    """Forget the stored API key of a provider."""
    from openprogram.credentials import forget_key

    _check_provider(provider)
    if forget_key(current_home(), provider):
        print_line(f"removed the key of {provider}")
    else:
        note(f"no key of {provider} was stored")


def _check_provider(provider: str) -> None:
    if provider not in PROVIDERS:
        raise UsageError(f"{provider!r} is not a known provider", next_step=f"One of: {', '.join(PROVIDERS)}.")


def _read_key(provider: str) -> str:
    """Never from an argument: those are seen by every user of the machine, and stay in a shell's history."""
    from openprogram.credentials import MAX_KEY_CHARACTERS

    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"API key of {provider} (not shown): ").strip()
    return sys.stdin.buffer.read(MAX_KEY_CHARACTERS + 2).decode(errors="replace").strip()


def _report_unknown(config: "LoadedConfig") -> None:
    if config.unknown_keys:
        note(f"{config.path} has keys without effect in this release: {', '.join(config.unknown_keys)}")
