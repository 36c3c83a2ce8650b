"""What a growing context costs: each request through the memo, against dumping and redacting it anew."""

import statistics
import time

from openprogram.pipeline.json_value import to_json_text
from openprogram.pipeline.redaction import redact
from openprogram.pipeline.request_parts import PartMemo
from openprogram.pipeline.stages.normalize import normalized
from openprogram.pipeline.stages.redact import clean_request
from openprogram.providers.codec import ProviderRequestCodec
from tests.benchmarks.workload import MODEL, Session, session

__all__ = ["request_rows"]

_CODEC = ProviderRequestCodec()


def request_rows() -> list[tuple[str, str, str]]:
    """Name, measured, goal."""
    played = session(200, 600, 2000)
    (anew, size), *others = [_anew(played) for _ in range(3)]
    anew = statistics.median([anew, *(seconds for seconds, _ in others)])
    copies = Session([context.model_copy(deep=True) for context in played.contexts], played.answers)
    by_object = statistics.median(_through_the_memo(played) for _ in range(5))
    by_content = statistics.median(_through_the_memo(copies) for _ in range(5))
    return [
        ("large: requests, same objects", f"1/{anew / by_object:.0f} of anew ({size / anew / 1e6:.0f} MB/s)", "≤ 1/25"),
        ("large: requests, equal objects", f"1/{anew / by_content:.0f} of anew", ""),
        ("growing session through the memo", f"{size / by_object / 1e6:.0f} MB/s", "≥ 100 MB/s"),
    ]


def _anew(played: Session) -> tuple[float, int]:
    """CPU seconds of dumping and redacting every request, without making text of it; and the bytes of that text."""
    seconds, size = 0.0, 0
    for context in played.contexts:
        started = time.process_time()
        redacted = redact(_CODEC.dump((MODEL, context, None)))
        seconds += time.process_time() - started
        size += len(to_json_text(redacted.value))
    return seconds, size


def _through_the_memo(played: Session) -> float:
    """CPU seconds of each request on its way to the text that is written."""
    memo = PartMemo()
    started = time.process_time()
    for context in played.contexts:
        clean_request(normalized((MODEL, context, None), _CODEC, memo), memo).request.body()
    return time.process_time() - started
