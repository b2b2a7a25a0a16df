"""create_document: a new document from a type's skeleton and the content that is there from the beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import frontmatter, markdown
from workspace.document.document import Document
from workspace.document.headings import read_headings
from workspace.document.slugs import file_slug
from workspace.edits.content import (
    MAX_LEVEL,
    InvalidTitle,
    LevelConflict,
    checked_text,
    checked_title,
    closed_outline,
    free_address,
    heading_line,
    prepare_content,
    strip_blank_lines,
    without_heading,
)
from workspace.edits.named_place import TOP_LEVEL
from workspace.edits.operation import Operation, Outcome
from workspace.links.survival import Survival
from workspace.markdown.lines import Lines
from workspace.paths import check_path

if TYPE_CHECKING:
    from templates import DocumentType
    from workspace.document.headings import AnchoredHeading
    from workspace.document.splices import Style
    from workspace.markdown.anchors import AnchorForm
    from workspace.snapshot.overlay import Overlay

TITLE_MARK = "{title}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A section of a text: its heading, the anchors on lines above and below that, and the text below it."""

    heading: AnchoredHeading
    above: str
    below: str
    text: str

    @property
    def level(self) -> int:
        return self.heading.block.level

    @property
    def name(self) -> str:
        """What sections of the skeleton and of the content are matched by."""
        return self.heading.title.casefold()

    def at(self, level: int) -> str:
        """The heading at a level."""
        line = f"{'#' * level} {_one_line(self.heading)}"
        return "\n".join((*self.above.splitlines(), line, *self.below.splitlines()))

    def text_below(self, level: int) -> str:
        """The text, its headings as far below this level as they were below the part's own."""
        return _shifted(self.text, level - self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDocument(Operation):
    """Creates a document named after its title. `content` fills the introduction and, by title, sections."""

    name: ClassVar[str] = "create_document"

    type: DocumentType
    title: str
    content: str = ""
    folder: str = ""

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays the document over its path. Raises InvalidTitle, InvalidPath, PathExists, LevelConflict."""
        title = checked_title(self.title)
        path = self._path(title, overlay)
        written = self._write(title, style.form)
        document = Document.parse(written.encode(), path)
        if document.title != markdown.plain_text(title):
            raise InvalidTitle(
                "the title does not read as a heading", fix="Leave out Markdown marks at its ends."
            )
        overlay.create(document)
        sections = [section.address for section in document.sections if not section.is_preamble]
        answer = {"path": path, "created": True, "sections": sections}
        return Outcome(path, answer, f"Create {path}", True, survival=Survival.of_creation(path))

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

    def _write(self, title: str, form: AnchorForm) -> str:
        shown = markdown.plain_text(title)
        content = strip_blank_lines(checked_text(self.content, "initial_content"))
        introduction, brought = _parts(without_heading(content, shown, 1), is_nested=True)
        lead, planned = _parts(without_heading(strip_blank_lines(self.type.structure), TITLE_MARK, 1))
        for part in brought:
            _check_level(part.heading)
        blocks = [lead, introduction]
        for section in planned:
            filled = next((part for part in brought if part.name == section.name), None)
            blocks += [(filled or section).at(section.level), section.text]
            if filled:
                brought.remove(filled)
                blocks.append(filled.text_below(section.level))
        for part in brought:
            blocks += [part.at(TOP_LEVEL), part.text_below(TOP_LEVEL)]
        body = prepare_content(
            Document.parse(b""),
            "\n\n".join(filter(None, blocks)),
            below=None,
            level=1,
            address=None,
            form=form,
            field="initial_content",
        )
        first = heading_line(1, title, free_address(None, title, set(body.addresses)), form)
        header = frontmatter.set_keys("", {"type": self.type.name}, "\n")
        return f"---\n{header}---\n\n{first}\n" + (f"\n{body.text}\n" if body.text else "")


def _parts(text: str, *, is_nested: bool = False) -> tuple[str, list[_Part]]:
    """The text before the first heading, and the parts after it: each by itself, or with what is nested."""
    lines = text.split("\n")
    read = Lines(text.encode())
    headings = read_headings(read, closed_outline(text, "initial_content"))
    if is_nested:
        headings = _topmost(headings)
    starts = [*(heading.first_line for heading in headings), len(lines)]
    parts = [
        _Part(
            heading,
            "\n".join(lines[heading.first_line : heading.block.line]).strip(),
            "\n".join(lines[heading.block.end : _body_line(read, heading)]),
            strip_blank_lines("\n".join(lines[_body_line(read, heading) : end])),
        )
        for heading, end in zip(headings, starts[1:], strict=True)
    ]
    return strip_blank_lines("\n".join(lines[: starts[0]])), parts


def _body_line(lines: Lines, heading: AnchoredHeading) -> int:
    """Return the line on which the text of a heading begins."""
    return heading.block.end + len(lines.data[heading.below_start : heading.body].splitlines())


def _topmost(headings: list[AnchoredHeading]) -> list[AnchoredHeading]:
    """The headings that stand below no other."""
    tops: list[AnchoredHeading] = []
    for heading in headings:
        if not tops or heading.block.level <= tops[-1].block.level:
            tops.append(heading)
    return tops


def _check_level(heading: AnchoredHeading) -> None:
    """Raises LevelConflict for an H1: the title is the only one."""
    if heading.block.level == 1:
        raise LevelConflict(
            "initial_content holds an H1 that is not the title, and the title is the document's only one",
            fix="Write sections with ## and subsections with ###.",
            line=heading.block.line + 1,
        )


def _one_line(heading: AnchoredHeading) -> str:
    return " ".join(heading.block.source.split("\n"))


def _shifted(text: str, by: int) -> str:
    """A text with its headings moved down (or up) by some levels."""
    headings = markdown.outline(text).headings if by else ()
    lines = text.split("\n")
    for heading in reversed(headings):
        level = heading.level + by
        if level > MAX_LEVEL:
            raise LevelConflict(
                "a heading of initial_content would be deeper than H6", fix="Nest it less deeply."
            )
        lines[heading.line : heading.end] = [f"{'#' * level} {' '.join(heading.source.split(chr(10)))}"]
    return "\n".join(lines)
