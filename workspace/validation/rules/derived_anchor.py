"""Headings with two anchors: an author's, and one derived by Docyard 0.1.0, which did not read the first.

`## First steps { #first-steps } {#first-steps--first-steps-}`: a renderer reads one list and shows the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.headings import find_inline_span
from workspace.document.splices import Splice
from workspace.markdown.anchors import find_derived_anchor
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    for section in context.document.sections:
        heading = section.heading
        derived_anchor = find_derived_anchor(heading.block.source) if heading else None
        if heading is None or derived_anchor is None:
            continue
        splice = _make_splice(context.document, heading, *derived_anchor[1:])
        yield ByteFinding(
            splice.start if splice else section.heading_start,
            splice.end if splice else section.body_start,
            f"the heading has '{derived_anchor[0][:200]}', which was derived from its own anchor",
            f"Keep only '{(heading.text.name or '')[:200]}'; `docyard fix` removes the other.",
            (splice,) if splice else (),
        )


def _make_splice(document: Document, heading: AnchoredHeading, start: int, end: int) -> Splice | None:
    """Return the splice that removes characters of a heading's source; return None if its bytes differ."""
    source = heading.block.source
    source_start, source_end = find_inline_span(document.lines, heading.block)
    if document.data[source_start:source_end] != source.encode():
        return None
    return Splice(source_start + len(source[:start].encode()), source_start + len(source[:end].encode()), b"")


RULE = Rule(
    "derived-anchor",
    Severity.WARNING,
    "A heading has an author's anchor and one derived from it.",
    _find_problems,
)
