"""create_document: a new document from a type's skeleton and the content that is there from the beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import anchors, frontmatter, markdown
from workspace.document import Document
from workspace.edits.add_section import TOP_LEVEL
from workspace.edits.content import (
    MAX_LEVEL,
    InvalidTitle,
    LevelConflict,
    checked_text,
    checked_title,
    free_address,
    heading_line,
    prepare_content,
    strip_blank_lines,
    without_heading,
)
from workspace.edits.edit import StructureChanged
from workspace.edits.operation import Outcome
from workspace.paths import check_path
from workspace.slugs import file_slug

if TYPE_CHECKING:
    from templates import DocumentType
    from workspace.anchors import AnchorForm
    from workspace.edits.edit import Style
    from workspace.overlay import Overlay

TITLE_MARK = "{title}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A section and all below it, as a text without its own heading; its nested headings keep their levels."""

    level: int
    heading: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDocument:
    """Creates a document named after its title. `content` fills the introduction and, by title, the sections."""

    name: ClassVar[str] = "create_document"

    type: DocumentType
    title: str
    content: str = ""
    folder: str = ""

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays the document over its path. Raises InvalidTitle, InvalidPath, PathExists, LevelConflict, and more."""
        title = checked_title(self.title)
        path = self._path(title, overlay)
        text = strip_blank_lines(checked_text(self.content, "initial_content"))
        text = without_heading(text, markdown.plain_text(title))
        introduction, parts = _split(text)
        written = self._write(title, introduction, parts, style.form)
        document = Document.parse(written.encode(), path)
        _check(document, title, written)
        overlay.create(document)
        sections = [section.address for section in document.sections if not section.is_preamble]
        return Outcome(path, {"path": path, "created": True, "sections": sections}, f"Create {path}", True)

    def _path(self, title: str, overlay: Overlay) -> str:
        stem = file_slug(title)
        if not stem:
            raise InvalidTitle(
                "the title gives an empty file name: it has no letter or digit",
                fix='Add a word to it, such as "Launch plan 🚀" instead of "🚀".',
            )
        folder = self.folder.strip().strip("/") if self.folder.strip() not in ("", ".", "./") else ""
        if self.folder.startswith("/"):
            folder = self.folder
        root = overlay.snapshot.config.root
        return check_path("/".join(part for part in (folder or root, f"{stem}.md") if part))

    def _write(self, title: str, introduction: str, parts: list[_Part], form: AnchorForm) -> str:
        skeleton = without_heading(
            strip_blank_lines(self.type.structure.replace(TITLE_MARK, title, 1)), markdown.plain_text(title)
        )
        lead, planned = _flat(skeleton)
        waiting = {part.title.casefold(): part for part in reversed(parts)}
        blocks = [strip_blank_lines(text) for text in (lead, introduction)]
        for section in planned:
            blocks.append(f"{'#' * section.level} {section.heading}")
            blocks.append(section.text)
            part = waiting.pop(section.title.casefold(), None)
            if part:
                parts = [other for other in parts if other is not part]
                blocks.append(_shifted(part.text, section.level - part.level))
        for part in parts:
            blocks.append(f"{'#' * TOP_LEVEL} {part.heading}")
            blocks.append(_shifted(part.text, TOP_LEVEL - part.level))
        body = "\n\n".join(block for block in blocks if block)
        content = prepare_content(Document.parse(b""), body, below=None, level=1, address=None, form=form)
        first = heading_line(1, title, free_address(None, title, set(content.addresses)), form)
        header = frontmatter.write_scalar("type", self.type.name)
        return f"---\n{header}---\n\n{first}\n" + (f"\n{content.text}\n" if content.text else "")


def _check(document: Document, title: str, written: str) -> None:
    if document.title != markdown.plain_text(title):
        raise InvalidTitle(
            "the title does not read as a heading", fix="Leave out Markdown marks at its ends."
        )
    expected = len(markdown.outline(written).headings)
    fences = [section for section in document.sections if section.anchor is None]
    if expected != len(document.sections) or fences:
        raise StructureChanged(
            "the content would swallow a section of the new document",
            fix="Close every code fence (```) and comment (<!-- -->) in initial_content.",
        )


def _flat(text: str) -> tuple[str, list[_Part]]:
    """The text before the first heading, and every heading with its own text."""
    lines = text.split("\n")
    headings = markdown.outline(text, is_fragment=True).headings
    ends = [heading.line for heading in headings[1:]] + [len(lines)]
    lead = "\n".join(lines[: headings[0].line]) if headings else text
    parts = [
        _Part(
            heading.level,
            " ".join(heading.source.split("\n")),
            markdown.plain_text(anchors.read_heading(heading.source).words),
            strip_blank_lines("\n".join(lines[heading.end : end])),
        )
        for heading, end in zip(headings, ends, strict=True)
    ]
    return strip_blank_lines(lead), parts


def _split(text: str) -> tuple[str, list[_Part]]:
    """The introduction, and the topmost sections of a content, each with all that stands below it.

    Raises LevelConflict for an H1: the title is the only one.
    """
    lines = text.split("\n")
    headings = markdown.outline(text, is_fragment=True).headings
    tops: list[int] = []
    for position, heading in enumerate(headings):
        if heading.level == 1:
            raise LevelConflict(
                f"line {heading.line + 1} of initial_content is an H1, and the title is the document's only one",
                fix="Write sections with ## and subsections with ###.",
                line=heading.line + 1,
            )
        if not tops or heading.level <= headings[tops[-1]].level:
            tops.append(position)
    lead = "\n".join(lines[: headings[0].line]) if headings else text
    ends = [*(headings[top].line for top in tops[1:]), len(lines)] if tops else []
    parts = [
        _Part(
            headings[top].level,
            " ".join(headings[top].source.split("\n")),
            markdown.plain_text(anchors.read_heading(headings[top].source).words),
            strip_blank_lines("\n".join(lines[headings[top].end : end])),
        )
        for top, end in zip(tops, ends, strict=True)
    ]
    return strip_blank_lines(lead), parts


def _shifted(text: str, by: int) -> str:
    """A text with its headings moved down (or up) by some levels."""
    headings = markdown.outline(text, is_fragment=True).headings if by else ()
    lines = text.split("\n")
    for heading in reversed(headings):
        level = heading.level + by
        if level > MAX_LEVEL:
            raise LevelConflict(
                "a heading of initial_content would be deeper than H6", fix="Nest it less deeply."
            )
        source = " ".join(heading.source.split("\n"))
        lines[heading.line : heading.end] = [f"{'#' * level} {source}"]
    return "\n".join(lines)
