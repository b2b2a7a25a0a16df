"""create_document: a new document from a type's skeleton and the content that is there from the beginning.

move_document: a document at another path; the links to it and from it follow.

remove_document: a whole document taken out of the workspace; Git keeps its history.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.document.document import Document
from workspace.document.headings import read_headings
from workspace.edits.content import (
    MAX_LEVEL,
    InvalidTitle,
    LevelConflict,
    check_text,
    check_title,
    find_free_address,
    format_heading,
    parse_content_outline,
    prepare_content,
    strip_blank_lines,
    strip_heading,
)
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.edits.section_place import TOP_LEVEL
from workspace.frontmatter.editor import set_keys
from workspace.links.survival import OffsetMap
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import Lines
from workspace.markdown.outline import read_outline
from workspace.markdown.slugs import make_file_slug
from workspace.paths import InvalidPath, check_path
from workspace.snapshot.overlay import PathExists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templates import DocumentType
    from workspace.config.taxonomy import Taxonomy
    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.splices import Style
    from workspace.edits.operation import RemovedTexts
    from workspace.markdown.attribute_lists import AnchorForm
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
        """The key by which sections of the skeleton and of the content are matched."""
        return self.heading.title.casefold()

    def at(self, level: int) -> str:
        """Return the heading at a level."""
        line = f"{'#' * level} {_one_line(self.heading)}"
        return "\n".join((*self.above.splitlines(), line, *self.below.splitlines()))

    def text_below(self, level: int) -> str:
        """Return the text, its headings as far below this level as they were below the part's own."""
        return _shift_headings(self.text, level - self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDocument(Operation):
    """Creates a document named after its title. `content` fills the introduction and, by title, sections."""

    name: ClassVar[str] = "create_document"

    type: DocumentType
    title: str
    content: str = ""
    folder: str = ""

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the document over its path. Raises InvalidTitle, InvalidPath, PathExists, LevelConflict."""
        title = check_title(self.title)
        path = self._path(title, overlay)
        written = self._write(title, style.form)
        document = Document.parse(written.encode(), path)
        if document.title != to_plain_text(title):
            raise InvalidTitle(
                "the title does not read as a heading", fix="Leave out Markdown marks at its ends."
            )
        overlay.create(document)
        sections = [section.address for section in document.sections if not section.is_preamble]
        answer = {"path": path, "created": True, "sections": sections}
        return Outcome(path, answer, f"Create {path}", True, survival=OffsetMap.of_creation(path))

    def _path(self, title: str, overlay: Overlay) -> str:
        stem = make_file_slug(title)
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
        shown = to_plain_text(title)
        content = strip_blank_lines(check_text(self.content, "initial_content"))
        introduction, brought = _parts(strip_heading(content, shown, 1), is_nested=True)
        lead, planned = _parts(strip_heading(strip_blank_lines(self.type.structure), TITLE_MARK, 1))
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
        first = format_heading(1, title, find_free_address(None, title, set(body.addresses)), form)
        header = set_keys("", {"type": self.type.name}, "\n")
        return f"---\n{header}---\n\n{first}\n" + (f"\n{body.text}\n" if body.text else "")


def _parts(text: str, *, is_nested: bool = False) -> tuple[str, list[_Part]]:
    """Return the text before the first heading, and the parts after it, each with or without nested parts."""
    lines = text.split("\n")
    read = Lines(text.encode())
    headings = read_headings(read, parse_content_outline(text, "initial_content"))
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
    """Return the headings that stand below no other."""
    tops: list[AnchoredHeading] = []
    for heading in headings:
        if not tops or heading.block.level <= tops[-1].block.level:
            tops.append(heading)
    return tops


def _check_level(heading: AnchoredHeading) -> None:
    """Raise LevelConflict for an H1: the title is the only one."""
    if heading.block.level == 1:
        raise LevelConflict(
            "initial_content holds an H1 that is not the title, and the title is the document's only one",
            fix="Write sections with ## and subsections with ###.",
            line=heading.block.line + 1,
        )


def _one_line(heading: AnchoredHeading) -> str:
    return " ".join(heading.block.source.split("\n"))


def _shift_headings(text: str, by: int) -> str:
    """Return a text with its headings moved down (or up) by some levels."""
    headings = read_outline(text).headings if by else ()
    lines = text.split("\n")
    for heading in reversed(headings):
        level = heading.level + by
        if level > MAX_LEVEL:
            raise LevelConflict(
                "a heading of initial_content would be deeper than H6", fix="Nest it less deeply."
            )
        lines[heading.line : heading.end] = [f"{'#' * level} {' '.join(heading.source.split(chr(10)))}"]
    return "\n".join(lines)


# What looks like the ending of another kind of file, and not like the end of a name such as `v1.2`.
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_HERE = frozenset({".", "./"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDocument(DocumentOperation):
    """Moves a document, its bytes as they are; links to it and relative links in it are written anew.

    `new_path` is a path of the repository. One that ends with a slash, or is a folder, keeps the file's name;
    one without an ending keeps the ending.
    """

    name: ClassVar[str] = "move_document"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_path"})
    addresses: ClassVar[tuple[str, ...]] = ()
    tells_links: ClassVar[bool] = True

    file: str
    new_path: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Move the document. Raises DocumentNotFound, InvalidPath, PathExists, LimitExceeded."""
        path = check_path(self.file)
        document = overlay.document(path)
        new_path = self._target(path, overlay)
        answer = {"file": new_path, "was": {"file": path}}
        if new_path == path:
            return Outcome(path, answer, f"Move {path}", False, (f"'{path}' is where it was",))
        if new_path.startswith(f"{path}/"):
            raise PathExists(
                f"'{path}' is a file, and no document can be moved into itself",
                fix="Choose a folder that is none of the documents.",
                path=path,
            )
        overlay.move(path, new_path)
        survival = OffsetMap.of_splices(document, (), new_path)
        hints = _taxonomy_hints(overlay.snapshot.taxonomy, document, new_path)
        return Outcome(new_path, answer, f"Move {path} to {new_path}", True, hints, survival)

    def _target(self, path: str, overlay: Overlay) -> str:
        """Return the path that is meant. Raises InvalidPath."""
        name = path.rpartition("/")[2]
        asked = self.new_path.strip()
        if asked in _HERE:
            return name
        target = check_path(asked.rstrip("/") if len(asked.strip("/")) else asked)
        if asked.endswith("/") or overlay.is_folder(target):
            return check_path(f"{target}/{name}")
        if target.endswith(DOCUMENT_SUFFIXES):
            return target
        if _ENDING.search(target):
            raise InvalidPath(target, "documents are .md files")
        return check_path(target + next(suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)))


def _taxonomy_hints(taxonomy: Taxonomy, document: Document, new_path: str) -> tuple[str, ...]:
    """Return what the manifests say of the document at its new path, where that is something else."""
    before = taxonomy.values(document.path, document.front_matter)
    after = taxonomy.values(new_path, document.front_matter)
    if before == after:
        return ()
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    told = "; ".join(
        f"{key}: {_describe_updates(before, key)} before, {_describe_updates(after, key)} now"
        for key in changed[:5]
    )
    return (f"the manifests of the folders say other values of it at its new path ({told})",)


def _describe_updates(values: Mapping[str, tuple[str, ...]], key: str) -> str:
    return ", ".join(values.get(key, ())[:5]) or "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDocument(Operation):
    """Removes a document."""

    name: ClassVar[str] = "remove_document"

    path: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Take the document out. Raises InvalidPath, DocumentNotFound."""
        path = check_path(self.path)
        overlay.remove(path)
        answer = {"removed": "document", "path": path}
        return Outcome(path, answer, f"Remove {path}", True, survival=OffsetMap.of_removal(path))

    def taken(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return all its texts; its front matter is none. Raises DocumentNotFound, LimitExceeded."""
        document = overlay.document(check_path(self.path))
        return [(document, document.sections)]
