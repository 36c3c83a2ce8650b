"""What some recorded exchanges say, read from their bytes by hand: what the readers of tests/wire are held to."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["EXPECTED", "Answer", "Failed", "Long"]


@dataclass(frozen=True)
class Long:
    """A text by its length in characters and how it begins and ends."""

    length: int
    begins: str
    ends: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return len(other) == self.length and other.startswith(self.begins) and other.endswith(self.ends)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Answer:
    """An exchange. `usage`: input, output, cache read, cache write. `tools`: id, name, arguments.

    `thinking`: text, and how the signature begins. `texts`: the text blocks; None where there are too many to list.
    """

    stop: str
    usage: tuple[int, int, int, int]
    texts: list[str | Long] | None = field(default_factory=list)
    tools: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    thinking: list[tuple[str | Long, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Failed:
    """A failed exchange: why, what the provider says, and what had come by then."""

    reason: str
    retryable: bool
    says: str
    retry_after_s: float | None = None
    usage: tuple[int, int, int, int] = (0, 0, 0, 0)
    texts: list[str | Long] = field(default_factory=list)
    thinking: list[str | Long] = field(default_factory=list)
    tools: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)


_LOOK_UP = "secret_retrieval_tool"
_PARALLEL = "I'll retrieve the secrets for both passwords you provided."
_COUNTED = Answer("stop", (15, 9, 0, 0), ["1\n2\n3"])

_ANTHROPIC: dict[str, list[Answer | Failed]] = {
    "cache-write-read": [
        Answer("stop", (4, 201, 0, 1165), [Long(913, "Here are concise summaries", "y with long-term payoffs.")]),
        Answer("stop", (4, 221, 1165, 0), [Long(1016, "Here are concise summaries", "pays off in the long run.")]),
    ],
    "derived-error-mid-stream": [
        Failed(
            "overloaded",
            True,
            "Overloaded",
            usage=(17, 1, 0, 0),
            texts=[Long(157, "Here's an OpenTelemetry joke", " debugging skills! 🕵️\u200d♀️🔍")],
        )
    ],
    "derived-http-429": [Failed("rate_limit", True, "rate limit of 50 requests per minute", retry_after_s=2.0)],
    "derived-http-529-then-ok": [Failed("overloaded", True, "Overloaded"), _COUNTED],
    "derived-truncated": [
        Failed(
            "network",
            True,
            "ended before the answer did",
            usage=(416, 1, 0, 0),
            texts=[_PARALLEL],
            tools=[
                ("toolu_015cUijgET79LXjgeYQerN2h", _LOOK_UP, {"password": "mellon"}),
                ("toolu_01XZTimPexA7h3EVKesnKt5T", _LOOK_UP, {"password": "radian"}),
            ],
        )
    ],
    "http-401": [Failed("auth", False, "401: invalid x-api-key")],
    "image-input": [Answer("stop", (83, 9, 0, 0), ["Red square, green square."])],
    "json-schema": [
        Answer("stop", (231, 118, 0, 0), [Long(467, '{"name":"Biscuit","age":4', 'stranger in his life."}')])
    ],
    "length-stop-in-tool-json": [
        Answer(
            "length",
            (450, 124, 0, 0),
            [Long(135, "I'll create a comprehensive tax guide", "do that for you now.")],
            tools=[
                (
                    "toolu_01EKqbqmZrGRXy18eN7m9kvY",
                    "make_file",
                    {
                        "filename": "taxes.txt",
                        "lines_of_text": [
                            "# COMPREHENSIVE TAX GUIDE FOR INDIVIDUALS WITH MULTIPLE W-2s",
                            "",
                            "## INTRODUCTION",
                            "",
                            "Filing taxes",
                        ],
                    },
                )
            ],
        )
    ],
    "pause-turn-long": [
        Answer(
            "stop",
            (404_500, 943, 0, 0),
            [
                Long(65, "I'll run these searches one at a time", " requested. Let me start:"),
                Long(58, "Let me continue with the remaining", "g searches you requested:"),
                Long(43, "Now continuing with the remaining", "h the remaining searches:"),
            ],
            thinking=[(Long(1051, "The user wants me to run a series", "requested. Let me start."), "EuwJCm4I")],
        ),
        Answer("stop", (482_529, 1310, 0, 0), None),
    ],
    "refusal": [Failed("content_filter", False, "violative cyber content", usage=(18, 5, 0, 0))],
    "stop-sequence": [Answer("stop", (16, 28, 0, 0), [Long(102, "\ndef pelican():", 'catching fish."\n')])],
    "text-emoji": [
        Answer("stop", (17, 85, 0, 0), [Long(272, "Here's an OpenTelemetry joke:", "OpenTelemetry specializes in!)")])
    ],
    "text-short": [_COUNTED],
    "thinking-redacted": [
        Answer(
            "stop",
            (92, 189, 0, 0),
            [Long(359, "I notice that you've sent what appears", "task or question?")],
            thinking=[("", "EqkECkYIBxgC"), ("", "EtgBCkYIBxgC")],
        )
    ],
    "thinking-tool-loop": [
        Answer(
            "toolUse",
            (598, 92, 0, 0),
            tools=[("toolu_01825dXWLSoJwCst1qTsiWdb", "fixed_version", {})],
            thinking=[(Long(180, "The user wants me to:\n1.", "what version it returns."), "EoQDCm0I")],
        ),
        Answer("stop", (707, 89, 0, 0), [Long(277, "The version is **0.32a0**.", "plenty of room to grow!)")]),
    ],
    "thinking": [
        Answer(
            "stop",
            (43, 282, 0, 0),
            [Long(1021, "Here are the basic steps", "when crossing streets.")],
            thinking=[(Long(202, "This is a straightforward", "prevent accidents."), "EvMCCkYI")],
        )
    ],
    "tool-loop-4": [
        Answer(
            "toolUse",
            (633, 75, 0, 0),
            tools=[("toolu_01MKSN7NHsBVKr7Jvw5pqCQq", "weather", {"latitude": "52.5200", "longitude": "13.4050"})],
        ),
        Answer("stop", (748, 49, 0, 0), [Long(158, "The weather in Berlin is", "walk around the city!")]),
        Answer(
            "toolUse",
            (819, 75, 0, 0),
            tools=[("toolu_01WyBDTrFVoidP92YhrB1xZ2", "weather", {"latitude": "48.8575", "longitude": "2.3514"})],
        ),
        Answer("stop", (934, 53, 0, 0), [Long(172, "The weather in Paris is", "with light winds at 15°C.")]),
    ],
    "tools-parallel": [
        Answer(
            "toolUse",
            (416, 109, 0, 0),
            [_PARALLEL],
            tools=[
                ("toolu_015cUijgET79LXjgeYQerN2h", _LOOK_UP, {"password": "mellon"}),
                ("toolu_01XZTimPexA7h3EVKesnKt5T", _LOOK_UP, {"password": "radiance"}),
            ],
        ),
        Answer("stop", (602, 52, 0, 0), [Long(192, "Here are the secrets", "n successfully retrieved!")]),
    ],
    "web-search": [
        Answer(
            "stop",
            (10_423, 341, 0, 0),
            [
                Long(75, "Based on the search results", "in San Francisco:\n\n"),
                Long(114, "Today (November 15, 2025)", "with a high of 63°F."),
                " ",
                "Winds are from the west at 10 to 15 mph.",
                "\n\n",
                Long(187, "Tonight, it will be cloudy", "of an inch expected."),
                "\n\n",
                Long(114, "Current conditions show", "visibility at 9 miles."),
                Long(54, "\n\nThe weekend forecast", "continued rain, with "),
                Long(61, "a Level 1 storm system", "of rain this weekend."),
            ],
        )
    ],
}

_OPENAI: dict[str, list[Answer | Failed]] = {
    "cached-tokens": [Answer("length", (140, 100, 1280, 0), [Long(529, "Structuring a database", "entities might")])],
    "derived-error-mid-stream": [Failed("server", True, "The server had an error", texts=['"This is a'])],
    "derived-http-429": [Failed("rate_limit", True, "429: Rate limit reached for gpt-4", retry_after_s=1.2)],
    "empty-content-length": [Answer("length", (13, 50, 0, 0))],
    "http-400": [Failed("invalid_request", False, "400: Unsupported parameter: 'stop'")],
    "image-input-plain": [Failed("invalid_response", False, "application/json")],
    "json-schema-tools": [
        Answer(
            "toolUse",
            (140, 22, 0, 0),
            tools=[("call_byrt8SHXR4qCw7vA8xDplwcU", "get_book_info", {"isbn": "0-7653-1178-X"})],
        ),
        Answer("stop", (200, 64, 0, 0), [Long(207, '{"title":"Mistborn', '"publication_year":2006}')]),
    ],
    "n-two-choices": [
        Answer("stop", (26, 104, 0, 0), [Long(277, "I'm unable to provide", "current weather conditions.")])
    ],
    "refusal": [
        Failed("content_filter", False, "I'm very sorry, but I can't assist with that request.", usage=(64, 13, 0, 0))
    ],
    "text-usage": [Answer("stop", (12, 5, 0, 0), ['"This is a test."'])],
    "tools-parallel-loop-3": [
        Answer(
            "toolUse",
            (364, 40, 0, 0),
            tools=[
                ("call_q2UyBRP7eXNTzAoR8lEhjc9Z", "get_country", {}),
                ("call_b51ijcpFkDiTQG1bQzsrmtW5", "get_product_name", {}),
            ],
        ),
        Answer(
            "toolUse",
            (423, 15, 0, 0),
            tools=[("call_LwxJUB9KppVyogRRLQsamRJv", "get_weather", {"city": "Mexico City"})],
        ),
        Answer(
            "toolUse",
            (448, 62, 0, 0),
            tools=[
                (
                    "call_CCGIWaMeYWmxOQ91orkmTvzn",
                    "final_result",
                    {
                        "answers": [
                            {"label": "Capital", "answer": "The capital of Mexico is Mexico City."},
                            {"label": "Weather", "answer": "The weather in Mexico City is currently sunny."},
                            {"label": "Product Name", "answer": "The product name is Pydantic AI."},
                        ]
                    },
                )
            ],
        ),
    ],
    "tools-parallel": [
        Answer(
            "toolUse",
            (75, 51, 0, 0),
            tools=[
                ("call_fHCjJqt9Pysde6vcJcvbXGBx", "get_current_weather", {"location": "Seattle, WA"}),
                ("call_3J9foSw3CUb48lrqIXoTky6U", "get_current_weather", {"location": "San Francisco, CA"}),
            ],
        )
    ],
}

_COMPATIBLE: dict[str, list[Answer | Failed]] = {
    # the recorded request did not ask for usage, so there is none
    "azure-content-filter": [Answer("stop", (0, 0, 0, 0), [Long(191, "Sure! Here's a light", "their every move! 😄")])],
    "azure-http-429": [Failed("rate_limit", True, "429: Your requests to grok-4-1", retry_after_s=1.0)],
    "deepseek-reasoning": [
        Answer(
            "stop",
            (6, 212, 0, 0),
            ["Hello there! 😊 How can I help you today?"],
            thinking=[(Long(882, "Hmm, the user just said", "and that's okay too."), "reasoning_content")],
        )
    ],
    "gpustack-error-line": [
        Failed(
            "server",
            True,
            "failed to decode, try again",
            texts=[Long(1033, "\n\n**Question to Ask the Mirror:**", "triggering its revelation of")],
            thinking=[Long(7964, "\nOkay, the user is asking", "asking the question.\n")],
        )
    ],
    "groq-error-mid-stream": [
        Failed(
            "invalid_response",
            True,
            "Tool call validation failed",
            thinking=[Long(412, "We need to call the tool", "Let's do that.")],
        ),
        Answer(
            "toolUse",
            (304, 49, 0, 0),
            tools=[("fc_bfb39741-3748-4def-9886-a93fc9c64a90", "get_something_by_name", {"name": "example"})],
            thinking=[(Long(92, "We need to call the function", 'e.g., "example".'), "reasoning")],
        ),
        Answer(
            "stop",
            (339, 58, 0, 0),
            ["The tool returned the expected result for the valid call."],
            thinking=[(Long(176, "The user wants to test", "respond concisely."), "reasoning")],
        ),
    ],
    "openrouter-error-in-chunk": [
        Failed("invalid_request", False, "Token limit reached", thinking=["We need to respond to a greeting. The user"])
    ],
    "openrouter-reasoning-tool-loop": [
        Answer(
            "toolUse",
            (626, 106, 0, 0),
            tools=[("toolu_bdrk_01L9pX1Wp4FAEq9TT2Z6UAe7", "reasoning_weather", {"city": "Berlin"})],
            thinking=[(Long(211, "The user is asking for the weather", "with this parameter."), '{"details":')],
        ),
        Answer("stop", (754, 28, 0, 0), [Long(95, "The current weather in Berlin", "overcast conditions.")]),
    ],
    "perplexity-citations": [Answer("stop", (8, 5, 0, 0), ["1 2 3"])],
}

_BEDROCK: dict[str, list[Answer | Failed]] = {
    "cache-write-read": [
        Answer("stop", (11, 236, 0, 1028), [Long(1134, "# Service", "d computing environments.")]),
        Answer("stop", (12, 250, 1028, 0), [Long(1240, "# Machine Learning (ML)", "enhance user experiences.")]),
    ],
    "derived-http-429": [Failed("rate_limit", True, "429: Too many requests")],
    "derived-throttling-mid-stream": [
        Failed(
            "rate_limit",
            True,
            "Too many tokens",
            texts=[Long(201, "The capital of France is Paris", "national diplomacy. Known")],
        )
    ],
    "empty-text-delta": [
        Answer(
            "stop",
            (70, 43, 0, 0),
            ["Hello! How can I help you today?"],
            thinking=[(Long(119, 'The user just says "Hi".', "Should be short."), "")],
        )
    ],
    "guardrail": [
        Failed(
            "content_filter",
            False,
            "content filter",
            usage=(54, 18, 0, 0),
            texts=[Long(51, "{ADDRESS} is the capital of Japan", "{Account Number}.")],
        )
    ],
    "http-400": [Failed("invalid_request", False, "400: The provided model identifier is invalid.")],
    "text": [Answer("stop", (13, 82, 0, 0), [Long(375, "The capital of France is Paris", '"The City of Love."')])],
    "thinking-redacted": [
        Answer(
            "stop",
            (92, 253, 0, 0),
            [Long(359, "I notice you've sent what appears", "like to talk about today?")],
            thinking=[("", "EtkECkgI"), ("", "EqADCkgI")],
        )
    ],
    "thinking": [
        Answer(
            "stop",
            (36, 73, 0, 0),
            [Long(55, "Hello! It's nice to meet you.", "How can I help you today?")],
            thinking=[(Long(193, "The user has greeted me", "I can help them today."), "Eu0CCkgI")],
        )
    ],
    "tool-loop": [
        Answer(
            "toolUse",
            (471, 91, 0, 0),
            [Long(283, "<thinking> To find the temperature", "Paris.</thinking>\n")],
            tools=[("tooluse_lAG_zP8QRHmSYOwZzzaCqA", "get_temperature", {"city": "Paris"})],
        ),
        Answer("stop", (577, 18, 0, 0), [Long(65, "The current temperature in Paris", "France, is 30°C.")]),
    ],
    "tools-parallel": [
        Answer(
            "toolUse",
            (415, 202, 0, 0),
            [Long(254, "<thinking> The User has asked", "each city.</thinking>\n")],
            tools=[
                ("tooluse_JZ11QcxSQ3m3xacMQKVIKw", "get_current_weather", {"location": "Seattle"}),
                ("tooluse_-hxBEEwGRc-VQqC2i7SFqg", "get_current_weather", {"location": "San Francisco"}),
            ],
        ),
        Answer("stop", (565, 52, 0, 0), [Long(236, "<thinking> I have received the", "70 degrees and sunny.")]),
    ],
}

_BERLIN = {"latitude": "52.5200", "longitude": "13.4050"}
_PARIS = {"latitude": "48.8575", "longitude": "2.3514"}

_MISTRAL: dict[str, list[Answer | Failed]] = {
    "http-401": [Failed("auth", False, "401: Invalid API Key")],
    "thinking": [
        Answer(
            "stop",
            (10, 232, 0, 0),
            [Long(607, "To cross the street safely", "ensure a safe crossing.")],
            thinking=[(Long(421, "Okay, the user is asking", "and concise response."), "")],
        )
    ],
    "tool-loop-4": [
        Answer("toolUse", (31, 28, 128, 0), tools=[("g6fVbXS8K", "weather", _BERLIN)]),
        Answer("stop", (30, 43, 192, 0), [Long(109, "The current weather in Berlin", "speed of **10 km/h**.")]),
        Answer("toolUse", (99, 27, 192, 0), tools=[("VzeppoSaq", "weather", _PARIS)]),
        Answer("stop", (32, 42, 320, 0), [Long(107, "The current weather in Paris", "speed of **10 km/h**.")]),
    ],
}

#: By `folder/name` of the case, one entry per exchange.
EXPECTED: dict[str, list[Answer | Failed]] = {
    **{f"anthropic-messages/{name}": outcomes for name, outcomes in _ANTHROPIC.items()},
    **{f"openai-chat/{name}": outcomes for name, outcomes in _OPENAI.items()},
    **{f"openai-compatible/{name}": outcomes for name, outcomes in _COMPATIBLE.items()},
    **{f"bedrock-converse/{name}": outcomes for name, outcomes in _BEDROCK.items()},
    **{f"mistral-chat/{name}": outcomes for name, outcomes in _MISTRAL.items()},
}
