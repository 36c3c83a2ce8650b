"""What a Context and options become in the request body, by api."""

import base64
from typing import Any

import pytest

from openprogram.providers.types import (
    AssistantContent,
    AssistantMessage,
    Context,
    DocumentContent,
    ImageContent,
    Message,
    ProviderContent,
    SimpleStreamOptions,
    StreamOptions,
    TextContent,
    ThinkingContent,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from openprogram.providers.vendors import vendor_providers
from tests.openprogram.providers.vendors.loopback import Response, loopback
from tests.openprogram.providers.vendors.small_answers import ANSWERS, HELLO, model

pytestmark = pytest.mark.anyio

ANTHROPIC, OPENAI = "anthropic-messages", "openai-completions"
each_api = pytest.mark.parametrize("api", [ANTHROPIC, OPENAI])

PIXEL = ImageContent(data=base64.b64encode(b"not really a picture").decode(), mime_type="image/png")
ADD = Tool(name="add", description="Adds.", parameters={"type": "object", "title": "Add", "properties": {}})
SCHEMA = {"type": "object", "title": "T", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


async def sent(
    api: str, context: Context = HELLO, options: StreamOptions | None = None, **model_fields: Any
) -> dict[str, Any]:
    """The body of the one request that a call makes."""
    async with loopback(Response(ANSWERS[api])) as server:
        provider = vendor_providers(environ={"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"})[api]
        async for _ in provider.stream(model(api, server.url, **model_fields), context, options):
            pass
    [(_, body)] = server.requests
    assert isinstance(body, dict)
    return body


def conversation(*messages: Message) -> Context:
    return Context(messages=list(messages))


def answer(*content: AssistantContent, api: str, **fields: Any) -> AssistantMessage:
    return AssistantMessage(content=list(content), **{"api": api, "provider": "test", "model": "m", **fields})


# ---- options


@each_api
async def test_options_that_are_not_given_are_left_to_the_vendor(api: str) -> None:
    body = await sent(api, options=StreamOptions())
    assert set(body) - {"stream_options"} == {"model", "messages", "stream"} | (
        {"max_tokens"} if api == ANTHROPIC else set()
    )


@each_api
async def test_temperature_and_limit_are_sent(api: str) -> None:
    body = await sent(api, options=StreamOptions(temperature=0.5, max_tokens=100))
    assert (body["temperature"], body["max_tokens"]) == (0.5, 100)


async def test_the_models_own_limit_stands_in_where_the_api_demands_one() -> None:
    assert (await sent(ANTHROPIC, max_tokens=77))["max_tokens"] == 77
    assert (await sent(ANTHROPIC, options=StreamOptions(max_tokens=5), max_tokens=77))["max_tokens"] == 5
    assert "max_tokens" not in await sent(OPENAI, max_tokens=77)


@each_api
async def test_what_a_model_is_said_not_to_support_is_sent_all_the_same(api: str) -> None:
    reasoning_model = {ANTHROPIC: "claude-opus-5", OPENAI: "gpt-5-mini"}[api]
    assert (await sent(api, options=StreamOptions(temperature=0.5), id=reasoning_model))["temperature"] == 0.5


@each_api
async def test_unknown_options_are_fields_of_the_api(api: str) -> None:
    body = await sent(api, options=StreamOptions.model_validate({"top_p": 0.9, "made_up": {"a": [1]}}))
    assert (body["top_p"], body["made_up"]) == (0.9, {"a": [1]})


async def test_service_tier_and_metadata_are_sent_as_they_are() -> None:
    options = StreamOptions.model_validate({"service_tier": "flex", "metadata": {"user_id": "u"}, "top_p": 0.9})
    for api in (ANTHROPIC, OPENAI):
        body = await sent(api, options=options)
        assert (body["service_tier"], body["metadata"], body["top_p"]) == ("flex", {"user_id": "u"}, 0.9)


CHOICES = [
    ("auto", {"type": "auto"}, "auto"),
    ("none", {"type": "none"}, "none"),
    ("required", {"type": "any"}, "required"),
    ("any", {"type": "any"}, "required"),
    ({"type": "any"}, {"type": "any"}, "required"),
    (
        {"type": "tool", "name": "add"},
        {"type": "tool", "name": "add"},
        {"type": "function", "function": {"name": "add"}},
    ),
    (
        {"type": "function", "function": {"name": "add"}},
        {"type": "tool", "name": "add"},
        {"type": "function", "function": {"name": "add"}},
    ),
]


@pytest.mark.parametrize(("choice", "anthropic", "openai"), CHOICES)
async def test_a_tool_choice_in_either_vendors_words_is_understood(choice: Any, anthropic: Any, openai: Any) -> None:
    context = Context(messages=HELLO.messages, tools=[ADD, Tool(name="now")])
    assert (await sent(ANTHROPIC, context, StreamOptions(tool_choice=choice)))["tool_choice"] == anthropic
    assert (await sent(OPENAI, context, StreamOptions(tool_choice=choice)))["tool_choice"] == openai


@each_api
async def test_a_tool_choice_that_nobody_knows_is_refused(api: str) -> None:
    with pytest.raises(ValueError, match="tool_choice 'sometimes' is not known"):
        await sent(api, options=StreamOptions(tool_choice="sometimes"))


async def test_parallel_calls_can_be_switched_off() -> None:
    context = Context(messages=HELLO.messages, tools=[ADD])
    off = StreamOptions(parallel_tool_calls=False)
    assert (await sent(ANTHROPIC, context, off))["tool_choice"]["disable_parallel_tool_use"] is True
    assert (await sent(OPENAI, context, off))["parallel_tool_calls"] is False


# ---- reasoning


BUDGETS = [
    ({"reasoning": "minimal", "max_tokens": 9000}, 1024),
    ({"reasoning": "low", "max_tokens": 9000}, 2048),
    ({"reasoning": "medium", "max_tokens": 9000}, 8192),
    ({"reasoning": "high", "max_tokens": 9000}, 9000 - 1024),
    ({"reasoning": "high", "max_tokens": 1500}, 1024),
    ({"reasoning": "low", "max_tokens": 9000, "thinking_budgets": {"low": 3000}}, 3000),
]


@pytest.mark.parametrize(("options", "budget"), BUDGETS)
async def test_reasoning_is_a_budget_within_the_limit_at_anthropic(options: dict[str, Any], budget: int) -> None:
    body = await sent(ANTHROPIC, options=SimpleStreamOptions(**options))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == options["max_tokens"]


async def test_reasoning_is_an_effort_where_the_model_takes_no_budget() -> None:
    body = await sent(ANTHROPIC, options=SimpleStreamOptions(reasoning="low"), id="claude-opus-5")
    assert (body["thinking"]["type"], body["output_config"]) == ("adaptive", {"effort": "low"})


async def test_reasoning_is_an_effort_at_openai() -> None:
    assert (await sent(OPENAI, options=SimpleStreamOptions(reasoning="minimal")))["reasoning_effort"] == "minimal"


async def test_reasoning_at_openrouter_is_an_effort_or_a_budget() -> None:
    for budgets, reasoning in ((None, {"effort": "low"}), ({"low": 500}, {"max_tokens": 500})):
        low = SimpleStreamOptions(api_key="k", reasoning="low", thinking_budgets=budgets)
        body = await sent(OPENAI, options=low, provider="openrouter", id="vendor/m")
        assert body["reasoning"] == reasoning


async def test_a_level_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="reasoning 'lots' is not known"):
        await sent(ANTHROPIC, options=SimpleStreamOptions(reasoning="lots"))


# ---- the form of the answer


FORMS = [
    SCHEMA,
    {"type": "json_schema", "schema": SCHEMA},
    {"type": "json_schema", "json_schema": {"name": "T", "schema": SCHEMA, "strict": False}},
]


@pytest.mark.parametrize("form", FORMS)
async def test_a_response_format_is_sent_unchanged(form: dict[str, Any]) -> None:
    options = StreamOptions(response_format=form)
    anthropic = await sent(ANTHROPIC, options=options)
    assert anthropic["output_config"]["format"] == {"type": "json_schema", "schema": SCHEMA}
    openai = await sent(OPENAI, options=options)
    assert openai["response_format"]["json_schema"]["schema"] == SCHEMA


@each_api
async def test_a_response_format_without_a_schema_is_refused(api: str) -> None:
    with pytest.raises(ValueError, match="has no JSON Schema"):
        await sent(api, options=StreamOptions(response_format={"type": "json_object"}))


# ---- the conversation


async def test_the_system_prompt_stands_first() -> None:
    context = Context(system_prompt="Be brief.", messages=HELLO.messages)
    assert (await sent(ANTHROPIC, context))["system"] == "Be brief."
    assert (await sent(OPENAI, context))["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_tools_are_sent_with_their_schemas_as_they_are() -> None:
    context = Context(messages=HELLO.messages, tools=[ADD, Tool(name="now")])
    [add, now] = (await sent(ANTHROPIC, context))["tools"]
    assert add == {"name": "add", "description": "Adds.", "input_schema": ADD.parameters}
    assert now["input_schema"] == {"type": "object", "properties": {}}
    [add, _] = (await sent(OPENAI, context))["tools"]
    assert add["function"] == {"name": "add", "description": "Adds.", "parameters": ADD.parameters}


async def test_cache_marks_are_sent_to_anthropic() -> None:
    said = UserMessage(content=[TextContent(text="long", cache_control={"type": "ephemeral", "ttl": "1h"})])
    marked = ADD.model_copy(update={"cache_control": {"type": "ephemeral"}})
    body = await sent(ANTHROPIC, Context(messages=[said], tools=[marked]))
    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body["tools"][0]["cache_control"]["type"] == "ephemeral"


async def test_images_are_sent_as_base64() -> None:
    context = conversation(UserMessage(content=[TextContent(text="What is this?"), PIXEL]))
    source = (await sent(ANTHROPIC, context))["messages"][0]["content"][1]["source"]
    assert source == {"type": "base64", "media_type": "image/png", "data": PIXEL.data}
    image = (await sent(OPENAI, context))["messages"][0]["content"][1]
    assert image["image_url"]["url"] == f"data:image/png;base64,{PIXEL.data}"


@each_api
async def test_an_image_that_is_no_base64_is_refused(api: str) -> None:
    with pytest.raises(ValueError, match="base64"):
        await sent(api, conversation(UserMessage(content=[ImageContent(data="*", mime_type="image/png")])))


def tool_results(api: str) -> Context:
    calls = [ToolCall(id="c1", name="look", arguments={"at": "x"}), ToolCall(id="c2", name="add")]
    return conversation(
        UserMessage(content="look"),
        answer(*calls, api=api),
        ToolResultMessage(tool_call_id="c1", tool_name="look", content=[TextContent(text="seen"), PIXEL]),
        ToolResultMessage(tool_call_id="c2", tool_name="add", content=[TextContent(text="no")], is_error=True),
        UserMessage(content="and?"),
    )


async def test_tool_results_stand_in_one_turn_with_what_the_user_says_next_at_anthropic() -> None:
    [_, _, turn] = (await sent(ANTHROPIC, tool_results(ANTHROPIC)))["messages"]
    looked, added, said = turn["content"]
    assert [block["type"] for block in looked["content"]] == ["text", "image"]
    assert (looked["tool_use_id"], "is_error" in looked) == ("c1", False)
    assert (added["tool_use_id"], added["is_error"], added["content"][0]["text"]) == ("c2", True, "no")
    assert said == {"type": "text", "text": "and?"}


async def test_images_of_tool_results_follow_them_at_openai() -> None:
    messages = (await sent(OPENAI, tool_results(OPENAI)))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at":"x"}'}
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    assert messages[3]["content"] == "no"  # there is no mark for an error; the text says it
    shown = messages[4]["content"]
    assert shown[0]["text"] == "Shown by the tool 'look' (call c1):"
    assert shown[1]["image_url"]["url"].endswith(PIXEL.data)
    assert messages[5]["content"] == "and?"


async def test_thinking_goes_back_to_the_vendor_that_made_it() -> None:
    thought: list[AssistantContent] = [
        ThinkingContent(thinking="hm", thinking_signature="signed"),
        ThinkingContent(thinking="", thinking_signature="sealed", redacted=True),
        ThinkingContent(thinking="", thinking_signature="kept back"),
        TextContent(text="yes"),
    ]
    context = conversation(*HELLO.messages, answer(*thought, api=ANTHROPIC), *HELLO.messages)
    assert (await sent(ANTHROPIC, context))["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "signed"},
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "thinking", "thinking": "", "signature": "kept back"},
        {"type": "text", "text": "yes"},
    ]


async def test_thinking_of_another_vendor_is_text_without_its_signature() -> None:
    thought: list[AssistantContent] = [
        ThinkingContent(thinking="hm", thinking_signature="signed"),
        TextContent(text="yes"),
    ]
    foreign = answer(*thought, api="other", provider="elsewhere")
    messages = (await sent(ANTHROPIC, conversation(*HELLO.messages, foreign, *HELLO.messages)))["messages"]
    assert messages[1]["content"] == [
        {"type": "text", "text": "<thinking>\nhm\n</thinking>"},
        {"type": "text", "text": "yes"},
    ]
    assert "signed" not in str(messages)


async def test_reasoning_goes_back_in_the_field_that_it_came_in() -> None:
    thought: list[AssistantContent] = [
        ThinkingContent(thinking="hm", thinking_signature="reasoning_content"),
        TextContent(text="yes"),
    ]
    context = conversation(*HELLO.messages, answer(*thought, api=OPENAI), *HELLO.messages)
    message = (await sent(OPENAI, context))["messages"][1]
    assert (message["reasoning_content"], message["content"]) == ("hm", "yes")


async def test_a_thought_signature_goes_back_with_its_call() -> None:
    opaque = {"google": {"thought_signature": "signed"}}
    call = ToolCall(id="c", name="add", thought_signature='{"extra_content":{"google":{"thought_signature":"signed"}}}')
    context = conversation(
        *HELLO.messages,
        answer(call, api=OPENAI),
        ToolResultMessage(tool_call_id="c", tool_name="add", content=[TextContent(text="1")]),
    )
    [sent_call] = (await sent(OPENAI, context))["messages"][1]["tool_calls"]
    assert sent_call["extra_content"] == opaque


@each_api
async def test_answers_that_failed_are_left_out(api: str) -> None:
    failed = answer(ToolCall(id="c", name="add"), api=api, stop_reason="error")
    body = await sent(api, conversation(UserMessage(content="a"), failed, UserMessage(content="b")))
    assert {message["role"] for message in body["messages"]} == {"user"}
    assert "tool_use" not in str(body)
    assert "tool_calls" not in str(body)


async def test_blocks_of_the_vendors_own_go_back_unchanged_to_it_alone() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}, "new": None}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"encrypted_content": "E"}]}
    cited = [{"type": "web_search_result_location", "encrypted_index": "I", "url": "u"}]
    own = [ProviderContent(api=ANTHROPIC, provider="test", kind=data["type"], data=data) for data in (use, found)]
    text = TextContent(text="yes", citations=cited)
    context = conversation(*HELLO.messages, answer(*own, text, api=ANTHROPIC), *HELLO.messages)
    body = await sent(ANTHROPIC, context)
    assert body["messages"][1]["content"] == [use, found, {"type": "text", "text": "yes", "citations": cited}]
    elsewhere = "another"
    assert (await sent(ANTHROPIC, context, provider=elsewhere))["messages"][1]["content"] == [
        {"type": "text", "text": "yes"}
    ]
    assert (await sent(OPENAI, context))["messages"][1] == {"role": "assistant", "content": "yes"}


async def test_a_paused_answer_goes_back_whole_at_the_end_of_the_conversation() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    paused = answer(
        ThinkingContent(thinking="hm", thinking_signature="signed"),
        ProviderContent(api=ANTHROPIC, provider="test", kind="server_tool_use", data=use),
        api=ANTHROPIC,
        paused=True,
    )
    assert (await sent(ANTHROPIC, conversation(*HELLO.messages, paused)))["messages"][1:] == [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "signed"}, use]}
    ]


async def test_a_server_side_call_without_a_result_goes_back_in_the_last_answer_only() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    own = ProviderContent(api=ANTHROPIC, provider="test", kind="server_tool_use", data=use)
    text = TextContent(text="yes")
    later = ProviderContent(api=ANTHROPIC, provider="test", kind="server_tool_use", data={**use, "id": "s2"})
    context = conversation(
        *HELLO.messages, answer(own, text, api=ANTHROPIC), *HELLO.messages, answer(text, later, api=ANTHROPIC)
    )
    answers = (await sent(ANTHROPIC, context))["messages"][1::2]
    said = {"type": "text", "text": "yes"}
    assert [each["content"] for each in answers] == [[said], [said, {**use, "id": "s2"}]]


@pytest.mark.parametrize(
    ("tool", "goes_on"),
    [
        ("code_execution_20250825", True),
        ("web_search_20260209", True),
        ("web_search_20250305", False),
        (None, False),
    ],
)
async def test_code_goes_on_in_the_container_of_the_last_answer(tool: str | None, goes_on: bool) -> None:
    container = ProviderContent(api=ANTHROPIC, provider="test", kind="container", data={"id": "container_1"})
    context = conversation(*HELLO.messages, answer(TextContent(text="a"), container, api=ANTHROPIC), *HELLO.messages)
    tools = {"tools": [{"type": tool, "name": "t"}]} if tool else {}
    body = await sent(ANTHROPIC, context, StreamOptions.model_validate(tools))
    assert body.get("container") == ("container_1" if goes_on else None)
    assert body["messages"][1]["content"] == [{"type": "text", "text": "a"}]


PDF = base64.b64encode(b"%PDF-not really").decode()
DOCUMENTS: list[tuple[DocumentContent, dict[str, Any], list[Any]]] = [
    (
        DocumentContent(data=PDF, name="bill.pdf"),
        {
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
            "title": "bill.pdf",
        },
        ["Document 'bill.pdf':", f"data:application/pdf;base64,{PDF}"],
    ),
    (
        DocumentContent.model_validate({"text": "One.", "mime_type": "text/plain", "citations": {"enabled": True}}),
        {
            "source": {"type": "text", "media_type": "text/plain", "data": "One."},
            "citations": {"enabled": True},
        },
        ["Document:\n\nOne."],
    ),
    (
        DocumentContent(data=base64.b64encode("zwölf".encode()).decode(), mime_type="text/csv"),
        {"source": {"type": "text", "media_type": "text/plain", "data": "zwölf"}},
        ["Document:\n\nzwölf"],
    ),
    (
        DocumentContent(url="https://docs.invalid/a.pdf"),
        {"source": {"type": "url", "url": "https://docs.invalid/a.pdf"}},
        ["Document: https://docs.invalid/a.pdf"],
    ),
]


@pytest.mark.parametrize(("document", "anthropic", "openai"), DOCUMENTS)
async def test_a_document_is_sent_as_one_or_as_text(
    document: DocumentContent, anthropic: dict[str, Any], openai: list[Any]
) -> None:
    context = conversation(UserMessage(content=[TextContent(text="Read:"), document]))
    [_, written] = (await sent(ANTHROPIC, context))["messages"][0]["content"]
    assert written == {"type": "document", **anthropic}
    [_, *shown] = (await sent(OPENAI, context))["messages"][0]["content"]
    assert [block.get("text") or block["file"]["file_data"] for block in shown] == openai


async def test_a_tool_can_return_a_document() -> None:
    context = tool_results(ANTHROPIC)
    context.messages[2] = ToolResultMessage(
        tool_call_id="c1", tool_name="look", content=[DocumentContent(data=PDF, name="bill.pdf")]
    )
    looked = (await sent(ANTHROPIC, context))["messages"][2]["content"][0]
    assert (looked["tool_use_id"], looked["content"][0]["source"]["data"]) == ("c1", PDF)
    messages = (await sent(OPENAI, context))["messages"]
    assert messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "(see the document below)"}
    assert messages[4]["content"][2]["file"]["file_data"].endswith(PDF)


@each_api
@pytest.mark.parametrize(
    "document",
    [DocumentContent(data="*"), DocumentContent(), DocumentContent(text="a", url="https://docs.invalid/")],
)
async def test_a_document_that_is_none_is_refused(api: str, document: DocumentContent) -> None:
    with pytest.raises(ValueError, match=r"base64|exactly one of data, text and url"):
        await sent(api, conversation(UserMessage(content=[document])))


@each_api
async def test_half_a_surrogate_pair_is_replaced_for_no_request_can_carry_it(api: str) -> None:
    call = ToolCall(id="c", name="add", arguments={"half \ud83d": ["\ude00", {"whole": "\ud83d\ude00"}]})
    result = ToolResultMessage(tool_call_id="c", tool_name="add", content=[TextContent(text="\ud83d!")])
    context = conversation(UserMessage(content="\udfff?"), answer(TextContent(text="\ud83d"), call, api=api), result)
    context.system_prompt = "\ud83d."
    body = await sent(api, context)
    said = str(body)
    assert "\ufffd." in said
    assert "\ufffd?" in said
    assert "\ufffd!" in said
    assert "half \ufffd" in said
    assert "\N{GRINNING FACE}" in said
    assert result.content == [TextContent(text="\ud83d!")]  # ours stays as it was
