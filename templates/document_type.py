"""A document type, and how it is read from `type.toml` and `document.md`.

`docs/templates.md` describes the form for the people who write types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from templates.description import Description, parse_description
from templates.invalid import InvalidTemplate
from templates.skeleton import Heading, parse_skeleton

__all__ = ["DocumentType", "InvalidTemplate", "TemplateSection", "parse_type"]

NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A heading of the skeleton, and what belongs under it. `level` is 2 to 6."""

    title: str
    level: int
    guidance: str = ""


@dataclass(frozen=True, slots=True)
class DocumentType:
    """What an agent is told before it writes a document, and what the document begins with.

    `structure` is Markdown with LF line ends and a final newline. Its first heading is `# {title}`, the only
    level-1 heading; the headings carry no anchors. `sections` are its other headings, in order.
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
        """The instructions, then what belongs in each section, as one Markdown text; may be empty."""
        lines = [f"- {instruction}" for instruction in self.instructions]
        told = [section for section in self.sections if section.guidance]
        if told:
            lines += ["", "What belongs in each section:"] if lines else ["What belongs in each section:"]
            lines += [f"- {section.title}: {section.guidance}" for section in told]
        return "\n".join(lines)


def parse_type(name: str, toml: bytes, markdown: bytes) -> DocumentType:
    """Return the type that the two files of the folder `name` describe.

    Raises InvalidTemplate, which names the field that is wrong: `name`, `type.toml`, `document.md`, or a key
    of `type.toml` such as `instructions[2]` or `sections.Risks`.
    """
    if not NAME.fullmatch(name):
        raise InvalidTemplate(
            "name",
            "a type's folder is named by a lower-case letter and up to 40 more of a-z, 0-9 and _",
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
        sections=_sections(description, headings),
    )


def _sections(description: Description, headings: tuple[Heading, ...]) -> tuple[TemplateSection, ...]:
    known = {heading.title for heading in headings}
    for title in description.sections:
        if title not in known:
            raise InvalidTemplate(f"sections.{title}", "no heading of document.md has this title")
    return tuple(
        TemplateSection(heading.title, heading.level, description.sections.get(heading.title, ""))
        for heading in headings
    )
