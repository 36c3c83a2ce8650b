"""`openprogram scenarios …`: scenarios in folders, replayed in a controlled world."""

import typer

from openprogram.cli.scenarios.looking import check, list_all, schema, show
from openprogram.cli.scenarios.replaying import replay
from openprogram.cli.scenarios.starting import new

__all__ = ["app"]

app = typer.Typer(
    help="Make, check and replay scenarios: an agent's run again, in a controlled world.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(new)
app.command("list")(list_all)
app.command("check")(check)
app.command("show")(show)
app.command("replay")(replay)
app.command("schema")(schema)
