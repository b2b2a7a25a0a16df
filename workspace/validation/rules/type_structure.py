"""Documents that no longer have the sections of their type (`docs/templates.md`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates import DocumentType
from workspace.markdown.slugs import make_heading_slug
from workspace.nearest import find_nearest
from workspace.validation.rule import Rule, Severity, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.sections import Section
    from workspace.validation.rule import Subject


def _find(subject: Subject) -> Iterator[Spot]:
    document = subject.document
    document_type = subject.types.get(document.type or "")
    if not isinstance(document_type, DocumentType):
        return
    by_title: dict[str, Section] = {}
    for section in document.sections:
        if section.has_heading:
            by_title.setdefault(section.title.casefold(), section)
            # A heading with changed words is matched by its anchor.
            by_title.setdefault((section.anchor or section.address).rpartition("/")[2].casefold(), section)
    type_range = subject.front_matter_keys.get("type", (0, 0))
    previous: Section | None = None
    for part in document_type.sections:
        match = by_title.get(part.title.casefold()) or by_title.get(make_heading_slug(part.title))
        if match is None:
            nearest = find_nearest(part.title, [section.title for section in document.sections])
            fix = f"Add {'#' * part.level} {part.title}" + (
                f", or rename '{nearest[0]}' to it." if nearest else "."
            )
            yield Spot(
                *type_range,
                f"the type '{document_type.name}' has a section '{part.title}', and it is missing",
                fix,
            )
            continue
        heading_range = match.heading_start, match.body
        level = match.heading.block.level if match.heading else part.level
        if level != part.level:
            yield Spot(
                *heading_range,
                f"'{part.title}' is an h{level}, and an h{part.level} in the type '{document_type.name}'",
                f"Write {'#' * part.level}.",
            )
        if previous is not None and match.position < previous.position:
            yield Spot(
                *heading_range,
                f"'{part.title}' is before '{previous.title}', but after it in the type "
                f"'{document_type.name}'",
                "Move it.",
            )
        else:
            previous = match


RULE = Rule(
    "type-structure",
    Severity.WARNING,
    "A document lacks a section of its type, or has it at another level or in another order.",
    _find,
)
