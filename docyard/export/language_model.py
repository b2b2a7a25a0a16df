"""The files for language models, as described at https://llmstxt.org.

`llms.txt` has the title, the description and a list of links to the documents as Markdown, each with a
summary of one line. `llms-full.txt` has the texts of all documents.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.walkthrough import read_description, shorten_text
from workspace.frontmatter.reader import format_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from docyard.export.contents import ExportedDocument
    from workspace.document.document import Document

_MAX_TITLE_CHARACTERS = 200
_MAX_SUMMARY_CHARACTERS = 200
_MARKUP = re.compile(r"[\\\[\]]")


def summarize_document(document: Document) -> str:
    """Return the description in the front matter of a document, else its first paragraph, as one line."""
    description = format_value(document.front_matter.get("description")) or read_description(document)
    return shorten_text(" ".join(description.split()), _MAX_SUMMARY_CHARACTERS)


def write_list(title: str, description: str, documents: Iterable[ExportedDocument]) -> str:
    """Return the text of `llms.txt`. Each folder with documents is a section."""
    lines = [*write_head(title, description)]
    folder = None
    for document in documents:
        if document.folder != folder:
            folder = document.folder
            lines += ["", f"## {_escape(folder) or 'Documents'}", ""]
        summary = f": {document.summary}" if document.summary else ""
        lines.append(f"- [{_escape(document.title)}]({document.page_url}.md){summary}")
    return "\n".join(lines) + "\n"


def write_text(path: str, text: str) -> str:
    """Return the part of `llms-full.txt` for one document."""
    return f"\n---\n\nFile: {_escape(path)}\n\n{text.strip()}\n"


def write_head(title: str, description: str) -> Iterator[str]:
    """Yield the first lines of both files: the title and the description."""
    yield f"# {_escape(title)}"
    if description:
        yield ""
        yield f"> {' '.join(description.split())}"


def _escape(text: str) -> str:
    """Return a text as one line in which brackets begin no link."""
    return _MARKUP.sub(r"\\\g<0>", shorten_text(" ".join(text.split()), _MAX_TITLE_CHARACTERS))
