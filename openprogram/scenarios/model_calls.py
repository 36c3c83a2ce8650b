"""The model's side of a run: what the provider answers, with the faults that the scenario injects."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import timedelta

from openprogram.providers.fold import Fold
from openprogram.providers.replay import ReplayProvider
from openprogram.providers.scripted import OutOfAnswers, ScriptedProvider
from openprogram.providers.types import (
    AssistantMessageEvent,
    Context,
    EventDone,
    EventError,
    Model,
    SimpleStreamOptions,
    StopReason,
)
from openprogram.scenarios.errors import InjectionFailed, ModelUnanswered
from openprogram.scenarios.journal import Journal
from openprogram.scenarios.settings import InjectSettings
from openprogram.world.world import World

__all__ = ["ModelCalls", "ReplayOnlyProvider"]

#: The providers that hold nothing live, and the only ones that a replayed run takes.
ReplayOnlyProvider = ReplayProvider | ScriptedProvider


class ModelCalls:
    """A stream function for the agent loop. `count`: calls so far.

    A call that a fault cuts off has used up its recorded answer; the agent's next attempt, with the same request,
    gets that answer whole.
    """

    def __init__(
        self,
        provider: ReplayOnlyProvider,
        injections: Sequence[InjectSettings],
        world: World,
        journal: Journal,
        count: int = 0,
    ) -> None:
        self._provider, self._world, self._journal = provider, world, journal
        self._injections = [injection for injection in injections if injection.provider]
        self._held: tuple[Context, list[AssistantMessageEvent]] | None = None
        self.count = count

    async def stream(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> AsyncGenerator[AssistantMessageEvent, None]:
        """The events of the next call."""
        number = self.count
        self.count += 1
        faults = [injection for injection in self._injections if injection.call == number]
        if not faults and self._held is None:
            async with aclosing(self._events(model, context, options)) as events:
                async for event in events:
                    yield self._journaled(event, number)
            return
        answer = await self._answer(model, context, options)
        whole = answer
        for fault in faults:
            answer = self._with_fault(answer, fault, model, number)
        if answer is not whole:
            self._held = (context, whole)
        for event in answer:
            yield self._journaled(event, number)

    async def _answer(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> list[AssistantMessageEvent]:
        held, self._held = self._held, None
        if held is not None and held[0] == context:
            return held[1]
        async with aclosing(self._events(model, context, options)) as events:
            return [event async for event in events]

    async def _events(
        self, model: Model, context: Context, options: SimpleStreamOptions | None
    ) -> AsyncGenerator[AssistantMessageEvent, None]:
        try:
            async with aclosing(self._provider.stream_simple(model, context, options)) as events:
                async for event in events:
                    yield event
        except OutOfAnswers as error:
            raise ModelUnanswered(given=error.given) from error

    def _with_fault(
        self, events: list[AssistantMessageEvent], fault: InjectSettings, model: Model, number: int
    ) -> list[AssistantMessageEvent]:
        self._journal.add("fault", model_call=number, fault=fault.fault, after=fault.after)
        at = len(events) - 1 if fault.after is None else fault.after
        if not 0 <= at < len(events):
            raise InjectionFailed(tool="", reason=f"after {at} events, but the answer has {len(events)}", call=number)
        if fault.fault == "delay":
            self._world.advance(timedelta(seconds=fault.seconds))
            return events
        if fault.fault == "cancel":
            return [*events[:at], _failed(events[:at], model, "aborted", "the answer was cancelled", retryable=False)]
        return [*events[:at], _failed(events[:at], model, "error", "the connection was dropped", retryable=True)]

    def _journaled(self, event: AssistantMessageEvent, number: int) -> AssistantMessageEvent:
        message = (
            event.message if isinstance(event, EventDone) else event.error if isinstance(event, EventError) else None
        )
        if message is not None:
            self._journal.add(
                "model", model_call=number, message=message.model_dump(mode="json", exclude={"timestamp"})
            )
        return event


def _failed(
    events: Sequence[AssistantMessageEvent], model: Model, reason: StopReason, why: str, *, retryable: bool
) -> EventError:
    fold = Fold(model.api, model.provider, model.id)
    for event in events:
        fold.add(event)
    update = {
        "stop_reason": reason,
        "error_message": why,
        "error_reason": "network",
        "error_retryable": retryable,
    }
    return EventError(reason=reason, error=fold.partial.model_copy(update=update))
