"""Documents that no longer have the sections of their type (`docs/templates.md`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates import DocumentType
from workspace.markdown.slugs import make_heading_slug
from workspace.nearest import find_nearest
from workspace.validation.rule import ByteFinding, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.sections import Section
    from workspace.validation.rule import RuleContext


def _find_problems(context: RuleContext) -> Iterator[ByteFinding]:
    document = context.document
    document_type = context.types.get(document.type or "")
    if not isinstance(document_type, DocumentType):
        return
    sections_by_name: dict[str, Section] = {}
    for section in document.sections:
        if section.has_heading:
            sections_by_name.setdefault(section.title.casefold(), section)
            # A heading with changed words is matched by its anchor.
            sections_by_name.setdefault(
                (section.anchor or section.address).rpartition("/")[2].casefold(), section
            )
    type_range = context.front_matter_keys.get("type", (0, 0))
    previous_section: Section | None = None
    for type_section in document_type.sections:
        matching_section = sections_by_name.get(type_section.title.casefold()) or sections_by_name.get(
            make_heading_slug(type_section.title)
        )
        if matching_section is None:
            nearest_titles = find_nearest(
                type_section.title, [section.title for section in document.sections]
            )
            fix = f"Add {'#' * type_section.level} {type_section.title}" + (
                f", or rename '{nearest_titles[0]}' to it." if nearest_titles else "."
            )
            yield ByteFinding(
                *type_range,
                f"the type '{document_type.name}' has a section '{type_section.title}', which is missing",
                fix,
            )
            continue
        heading_range = matching_section.heading_start, matching_section.body_start
        level = matching_section.heading.block.level if matching_section.heading else type_section.level
        if level != type_section.level:
            yield ByteFinding(
                *heading_range,
                f"'{type_section.title}' is an h{level}, and an h{type_section.level} "
                f"in the type '{document_type.name}'",
                f"Write {'#' * type_section.level}.",
            )
        if previous_section is not None and matching_section.position < previous_section.position:
            yield ByteFinding(
                *heading_range,
                f"'{type_section.title}' is before '{previous_section.title}', but after it in the type "
                f"'{document_type.name}'",
                "Move the section.",
            )
        else:
            previous_section = matching_section


RULE = Rule(
    "type-structure",
    Severity.WARNING,
    "A document lacks a section of its type, or has it at another level or in another order.",
    _find_problems,
)
