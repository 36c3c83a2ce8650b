"""`openprogram run`: one agent run at the terminal, through whatever the runtime has made of record and replay."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from openprogram.cli.model_choice import PROVIDERS
from openprogram.cli.render import count, note, print_line, printable, show_arguments
from openprogram.errors import OpenProgramError, UsageError

if TYPE_CHECKING:
    from openprogram.agent.agent_run import AgentRun
    from openprogram.agent.events import AgentFinished, AttemptFailed
    from openprogram.pipeline.verdict import Verdict
    from openprogram.providers.types import AssistantMessageEvent, Message

__all__ = ["run"]


def run(
    prompt: Annotated[str, typer.Argument(help="What the agent is asked to do.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:ID",
            help=f"Which model. Providers: {', '.join(PROVIDERS)}. `openprogram models` lists models.",
        ),
    ] = None,
    api: Annotated[
        str | None, typer.Option("--api", help="The api of another server, such as openai-completions.")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Where the model is served.")] = None,
    model_id: Annotated[str | None, typer.Option("--model-id", help="The model's name there, with --api.")] = None,
) -> None:
    """Run an agent once. Its tools calculate, tell the time, and read files below the current folder."""
    from pathlib import Path

    import anyio

    from openprogram.agent.builtin_tools import builtin_tools
    from openprogram.agent.loop import wall_clock_ms
    from openprogram.agent.run import run as run_agent
    from openprogram.cli.model_choice import choose_model, with_known_facts
    from openprogram.cli.state import current_time
    from openprogram.pipeline.errors import PipelineError
    from openprogram.providers.api_registry import UnknownApi
    from openprogram.providers.blocked import ActivationBlocked
    from openprogram.providers.stream import answers_are_recorded

    chosen = choose_model(model, api, base_url, model_id)
    if not answers_are_recorded():  # a replay takes costs from the file, and needs no list of models
        chosen = with_known_facts(chosen, current_time())
    agent_run = run_agent(prompt, chosen, builtin_tools(Path.cwd(), wall_clock_ms))
    try:
        finished = anyio.run(_follow, agent_run)
    except UnknownApi as error:
        raise UsageError(str(error)) from error
    except PipelineError:
        with suppress(PipelineError):
            _ask_verdict()
        raise
    except ActivationBlocked:
        _ask_refusals()
        raise
    _report_activation()
    if finished.reason != "stop":
        raise _replayed_failure(finished) or OpenProgramError(
            _why_it_failed(finished), next_step=_next_step(finished, chosen.provider, base_url)
        )


async def _follow(agent_run: "AgentRun") -> "AgentFinished":
    """Show the run as it happens: the model's text on stdout, its tools on stderr."""
    from openprogram.agent.events import AgentFinished, AttemptFailed, ModelEvent, ToolFinished, ToolStarted

    in_text = False
    async with agent_run:
        async for event in agent_run:
            match event:
                case ModelEvent(event=model_event):
                    in_text = _show_text(model_event, in_text)
                case AttemptFailed():
                    if in_text:
                        print_line()  # what was cut off stands on a line of its own
                    in_text = False
                    _show_failed_attempt(event)
                case ToolStarted(call=call):
                    note(f"{call.name} {show_arguments(call.arguments)}")
                case ToolFinished(call=call, result=result) if result.is_error:
                    note(f"{call.name} failed")
                case AgentFinished():
                    return event
    raise AssertionError("a run that wasn't closed ends with its result")


def _show_text(event: "AssistantMessageEvent", in_text: bool) -> bool:
    """Print what the event has of it; whether a text is unfinished now, as it was before by `in_text`."""
    from openprogram.providers.types import EventTextDelta, EventTextEnd

    match event:
        case EventTextDelta(delta=delta):
            # Not redacted: it is the answer that was asked for, and the terminal is no file.
            typer.echo(printable(delta, keep="\n\t"), nl=False)
            return True
        case EventTextEnd():
            print_line()
            return False
    return in_text


def _show_failed_attempt(failed: "AttemptFailed") -> None:
    reason = f"{failed.message.error_reason}: {failed.message.error_message}"
    note(f"attempt {failed.attempt + 1} failed ({reason}); trying again in {failed.wait_s:.1f} s")


def _report_activation() -> None:
    """Say where the calls went. Raises ReplayMismatch: a replay's verdict, even where the run came to its end."""
    from openprogram.providers.runtime import RecordActive, ReplayActive, get_activation

    match get_activation():
        case RecordActive(sink):
            note(f"recorded into {sink.path}")
        case ReplayActive(provider):
            _ask_verdict()
            verdict = provider.verdict
            note(f"replayed {verdict.consumed} of {provider.call_count} recorded calls, offline{_how_equal(verdict)}")


def _how_equal(verdict: "Verdict") -> str:
    """What a replay under policies has to say; nothing where every value was compared, in order."""
    if verdict.policy.is_exact:
        return ""
    bound = f"; {verdict.equality}, {count(len(verdict.bindings), 'value')} bound" if verdict.policy.volatile else ""
    return f" ({verdict.policy}{bound})"


def _ask_verdict() -> None:
    """Raise the mismatch of a replay, if there was one. What is asked here isn't told again at the process's end.

    Calls left over are no failure of a run at the terminal, which may be meant to go less far.
    """
    from openprogram.pipeline.errors import UnconsumedCalls
    from openprogram.providers.runtime import ReplayActive, get_activation

    match get_activation():
        case ReplayActive(provider):
            with suppress(UnconsumedCalls):
                provider.verdict.require()


def _ask_refusals() -> None:
    """What an error says isn't told again at the process's end."""
    from openprogram.providers.runtime import Blocked, get_activation

    match get_activation():
        case Blocked(provider=provider):
            provider.describe()


def _replayed_failure(finished: "AgentFinished") -> OpenProgramError | None:
    """Where the failure is a recorded one, that it is: it may read as if this run lacked a key."""
    import shlex

    from openprogram.providers.runtime import ReplayActive, get_activation

    match get_activation():
        case ReplayActive(provider) if finished.reason == "provider_error" and (
            failures := provider.recorded_failures()
        ):
            look = f"openprogram recordings show {shlex.quote(str(provider.path))} --call {failures[-1]}"
            return OpenProgramError(
                f"{_why_it_failed(finished)} (replayed, as it was recorded)",
                next_step=f"A replay asks no provider and needs no key. See the recorded call: {look} --content; "
                "to ask the provider: openprogram recordings off",
            )
    return None


def _why_it_failed(finished: "AgentFinished") -> str:
    detail = getattr(_last_message(finished), "error_message", None)
    return f"the run ended early: {finished.reason}" + (f": {detail}" if detail else "")


def _next_step(finished: "AgentFinished", provider: str, base_url: str | None) -> str | None:
    """Where a key is missing, how to store one; for a server of the user's own, that it may be anything."""
    last = _last_message(finished)
    # A server that refuses a key answers "auth" too. Of a missing one the provider says which variable it wants.
    if getattr(last, "error_reason", None) != "auth" or not (getattr(last, "error_message", None) or "").startswith(
        "no API key"
    ):
        return None
    if base_url:
        return "For a server that needs no key, any value of that variable will do."
    return f"Or store one: openprogram config set-key {provider}" if provider in PROVIDERS else None


def _last_message(finished: "AgentFinished") -> "Message | None":
    return finished.messages[-1] if finished.messages else None
