"""What a failed test says: its own failure first, both sides of the difference, the place, the command."""

import sysconfig

import pytest

from tests.openprogram.pytest_plugin.suite import Suite

AGENTS_LINE = "finished = await run_agent(stream_simple, model, context, [stock])"
LOOP = """
    import asyncio
    import pytest
    from openprogram.agent import run_agent, tool
    from openprogram.providers.stream import stream_simple
    from openprogram.providers.types import Context, Model, UserMessage

    @tool
    def stock(item: str) -> str:
        "How many are in stock."
        return "3 left"

    async def answer(question):
        context = Context(messages=[UserMessage(content=question)])
        model = Model(id="small-1", api="here", provider="example")
        finished = await run_agent(stream_simple, model, context, [stock])
        return finished.messages[-1].text
"""


def test_a_swallowed_mismatch_is_reported_with_both_sides_the_place_and_a_command_that_records(suite: Suite) -> None:
    test = """
    import asyncio
    import pytest
    from agent import careless, ask

    @pytest.mark.recording
    @pytest.mark.parametrize("word", ["hi", "a b"])
    def test_greeting(word):
        asyncio.run(ask(word))
        asyncio.run(careless(word))
    """
    suite.write(test_a=test)
    suite.run("--recording-mode=record")
    suite.write(test_a=test.replace("careless(word)", "careless(word + '!')"))
    finished = suite.run("test_a.py::test_greeting[a b]")
    assert finished.outcomes == {"failed": 1}, finished
    for expected in (
        "call 0: served",
        "call 1: mismatch",
        "replay mismatch at call 1, field context.messages[0].content:\nrecorded 'a b', incoming 'a b!'",
        "the call was made at:\n"
        "  test_a.py:10 in test_greeting\n    asyncio.run(careless(word + '!'))\n"
        "  agent.py:18 in careless\n    return await ask(question)\n"
        "  agent.py:10 in ask\n",
        "to see what was recorded: openprogram recordings show recordings/test_a/test_greeting-a_b-",
        "--recording-mode=rewrite",
    ):
        assert expected in finished.text, finished
    assert "site-packages" not in finished.text
    assert finished.text.count("recorded 'a b', incoming 'a b!'") == 1
    assert "Failed: replay mismatch at call 1" in finished.text.partition("short test summary")[2]
    suite.write(test_a=test.replace("careless(word)", "ask(word + '!')"))
    recorded = suite.run_shown_command(finished)
    assert recorded.outcomes == {"passed": 1}, recorded
    assert suite.run("test_a.py::test_greeting[a b]").outcomes == {"passed": 1}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_the_command_works_from_another_folder_with_a_configuration_file_elsewhere(
    suite: Suite, workers: tuple[str, ...]
) -> None:
    below = suite.folder / "below" / "tests"
    below.mkdir(parents=True)
    (suite.folder / "pytest.ini").rename(suite.folder / "elsewhere.ini")
    (below / "test_a.py").write_text(
        "import asyncio\nimport pytest\nfrom agent import ask\n\n"
        "class TestAll:\n"
        "    @pytest.mark.recording\n"
        "    def test_greeting(self):\n"
        "        asyncio.run(ask('hi'))\n"
    )
    finished = suite.run(
        "-c", "../elsewhere.ini", "--rootdir=..", "-p", "conftest", *workers, plugins=("xdist",), cwd=below.parent
    )
    assert finished.outcomes == {"error": 1}, finished
    recorded = suite.run_shown_command(finished, cwd=below.parent)
    assert recorded.outcomes == {"passed": 1}, recorded
    assert suite.files() == ["below/tests/recordings/test_a/TestAll.test_greeting.jsonl"]


def test_a_failure_of_the_tests_own_stays_and_gets_the_mismatch_as_a_section(suite: Suite) -> None:
    suite.write(test_a=LOOP + "\n    @pytest.mark.recording\n    def test_it():\n        asyncio.run(answer('a'))\n")
    suite.run("--recording-mode=record")
    changed = """
    @pytest.mark.recording
    def test_it():
        with pytest.raises(Exception):
            asyncio.run(answer('b'))
        assert 1 + 1 == 3
    """
    suite.write(test_a=LOOP + changed)
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    assert "assert (1 + 1) == 3" in finished.text
    section = finished.text.partition("recording ---")[2]
    assert "recorded 'a', incoming 'b'" in section, finished
    assert finished.text.count("recorded 'a', incoming 'b'") == 1


def test_a_mismatch_that_ends_the_test_shows_the_users_lines_and_none_of_ours(suite: Suite) -> None:
    test = """
    import asyncio
    import pytest
    from agent import ask

    @pytest.mark.recording
    def test_it():
        asyncio.run(ask("a"))
    """
    suite.write(test_a=test)
    suite.run("--recording-mode=record")
    suite.write(test_a=test.replace('"a"', '"b"'))
    finished = suite.run("--show-capture=no")
    assert "ReplayMismatch: replay mismatch at call 0" in finished.text, finished
    assert "agent.py:10: in ask" in finished.text or "agent.py:10: ReplayMismatch" in finished.text
    for ours in ("event_stream.py", "pipeline/", "asyncio/", "pytest_plugin", "into a new file"):
        assert ours not in finished.text, ours


@pytest.mark.parametrize("how", ["sync", "anyio"])
def test_a_call_of_the_agents_own_task_is_placed_where_the_test_waits(suite: Suite, how: str) -> None:
    """An agent's loop is a task of its own: no line of the test is on its stack."""
    sync = "    @pytest.mark.recording\n    def test_it():\n        asyncio.run(answer('a'))\n"
    waiting = (
        "    @pytest.fixture\n    def anyio_backend():\n        return 'asyncio'\n\n"
        "    @pytest.mark.anyio\n    @pytest.mark.recording\n    async def test_it():\n        await answer('a')\n"
    )
    test = sync if how == "sync" else waiting
    suite.write(test_a=LOOP + "\n" + test)
    assert suite.run("--recording-mode=record", plugins=("anyio",)).outcomes == {"passed": 1}
    suite.write(test_a=LOOP + "\n" + test.replace("'a'", "'b'"))
    finished = suite.run(plugins=("anyio",))
    line = "asyncio.run(answer('b'))" if how == "sync" else "await answer('b')"
    place = finished.text.partition("the call was made at:\n")[2].splitlines()[:4]
    assert [text.strip() for text in place[1::2]] == [line, AGENTS_LINE], finished
    assert place[2].endswith(" in answer"), finished


def test_of_agents_side_by_side_the_one_that_made_the_call_is_placed_and_of_a_nested_one_both(suite: Suite) -> None:
    agents = (
        LOOP
        + """
    async def left():
        await anyio.sleep_forever()
        return await run_agent(stream_simple, MODEL, context("unused"))

    async def right(question):
        return await run_agent(stream_simple, MODEL, context(question), [nested])

    @tool
    async def nested() -> str:
        "Asks another agent."
        return (await run_agent(stream_simple, MODEL, context(WORD))).messages[-1].text

    class CallsNested:
        async def stream(self, model, context, options=None):
            first = context.messages[0].content == "outer" and len(context.messages) == 1
            answer = [tool_call("nested", {})] if first else "done"
            async for event in ScriptedProvider([answer]).stream(model, context):
                yield event

        stream_simple = stream

    def context(question):
        return Context(messages=[UserMessage(content=question)])

    async def both():
        async with anyio.create_task_group() as group:
            group.start_soon(left)
            await right("outer")
            group.cancel_scope.cancel()

    MODEL = Model(id="small-1", api="nests", provider="example")
    register_api_provider("nests", CallsNested())

    @pytest.mark.recording
    def test_it():
        asyncio.run(both())
    """
    )
    head = (
        "    import anyio\n    from openprogram.providers.api_registry import register_api_provider\n"
        "    from openprogram.providers.scripted import ScriptedProvider, tool_call\n"
    )
    suite.write(test_a=head + agents + "\n    WORD = 'a'\n")
    assert suite.run("--recording-mode=record").outcomes == {"passed": 1}
    suite.write(test_a=head + agents + "\n    WORD = 'b'\n")
    finished = suite.run()
    place = finished.text.partition("the call was made at:\n")[2].partition("replay failed")[0].splitlines()
    assert [line.rpartition(" in ")[2] for line in place[0::2]] == ["test_it", "both", "right", "nested"], finished


def test_a_test_whose_tool_mints_a_value_is_told_how_to_declare_it_and_then_replays(suite: Suite) -> None:
    test = """
    import asyncio
    import uuid
    import pytest
    from agent import ask

    MARK
    def test_it():
        asyncio.run(ask(f"ticket TKT-a{uuid.uuid4().hex[:7]} of {uuid.uuid4().hex}"))
    """
    suite.write(test_a=test.replace("MARK", "@pytest.mark.recording"))
    suite.run("--recording-mode=record")
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    (advice,) = [line.strip() for line in finished.text.splitlines() if line.startswith("  @pytest.mark")]
    assert advice == r'@pytest.mark.recording(volatile=["uuid-hex", r"regex:TKT-([0-9a-f]{8})\b"])'
    setting = r"""volatile = ["uuid-hex", 'regex:TKT-([0-9a-f]{8})\b']"""
    assert f"below [tool.openprogram] in pyproject.toml: {setting}" in finished.text, finished
    suite.write(test_a=test.replace("MARK", advice))
    assert suite.run_shown_command(finished).outcomes == {"passed": 1}
    assert suite.run().outcomes == {"passed": 1}
    suite.write(test_a=test.replace("MARK", "@pytest.mark.recording"))
    (suite.folder / "pyproject.toml").write_text(f"[tool.openprogram]\n{setting}\n")
    assert suite.run_shown_command(finished).outcomes == {"passed": 1}
    assert suite.run().outcomes == {"passed": 1}


def test_a_failing_setup_and_a_damaged_recording_say_what_is_wrong_without_a_traceback(suite: Suite) -> None:
    suite.write(
        test_a="""
        import pytest

        @pytest.mark.recording("damaged.jsonl")
        def test_damaged():
            pass

        @pytest.mark.recording(pth="x.jsonl")
        def test_misspelled():
            pass

        @pytest.mark.recording("a", "b")
        def test_two_paths():
            pass
        """
    )
    (suite.folder / "damaged.jsonl").write_text('{"type":"header","format_version":1}\n{"type":')
    finished = suite.run()
    assert finished.outcomes == {"error": 3}, finished
    assert "damaged.jsonl, line 2" in finished.text
    assert "unknown setting 'pth'" in finished.text
    assert "takes one path, not 2" in finished.text
    assert "Traceback" not in finished.text
    assert "item_run.py" not in finished.text


def test_what_keeps_a_test_from_its_recording_is_said_once(suite: Suite) -> None:
    """pytest shows an error that was being handled above ours, in the same words."""
    suite.write(test_a="import pytest\n\n@pytest.mark.recording\ndef test_it():\n    pass\n")
    missing = suite.run("-rN")
    assert missing.text.count("no such file") == 1, missing
    assert "another exception" not in missing.text
    suite.write(test_a="import pytest\n\n@pytest.mark.recording(match='any')\ndef test_it():\n    pass\n")
    unknown = suite.run("--recording-mode=record", "-rN")
    assert unknown.text.count("unknown match 'any'") == 1, unknown
    assert "to record this test" not in unknown.text  # that is what was tried


def test_a_console_script_is_no_line_of_the_users(suite: Suite) -> None:
    test = """
    import asyncio
    import pytest
    from agent import careless

    @pytest.mark.recording
    def test_it():
        asyncio.run(careless("a"))
    """
    suite.write(test_a=test)
    suite.run("--recording-mode=record")
    suite.write(test_a=test.replace('"a"', '"b"'))
    script = sysconfig.get_path("scripts") + "/pytest"
    finished = suite.run_program(script, "-p", "no:cacheprovider", "-p", "openprogram")
    assert "the call was made at:\n  test_a.py:8 in test_it" in finished.text, finished


def test_a_test_that_fails_while_it_is_recorded_says_which_calls_were_answered_with_an_error(suite: Suite) -> None:
    """An agent may turn a missing key into an empty answer, and the test's own failure shows no more than that."""
    suite.write(
        test_a="""
        import asyncio
        import pytest
        from openprogram.providers.stream import complete
        from openprogram.providers.types import Context, Model, UserMessage

        MODEL = Model(id="m", api="anthropic-messages", provider="anthropic", base_url="http://127.0.0.1:1")

        @pytest.mark.recording
        def test_it(monkeypatch):
            monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
            message = asyncio.run(complete(MODEL, Context(messages=[UserMessage(content="hi")])))
            assert "coat" in message.text
        """
    )
    finished = suite.run("--recording-mode=record")
    assert finished.outcomes == {"failed": 1}, finished
    assert "assert 'coat' in ''" in finished.text
    section = finished.text.partition("recording ---")[2]
    assert "call 0 was answered with an error: auth: no API key for 'anthropic': set ANTHROPIC_API_KEY" in section


SECRET_ANSWER = """
    import asyncio
    import pytest
    from openprogram.providers.scripted import ScriptedProvider, tool_call
    from openprogram.providers.types import Context, Model, UserMessage

    def live():
        return ScriptedProvider([[tool_call("open_door", {"password": "mellon"})], "open"])

    async def spoken(provider):
        said = []
        for question in ("How?", "And now?"):
            model = Model(id="m", api="here", provider="example")
            message = await provider.stream(model, Context(messages=[UserMessage(content=question)]))
            said += [block.arguments["password"] for block in message.content if block.type == "toolCall"]
        return said
"""


def test_a_failure_after_an_answer_that_lost_a_secret_says_so(suite: Suite) -> None:
    """The run that is recorded sees the value, so the test passes; the replay can't, so it fails."""
    own = """
    def test_own(recording):
        assert asyncio.run(spoken(recording.wrap(live))) == ["mellon"]
    """
    suite.write(test_a=SECRET_ANSWER + own)
    assert suite.run("--recording-mode=record").outcomes == {"passed": 1}
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    section = finished.text.partition("recording ---")[2]
    assert "redaction removed a secret from the answer of call 0\n" in section, finished
    mismatch = own.replace('== ["mellon"]', "").replace("test_own", "test_mismatch")
    suite.write(test_a=SECRET_ANSWER + mismatch)
    suite.run("--recording-mode=record")
    suite.write(test_a=SECRET_ANSWER.replace("And now?", "And then?") + mismatch)
    finished = suite.run()
    assert "replay mismatch at call 1" in finished.text, finished
    assert "redaction removed a secret from the answer of call 0\n" in finished.text


def test_a_failure_without_a_removed_secret_says_nothing_of_one(suite: Suite) -> None:
    suite.write(
        test_a="""
        import asyncio
        import pytest
        from agent import ask

        @pytest.mark.recording
        def test_it(recording):
            assert asyncio.run(ask("a")) and recording.mode == "record"
        """
    )
    suite.run("--recording-mode=record")
    finished = suite.run()
    assert finished.outcomes == {"failed": 1}, finished
    assert "secret" not in finished.text
    assert "recording ---" not in finished.text


def test_a_report_with_the_arguments_of_every_call_on_its_way_shows_no_key_and_no_header(suite: Suite) -> None:
    source = """
        import asyncio
        import pytest
        from openprogram.providers.api_registry import register_api_provider
        from openprogram.providers.stream import stream_simple
        from openprogram.providers.types import Context, Model, SimpleStreamOptions, UserMessage

        KEY = "corp-" + "Zx4Qm81LwT7vBn2K"

        class Failing:
            async def stream_simple(self, model, context, options=None):
                raise RuntimeError("the connection is lost")
                yield

        register_api_provider("failing", Failing())

        @pytest.mark.recording
        def test_a_call():
            model = Model(id="m", api="failing", provider="p", headers={"X-Gateway": KEY})
            options = SimpleStreamOptions(api_key=KEY, headers={"X-Gateway": KEY})

            async def ask():
                await stream_simple(model, Context(messages=[UserMessage(content="a question")]), options)

            asyncio.run(ask())
    """
    suite.write(test_a=source)
    failed = suite.run("--recording-mode=record", "--junit-xml=report.xml", "--showlocals")
    assert failed.outcomes == {"failed": 1}, failed
    assert "a question" in failed.text, "the arguments are shown"
    assert "Zx4Qm81LwT7vBn2K" not in failed.text.replace('KEY = "corp-" + "Zx4Qm81LwT7vBn2K"', "")
    assert "corp-Zx4Qm81LwT7vBn2K" not in (suite.folder / "report.xml").read_text()
