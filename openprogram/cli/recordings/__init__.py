"""`openprogram recordings`: one file for each kind of command."""

import typer

from openprogram.cli.recordings import (
    checking,
    comparing,
    compressing,
    looking,
    redacting,
    removing,
    repairing,
    switching,
)

__all__ = ["app"]

app = typer.Typer(
    help="Record provider calls, replay them, and manage the files.", no_args_is_help=True, rich_markup_mode=None
)
app.command("status")(switching.status)
app.command("record")(switching.record)
app.command("replay")(switching.replay)
app.command("off")(switching.off)
app.command("list")(looking.list_all)
app.command("show")(looking.show)
app.command("delete")(removing.delete)
app.command("prune")(removing.prune)
app.command("repair")(repairing.repair)
app.command("diff")(comparing.diff)
app.command("check")(checking.check)
app.command("scan")(redacting.scan)
app.command("redact")(redacting.redact)
app.command("compress")(compressing.compress)
app.command("expand")(compressing.expand)
