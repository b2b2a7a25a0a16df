"""Explicit anchors and HTML ids that occur twice in a document, so that a link to them is ambiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.markdown.attribute_lists import AnchorForm
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.validation.rule import RuleContext

# The maximum number of bytes from the start of an anchor's tag or heading to its name.
_MAX_NAME_DISTANCE = 10_000


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    first_offsets: dict[str, int] = {}
    document = context.document
    for offset, name in sorted(_list_anchors(context)):
        if name in first_offsets:
            name_bytes = name.encode()
            name_offset = document.data.find(name_bytes, offset, offset + _MAX_NAME_DISTANCE)
            start = offset if name_offset < 0 else name_offset
            message_start, line = (
                f"the anchor '{name[:200]}' is",
                document.lines.line_at(first_offsets[name]) + 1,
            )
            yield ByteFinding(
                start,
                start + len(name_bytes),
                f"{message_start} on line {line} too",
                "Rename one of them; links to the name lead to the first.",
                comparison_key=message_start,
            )
        else:
            first_offsets[name] = offset


def _list_anchors(context: RuleContext) -> Iterator[tuple[int, str]]:
    """Yield the offset and name of each explicit anchor."""
    for section in context.document.sections:
        if section.heading is None:
            continue
        if section.heading.text.name and section.heading.text.anchor_form != AnchorForm.HTML:
            yield section.heading_start, section.heading.text.name
        yield from ((section.heading.below_start, name) for name in section.heading.names_below)
    for defined_name in context.parsed_links.names:
        yield defined_name.offset, defined_name.name


RULE = Rule(
    "duplicate-anchor", Severity.ERROR, "An explicit anchor occurs twice in a document.", _find_problems
)
