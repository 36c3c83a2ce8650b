"""Whether a file is a recording, whole or damaged, or only has a name like one: how it begins tells."""

import re
from contextlib import closing
from pathlib import Path
from typing import Final

from openprogram.pipeline.errors import RecordingFileError
from openprogram.pipeline.log.files import file_errors
from openprogram.pipeline.log.source import open_source

__all__ = ["looks_recorded"]

#: Bytes that are looked at: a line under a header that is lost or damaged begins in them, and may be megabytes.
_LOOKED_AT: Final = 64 << 10

#: A line's type and a field that only lines of ours have beside it: others call their lines `header` and `event` too.
_HEADER: Final = re.compile(rb'"type"\s*:\s*"header"')
_OTHER_LINE: Final = re.compile(rb'"type"\s*:\s*"(?:request|event|call_end)"')
_TORN_HEADER: Final = re.compile(rb'\{"type":"header"[^\n]*')


def looks_recorded(path: Path) -> bool:
    """Whether the file begins as a recording does, or as what is left of one; also where that can't be told.

    So only a file that says that it is something else is none: not one without its header, or with a damaged or torn
    one, not an empty one, none that can't be read.
    """
    try:
        with closing(open_source(path)) as source, file_errors(path, "read"):
            begin = source.reader().read(_LOOKED_AT)
    except RecordingFileError:
        return True
    return not begin or _TORN_HEADER.fullmatch(begin) is not None or any(map(_is_recorded, begin.split(b"\n")))


def _is_recorded(line: bytes) -> bool:
    if b'"format_version"' in line and _HEADER.search(line):
        return True
    return b'"call_index"' in line and _OTHER_LINE.search(line) is not None
