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
    kind = subject.types.get(document.type or "")
    if not isinstance(kind, DocumentType):
        return
    by_title: dict[str, Section] = {}
    for section in document.sections:
        if section.has_heading:
            by_title.setdefault(section.title.casefold(), section)
            # A heading with changed words is matched by its anchor.
            by_title.setdefault((section.anchor or section.address).rpartition("/")[2].casefold(), section)
    whole = subject.front_matter_keys.get("type", (0, 0))
    last: Section | None = None
    for part in kind.sections:
        found = by_title.get(part.title.casefold()) or by_title.get(make_heading_slug(part.title))
        if found is None:
            near = find_nearest(part.title, [section.title for section in document.sections])
            fix = f"Add {'#' * part.level} {part.title}" + (
                f", or rename '{near[0]}' to it." if near else "."
            )
            yield Spot(*whole, f"the type '{kind.name}' has a section '{part.title}', and it is missing", fix)
            continue
        place = found.heading_start, found.body
        level = found.heading.block.level if found.heading else part.level
        if level != part.level:
            yield Spot(
                *place,
                f"'{part.title}' is an h{level}, and an h{part.level} in the type '{kind.name}'",
                f"Write {'#' * part.level}.",
            )
        if last is not None and found.position < last.position:
            yield Spot(
                *place,
                f"'{part.title}' is before '{last.title}', but after it in the type '{kind.name}'",
                "Move it.",
            )
        else:
            last = found


RULE = Rule(
    "type-structure",
    Severity.WARNING,
    "A document lacks a section of its type, or has it at another level or in another order.",
    _find,
)
