"""Document types, and their parser for `type.toml` and `document.md`.

`docs/templates.md` describes the two files for authors of types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from templates.description import Description, parse_description
from templates.invalid import InvalidTemplate
from templates.skeleton import Heading, parse_skeleton

__all__ = ["DocumentType", "InvalidTemplate", "TemplateSection", "parse_type"]

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,40}")


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A heading of the skeleton, and the guidance for its text. `level` is 2 to 6."""

    title: str
    level: int
    guidance: str = ""


@dataclass(frozen=True, slots=True)
class DocumentType:
    """Guidance for the author of a document, and the skeleton of the document.

    `structure` is the skeleton: Markdown with LF line ends and a final newline. Its first heading is
    `# {title}`, the only level-1 heading; headings have no anchors. `sections` are its other headings.
    """

    name: str
    title: str
    summary: str
    instructions: tuple[str, ...]
    best_practices: tuple[str, ...]
    structure: str
    sections: tuple[TemplateSection, ...]

    @property
    def guidance(self) -> str:
        """Return the instructions and the guidance for each section as one Markdown text. May be empty."""
        lines = [f"- {instruction}" for instruction in self.instructions]
        guided_sections = [section for section in self.sections if section.guidance]
        if guided_sections:
            lines += ["", "What belongs in each section:"] if lines else ["What belongs in each section:"]
            lines += [f"- {section.title}: {section.guidance}" for section in guided_sections]
        return "\n".join(lines)


def parse_type(name: str, toml: bytes, markdown: bytes) -> DocumentType:
    """Return the type that the two files of the folder `name` describe.

    Raises InvalidTemplate with the invalid field: `name`, `type.toml`, `document.md`, or a key of
    `type.toml` such as `instructions[2]` or `sections.Risks`.
    """
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidTemplate(
            "name",
            "must be a lower-case letter, then at most 40 of the characters a-z, 0-9 and _",
        )
    description = parse_description(toml)
    structure, headings = parse_skeleton(markdown)
    return DocumentType(
        name=name,
        title=description.title,
        summary=description.summary,
        instructions=description.instructions,
        best_practices=description.best_practices,
        structure=structure,
        sections=_merge_sections(description, headings),
    )


def _merge_sections(description: Description, headings: tuple[Heading, ...]) -> tuple[TemplateSection, ...]:
    heading_titles = {heading.title for heading in headings}
    for title in description.sections:
        if title not in heading_titles:
            raise InvalidTemplate(f"sections.{title}", "no heading of document.md has this title")
    return tuple(
        TemplateSection(heading.title, heading.level, description.sections.get(heading.title, ""))
        for heading in headings
    )
