"""`stream`, `stream_simple`, `complete`: look up, delegate, no more. In a new interpreter: they start the runtime."""

from pathlib import Path

from tests.boundary.child import output_of

PROGRAM = """
    import asyncio
    from openprogram.providers import UnknownApi, register_api_provider
    from openprogram.providers.event_stream import EventStream
    from openprogram.providers.scripted import ScriptedProvider
    from openprogram.providers.stream import complete, stream, stream_simple
    from openprogram.providers.types import Context, EventStart, Model, SimpleStreamOptions, StreamOptions, UserMessage

    class Noting:
        '''Notes which method was called with which options; its streams are EventStreams or plain generators.'''
        def __init__(self): self.called, self.inner = [], ScriptedProvider(["a b"] * 9)
        def stream(self, model, context, options=None):
            self.called.append(("stream", options))
            return EventStream(self.inner.stream(model, context, options), model)
        def stream_simple(self, model, context, options=None):
            self.called.append(("stream_simple", options))
            return self.inner.stream_simple(model, context, options)

    provider = Noting()
    register_api_provider("here", provider)
    model = Model(id="m", api="here", provider="p")
    context = Context(messages=[UserMessage(content="hi")])

    async def main():
        options, simple = StreamOptions(temperature=0.5), SimpleStreamOptions(reasoning="low")
        print((await complete(model, context, options)).text)
        async with stream(model, context) as events:
            print(type(events).__name__, [event.type async for event in events][-1])
        events = stream_simple(model, context, simple)
        print(await anext(events) == EventStart(), events.partial.text == "", (await events).text)
        print([(name, given is options or given is simple or given) for name, given in provider.called])
        try:
            stream(model.model_copy(update={"api": "nowhere"}), context)
        except UnknownApi as error:
            print(error.api)

    asyncio.run(main())
"""


def test_a_call_is_delegated_to_the_registered_provider(tmp_path: Path) -> None:
    assert output_of(PROGRAM, home=tmp_path).splitlines() == [
        "a b",
        "EventStream done",
        "True True a b",
        "[('stream', True), ('stream', None), ('stream_simple', True)]",
        "nowhere",
    ]
