"""Front matter edits: keys replaced, every other byte of the block left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import frontmatter
from workspace.edits.edit import Splice
from workspace.lines import with_ending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.document import Document


def replace_front_matter_key(document: Document, key: str, line: str) -> Splice:
    """Replaces a key's lines, or adds them; an empty `line` removes the key.

    Front matter that holds nothing any more goes altogether, with the blank line after it.
    Raises InvalidFrontMatter where the block that is there is no mapping.
    """
    line = with_ending(line, document.ending).decode()
    return _rewritten(document, lambda source: frontmatter.replace_key(source, key, line))


def set_front_matter_keys(document: Document, values: Mapping[str, object]) -> Splice:
    """Sets keys to values, or takes them out; front matter comes and goes as it does with one key."""
    ending = document.ending.decode()
    return _rewritten(document, lambda source: frontmatter.set_keys(source, values, ending))


def _rewritten(document: Document, rewrite: Callable[[str], str]) -> Splice:
    data, lines = document.data, document.lines
    first = lines.starts[0]
    if not document.front_matter_lines:
        text = rewrite("").encode()
        if not text:
            return Splice(first, first, b"")
        mark = b"---" + document.ending
        return Splice(first, first, mark + text + mark + (document.ending if data[first:] else b""))
    if document.front_matter_error:
        raise document.front_matter_error
    start, end = lines.offset(1), lines.offset(document.front_matter_lines - 1)
    try:
        source = data[start:end].decode()
    except UnicodeDecodeError as error:
        raise frontmatter.InvalidFrontMatter(
            "the front matter is not UTF-8", fix="Save the file as UTF-8."
        ) from error
    written = rewrite(source)
    after = document.front_matter_lines
    if written or not source or lines.raw(after).startswith(b"---"):
        return Splice(start, end, written.encode())
    blank = after < len(lines) and not lines.raw(after).strip(b" \t")
    return Splice(first, lines.offset(after + blank), b"")
