"""Documents for apis that pydantic-ai writes the messages of: files where the api takes them, otherwise text."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_ai.messages import BinaryContent, DocumentUrl, UserContent

from openprogram.providers.types import DocumentContent

__all__ = ["NO_DOCUMENTS", "Documents", "document_content"]


@dataclass(frozen=True)
class Documents:
    """What an api takes. `mime_types`: of files in base64; `urls`: whether the vendor fetches documents by itself."""

    mime_types: frozenset[str] = frozenset()
    urls: bool = False


#: For apis that know no documents.
NO_DOCUMENTS = Documents()


def document_content(block: DocumentContent, taken: Documents) -> Iterator[UserContent]:
    """The document, with its name as a line before it.

    Nothing is fetched here: a URL that the api does not take is sent as text.
    Raises ValueError: its data is not base64, or it has not exactly one of data, text and url.
    """
    name = f"Document {block.name!r}:" if block.name else "Document:"
    match block.source():
        case "text":
            yield f"{name}\n\n{block.text}"
        case "url" if taken.urls:
            yield from [name] if block.name else []
            yield DocumentUrl(block.url or "", media_type=block.mime_type)
        case "url":
            yield f"{name} {block.url}"
        case "data":
            data = base64.b64decode(block.data or "", validate=True)
            if block.mime_type in taken.mime_types:
                yield from [name] if block.name else []
                yield BinaryContent(data, media_type=block.mime_type)
            elif block.mime_type.startswith("text/"):
                yield f"{name}\n\n{data.decode('utf-8', 'replace')}"
            else:
                yield f"{name} (of type {block.mime_type}, which cannot be shown here)"
