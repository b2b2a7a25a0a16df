"""The text of a document or section whose changes end its drift: without what mechanical edits change.

Moves change line endings, heading levels and destinations of links. Fixes add anchors. The tools for tasks
change checkboxes and fields, and tags are changed in the front matter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.coverage import COVERS_KEY
from workspace.document.fields import build_name_pattern
from workspace.document.section_text import DESTINATION
from workspace.document.tasks import TASK_FIELDS
from workspace.markdown.lines import BLANK, BOM, LIST_MARKER_BYTES

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.document.sections import Section

_FRONT_MATTER = re.compile(
    rb"\A(?:%b)?---[ \t]*\n(?:.*\n)*?(?: {0,3}-{3,}|\.\.\.)[ \t]*(?:\n|\Z)" % re.escape(BOM)
)
_COVERS = re.compile(rb"^%b[ \t]*:.*\n(?:(?:[ \t]|- ).*\n)*" % COVERS_KEY.encode(), re.MULTILINE)
_CRITERIA = "criteria"  # the only field of a task that no tool writes without a new text
_TASK_FIELD = re.compile(  # all lines of its paragraph
    rb"^[ \t]+[-*+][ \t]+%b.*(?:\n[ \t]++(?!%b[ \t])\S.*)*(?:\n|\Z)"
    % (build_name_pattern(name for name in TASK_FIELDS if name != _CRITERIA).encode(), LIST_MARKER_BYTES),
    re.MULTILINE | re.IGNORECASE,
)
_HTML_ANCHOR = re.compile(rb"""<a (?:id|name)="[^"\s]+"></a>\n?""")
_ATTRIBUTE_LIST = re.compile(
    rb"(?<![ \t])[ \t]*+(?:\{(?:/\*|:)?[ \t]*[#.][^{}\n]*\}|<#[^<>\s]+>)[ \t]*$", re.MULTILINE
)
_CHECKBOX = re.compile(rb"^([ \t>]*%b[ \t]+\[)[xX](?=\][ \t])" % LIST_MARKER_BYTES, re.MULTILINE)
_HEADING_MARKS = re.compile(rb"^ {0,3}#{1,6}(?=[ \t\n]|\Z)", re.MULTILINE)
_SETEXT_HEADING = re.compile(rb"^ {0,3}(\S.*)\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)


def read_covered_text(document: Document, section: Section | None) -> bytes:
    """Return the text of a section with its subsections, or of the document (None)."""
    return document.data if section is None else document.data[section.start : section.tree_end]


def normalize_text(text: bytes) -> bytes:
    """Return a text without what mechanical edits change, and without blank lines around it.

    Of the front matter, only `covers` remains. Code blocks are not recognized, so that lines like headings
    and fields are changed in them too.
    """
    text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = _FRONT_MATTER.sub(lambda match: b"".join(_COVERS.findall(match[0])), text)
    for pattern in (DESTINATION, _TASK_FIELD, _HTML_ANCHOR, _ATTRIBUTE_LIST):
        text = pattern.sub(b"", text)
    text = _CHECKBOX.sub(rb"\1 ", text)
    text = _SETEXT_HEADING.sub(rb"# \1", _HEADING_MARKS.sub(b"#", text))
    return text.strip(BLANK)
