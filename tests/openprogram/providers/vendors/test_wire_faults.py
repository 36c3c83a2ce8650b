"""Recorded conversations that are disturbed on the way."""

import pytest

from tests.openprogram.providers.vendors.wire_cases import exchange_events, serve_case
from tests.wire.answers import final_message

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),
]

each_case = pytest.mark.parametrize("name", ["anthropic-messages/tools-parallel", "openai-chat/tools-parallel"])

STATUSES = [
    (401, "auth", False),
    (413, "context_overflow", False),
    (429, "rate_limit", True),
    (500, "server", True),
    (529, "overloaded", True),
]


@each_case
@pytest.mark.parametrize(("status", "reason", "retryable"), STATUSES)
async def test_a_status_is_a_failure_and_the_next_call_is_answered(
    name: str, status: int, reason: str, *, retryable: bool
) -> None:
    with serve_case(name, first_status=status, first_headers={"retry-after": "3"}) as url:
        message = final_message(await exchange_events(name, url, 0))
        assert (message.error_reason, message.error_retryable) == (reason, retryable)
        assert message.error_retry_after_s == 3.0
        assert final_message(await exchange_events(name, url, 0)).stop_reason == "toolUse"
    assert len(url.server.requests) == 2


@each_case
@pytest.mark.parametrize("cut_mode", ["close", "reset", "end"])
async def test_an_answer_that_is_cut_is_a_failure_and_comes_whole_when_asked_again(name: str, cut_mode: str) -> None:
    for cut in (1, 700, 1500, 2400):
        with serve_case(name, cut=cut, cut_mode=cut_mode) as url:
            message = final_message(await exchange_events(name, url, 0))
            assert (message.stop_reason, message.error_reason) == ("error", "network")
            assert message.error_retryable is True
            assert final_message(await exchange_events(name, url, 0)).stop_reason == "toolUse"
