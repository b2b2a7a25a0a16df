"""Set keys of a document's front matter, and leave every other byte of the block as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import frontmatter
from workspace.document.splices import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.document.document import Document


def set_front_matter_keys(
    document: Document, values: Mapping[str, object], *, is_whole: bool = False
) -> Splice:
    """Set keys, or take them out where the value is `frontmatter.REMOVED`; `is_whole` writes values anew.

    Front matter that holds nothing any more goes altogether, with the blank line after it.
    Raises InvalidFrontMatter where the block that is there is no mapping.
    """
    ending = document.ending.decode()
    return _rewritten(
        document, lambda source: frontmatter.set_keys(source, values, ending, is_whole=is_whole)
    )


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
