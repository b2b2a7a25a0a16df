"""The text of a section for comparisons: without its heading and the blank lines around it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.document.fields import build_name_pattern
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.sections import Section

DESTINATION = re.compile(rb"(?<=\]\()[^()\s]+|(?<=\]: )\S+")
"""A link's destination, which changes when its section moves (CommonMark 0.31 §6.3, §4.7)."""

_DEPENDENCIES = re.compile(rb"%b.*" % build_name_pattern(["depends on"]).encode(), re.IGNORECASE)


def read_own_text(document: Document, section: Section) -> bytes:
    """Return a section's own text, without its heading and its subsections."""
    return document.data[section.body_start : section.end].strip(BLANK)


def read_full_text(document: Document, section: Section) -> bytes:
    """Return the text of a section and its subsections, without the section's heading."""
    return document.data[section.body_start : section.tree_end].strip(BLANK)


def read_comparable_text(document: Document, section: Section) -> bytes:
    """Return a section's own text, or its full text if the own text is empty, without what a move changes."""
    return remove_moved_parts(read_own_text(document, section) or read_full_text(document, section))


def remove_moved_parts(text: bytes) -> bytes:
    """Return a text without what changes if it moves to another document.

    These are its line endings, the destinations of links, and the dependencies of tasks.
    """
    return _DEPENDENCIES.sub(b"", DESTINATION.sub(b"", text.replace(b"\r\n", b"\n")))


def compute_digest(document: Document, section: Section) -> bytes | None:
    """Return the SHA-256 of a section's own text, or None if the text is empty.

    The text of a preamble includes the text above its heading.
    """
    text = read_own_text(document, section)
    if section.is_preamble and (
        text_above := document.data[section.start : section.heading_start].strip(BLANK)
    ):
        text = text_above + b"\n\n" + text
    return hashlib.sha256(text).digest() if text else None


@dataclass(frozen=True, slots=True)
class SectionText:
    """The fields of a section in a response: its key, its own source with the heading, and its digest.

    `slug` is the key, and `digest` the result of `compute_digest`.
    """

    slug: str
    source: str
    digest: bytes | None


def read_section_text(document: Document, section: Section) -> SectionText:
    """Return the key, the own source and the digest of a section."""
    return SectionText(
        section.key, document.text(section.start, section.end), compute_digest(document, section)
    )
