"""Front matter edits: one key replaced, every other byte of the block left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import frontmatter
from workspace.edits.edit import Splice
from workspace.lines import with_ending

if TYPE_CHECKING:
    from workspace.document import Document


def replace_front_matter_key(document: Document, key: str, line: str) -> Splice:
    """Replaces a key's lines, or adds them; an empty `line` removes the key.

    Front matter that holds nothing any more goes altogether, with the blank line after it.
    Raises InvalidFrontMatter where the block that is there is no mapping.
    """
    data, lines = document.data, document.lines
    first = lines.starts[0]
    if not document.front_matter_lines:
        block = f"---\n{line}---\n" + ("\n" if data[first:] else "") if line else ""
        return Splice(first, first, with_ending(block, document.ending))
    if document.front_matter_error:
        raise document.front_matter_error
    start, end = lines.offset(1), lines.offset(document.front_matter_lines - 1)
    try:
        source = data[start:end].decode()
    except UnicodeDecodeError as error:
        raise frontmatter.InvalidFrontMatter(
            "the front matter is not UTF-8", fix="Save the file as UTF-8."
        ) from error
    written = frontmatter.replace_key(source, key, with_ending(line, document.ending).decode())
    after = document.front_matter_lines
    if written or not source or lines.raw(after).startswith(b"---"):
        return Splice(start, end, written.encode())
    blank = after < len(lines) and not lines.raw(after).strip(b" \t")
    return Splice(first, lines.offset(after + blank), b"")
