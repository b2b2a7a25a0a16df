"""Front matter edits: one key replaced, every other byte of the block left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import frontmatter
from workspace.edits.edit import Splice
from workspace.lines import with_ending

if TYPE_CHECKING:
    from workspace.document import Document


def replace_front_matter_key(document: Document, key: str, line: str) -> Splice:
    """Replaces a key's lines, or adds it; a document without front matter gets one. An empty `line` removes the key.

    Raises InvalidFrontMatter where the block that is there is no mapping.
    """
    first = document.lines.starts[0]
    if document.outline.front_matter is None:
        if not line:
            return Splice(first, first, b"")
        block = f"---\n{line}---\n\n" if document.data[first:].strip() else f"---\n{line}---\n"
        return Splice(first, first, with_ending(block, document.ending))
    if document.front_matter_error:
        raise document.front_matter_error
    start = document.lines.offset(1)
    end = document.lines.offset(document.outline.front_matter[1] - 1)
    source = document.data[start:end].decode()
    written = frontmatter.replace_key(source, key, with_ending(line, document.ending).decode())
    return Splice(start, end, written.encode())
