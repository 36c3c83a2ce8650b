"""`openprogram demo`: the main job on this machine, with no key and no network."""

from typing import TYPE_CHECKING

from openprogram.cli.render import print_line, printable
from openprogram.cli.state import current_home, current_time, random_suffix

if TYPE_CHECKING:
    from openprogram.demo.story import DemoRun
    from openprogram.providers.types import AssistantMessage

__all__ = ["demo"]


def demo() -> None:
    """Record a tool loop over HTTP, replay it offline, and see a changed tool result being caught."""
    import anyio

    anyio.run(_demo)


async def _demo() -> None:
    from openprogram.demo import story
    from openprogram.home import make_private_folder
    from openprogram.providers.vendors import vendor_providers
    from openprogram.recordings.names import managed_path, new_name

    home = current_home()
    name = f"demo-{new_name(current_time(), random_suffix())}"
    path = managed_path(home, name)
    make_private_folder(home.folder)
    make_private_folder(path.parent)

    print_line("1. Record. A loopback server plays the provider; a two-turn tool loop asks it over HTTP, through the")
    print_line("   provider's own SDK.")
    recorded = await story.record(vendor_providers()["anthropic-messages"], path)
    _print_answers(recorded)
    secret_free = story.API_KEY not in path.read_text("utf-8")
    print_line(f"   the API key is {'not ' if secret_free else ''}in the file")

    print_line()
    print_line("2. Replay. The server is gone; the same agent runs again, answered from the file.")
    replayed = await story.replay(path, recorded.base_url)
    same = replayed.events == recorded.events
    print_line(f"   {len(replayed.events)} events, {'all equal' if same else 'NOT equal'}; the same answer:")
    print_line(f"   {replayed.answers[-1].text!r}")

    print_line()
    print_line(
        "3. Change. The tool answers otherwise, so the next request is another one. Replay stops and says where:"
    )
    print_line()
    mismatch = await story.replay_with_a_change(path, recorded.base_url)
    for line in [*str(mismatch).splitlines(), *mismatch.__notes__]:
        print_line(f"   {line}")

    print_line()
    print_line(f"Recorded in {path}")
    print_line(f"  openprogram recordings show {name}                       what is in it")
    print_line(f"  openprogram recordings show {name} --call 1 --content    what was asked and answered")
    print_line("  openprogram recordings list                               every recording")


def _print_answers(run: "DemoRun") -> None:
    for index, answer in enumerate(run.answers):
        print_line(f"   call {index}: {_describe(answer)}")


def _describe(answer: "AssistantMessage") -> str:
    asked = [f"{call.name}({call.arguments})" for call in answer.tool_calls]
    return printable(" ".join([repr(answer.text), *(f"and asks for {call}" for call in asked)]))
