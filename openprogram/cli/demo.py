"""`openprogram demo`: the main job on this machine, with no key and no network."""

from typing import TYPE_CHECKING

from openprogram.cli.program import program_name
from openprogram.cli.render import print_line, printable, show_arguments
from openprogram.cli.state import current_home, current_time, random_suffix
from openprogram.errors import OpenProgramError

if TYPE_CHECKING:
    from openprogram.demo.story import DemoRun
    from openprogram.providers.types import AssistantMessage

__all__ = ["DemoFailed", "demo"]


class DemoFailed(OpenProgramError):
    """A promise of the demo isn't kept: a defect."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; this is a defect, please report it")


def demo() -> None:
    """Record a tool loop over HTTP, replay it offline, and see a changed tool result being caught.

    Exit code 1 where the API key is in the file, or the replay gives other events.
    """
    import anyio

    anyio.run(_demo)


async def _demo() -> None:
    from openprogram.demo import story
    from openprogram.home import make_private_folder
    from openprogram.providers.vendors import VENDOR_APIS, vendor_providers
    from openprogram.recordings.names import managed_path, new_name

    next(
        row for row in VENDOR_APIS if row.api == "anthropic-messages"
    ).load()  # where it is missing, nothing is written
    home = current_home()
    name = f"demo-{new_name(current_time(), random_suffix())}"
    path = managed_path(home, name)
    make_private_folder(home.folder)
    make_private_folder(path.parent)

    print_line("1. Record. A loopback server plays the provider; a two-turn tool loop asks it over HTTP, through the")
    print_line("   provider's own SDK.")
    recorded = await story.record(vendor_providers()["anthropic-messages"], path)
    _print_answers(recorded)
    if story.API_KEY in path.read_text("utf-8"):
        raise DemoFailed(f"the API key is in {path}")
    print_line("   the API key is not in the file")

    print_line()
    print_line("2. Replay. The server is gone; the same agent runs again, answered from the file.")
    replayed = await story.replay(path, recorded.base_url)
    if replayed.events != recorded.events:
        raise DemoFailed(f"the events replayed from {path} are not the recorded ones")
    print_line(f"   {len(replayed.events)} events, all equal; the same answer:")
    print_line(f"   {replayed.answers[-1].text!r}")

    print_line()
    print_line(
        "3. Change. The tool answers otherwise, so the next request is another one. Replay stops and says where:"
    )
    print_line()
    mismatch = await story.replay_with_a_change(path, recorded.base_url)
    program = program_name()
    notes = (note.replace("openprogram recordings ", f"{program} recordings ") for note in mismatch.__notes__)
    for line in [*str(mismatch).splitlines(), *notes]:
        print_line(f"   {line}")

    print_line()
    print_line(f"Recorded in {path}")
    _print_commands(
        (f"{program} recordings show {name}", "what is in it"),
        (f"{program} recordings show {name} --call 1 --content", "what was asked and answered"),
        (f"{program} recordings list", "every recording"),
    )


def _print_commands(*commands: tuple[str, str]) -> None:
    width = max(len(command) for command, _ in commands)
    for command, meaning in commands:
        print_line(f"  {command:<{width}}    {meaning}")


def _print_answers(run: "DemoRun") -> None:
    for index, answer in enumerate(run.answers):
        print_line(f"   call {index}: {_describe(answer)}")


def _describe(answer: "AssistantMessage") -> str:
    asked = [f"{call.name}({show_arguments(call.arguments)})" for call in answer.tool_calls]
    return printable(" ".join([repr(answer.text), *(f"and asks for {call}" for call in asked)]))
