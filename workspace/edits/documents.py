"""Operations that create, move and remove documents.

`create_document` writes a new document from the skeleton of a type and the initial content. `move_document`
changes the path of a document, and updates the links to it and in it. `remove_document` removes a document
from the workspace; Git preserves its history.
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
from workspace.edits.section_position import TOP_LEVEL
from workspace.frontmatter.editor import set_keys
from workspace.links.offset_map import OffsetMap
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
    from workspace.document.splices import EditContext
    from workspace.edits.operation import RemovedTexts
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.snapshot.overlay import Overlay

TITLE_PLACEHOLDER = "{title}"


@dataclass(frozen=True, slots=True)
class _TextSection:
    """A section of a text: its heading, the anchor lines above and below the heading, and its text."""

    heading: AnchoredHeading
    lines_above: str
    lines_below: str
    text: str

    @property
    def level(self) -> int:
        return self.heading.block.level

    @property
    def match_key(self) -> str:
        """The key for matching sections of the skeleton with sections of the content."""
        return self.heading.title.casefold()

    def format_heading_at(self, level: int) -> str:
        """Return the heading with its anchor lines at a level."""
        line = f"{'#' * level} {_join_source_lines(self.heading)}"
        return "\n".join((*self.lines_above.splitlines(), line, *self.lines_below.splitlines()))

    def format_text_at(self, level: int) -> str:
        """Return the text with its headings shifted to fit below a heading of this level."""
        return _shift_headings(self.text, level - self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDocument(Operation):
    """The creation of a document, whose file name is derived from its title.

    `content` provides the introduction, and the text of the skeleton's sections with the same titles. Its
    other sections are added at the end.
    """

    name: ClassVar[str] = "create_document"

    type: DocumentType
    title: str
    content: str = ""
    folder: str = ""

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Create the document in the overlay. Raises InvalidTitle, InvalidPath, PathExists, LevelConflict."""
        title = check_title(self.title)
        path = self._derive_path(title, overlay)
        text = self._format_text(title, context.form)
        document = Document.parse(text.encode(), path)
        if document.title != to_plain_text(title):
            raise InvalidTitle(
                f"the title {title!r} would not be read as a heading",
                fix="Remove the Markdown marks at the ends of the title.",
            )
        overlay.create(document)
        sections = [section.address for section in document.sections if not section.is_preamble]
        result = {"path": path, "created": True, "sections": sections}
        return Outcome(path, result, f"Create {path}", True, offset_map=OffsetMap.of_creation(path))

    def _derive_path(self, title: str, overlay: Overlay) -> str:
        stem = make_file_slug(title)
        if not stem:
            raise InvalidTitle(
                f"the title {title!r} has no letter or digit for a file name",
                fix='Add a word to the title, such as "Launch plan 🚀" instead of "🚀".',
            )
        folder = self.folder.strip().strip("/") if self.folder.strip() not in ("", ".", "./") else ""
        if self.folder.startswith("/"):
            folder = self.folder
        root = overlay.snapshot.config.root
        return check_path("/".join(part for part in (folder or root, f"{stem}.md") if part))

    def _format_text(self, title: str, form: AnchorForm) -> str:
        """Return the text of the new document."""
        plain_title = to_plain_text(title)
        content = strip_blank_lines(check_text(self.content, "initial_content"))
        introduction, content_sections = _split_sections(
            strip_heading(content, plain_title, 1), is_nested=True
        )
        skeleton = strip_heading(strip_blank_lines(self.type.structure), TITLE_PLACEHOLDER, 1)
        skeleton_introduction, skeleton_sections = _split_sections(skeleton)
        for content_section in content_sections:
            _check_level(content_section.heading)
        text_parts = [skeleton_introduction, introduction]
        for skeleton_section in skeleton_sections:
            matching_section = next(
                (
                    content_section
                    for content_section in content_sections
                    if content_section.match_key == skeleton_section.match_key
                ),
                None,
            )
            text_parts += [
                (matching_section or skeleton_section).format_heading_at(skeleton_section.level),
                skeleton_section.text,
            ]
            if matching_section:
                content_sections.remove(matching_section)
                text_parts.append(matching_section.format_text_at(skeleton_section.level))
        for content_section in content_sections:
            text_parts += [
                content_section.format_heading_at(TOP_LEVEL),
                content_section.format_text_at(TOP_LEVEL),
            ]
        body = prepare_content(
            Document.parse(b""),
            "\n\n".join(filter(None, text_parts)),
            parent=None,
            level=1,
            address=None,
            form=form,
            field="initial_content",
        )
        heading = format_heading(1, title, find_free_address(None, title, set(body.addresses)), form)
        front_matter = set_keys("", {"type": self.type.name}, "\n")
        return f"---\n{front_matter}---\n\n{heading}\n" + (f"\n{body.text}\n" if body.text else "")


def _split_sections(text: str, *, is_nested: bool = False) -> tuple[str, list[_TextSection]]:
    """Return the text before the first heading, and the sections after it.

    With `is_nested`, a section includes its subsections.
    """
    lines = text.split("\n")
    parsed_lines = Lines(text.encode())
    headings = read_headings(parsed_lines, parse_content_outline(text, "initial_content"))
    if is_nested:
        headings = _find_top_headings(headings)
    start_lines = [*(heading.first_line for heading in headings), len(lines)]
    sections = [
        _TextSection(
            heading,
            "\n".join(lines[heading.first_line : heading.block.line]).strip(),
            "\n".join(lines[heading.block.end : _find_body_line(parsed_lines, heading)]),
            strip_blank_lines("\n".join(lines[_find_body_line(parsed_lines, heading) : end])),
        )
        for heading, end in zip(headings, start_lines[1:], strict=True)
    ]
    return strip_blank_lines("\n".join(lines[: start_lines[0]])), sections


def _find_body_line(lines: Lines, heading: AnchoredHeading) -> int:
    """Return the first line of the text below a heading."""
    return heading.block.end + len(lines.data[heading.below_start : heading.body].splitlines())


def _find_top_headings(headings: list[AnchoredHeading]) -> list[AnchoredHeading]:
    """Return the headings that are not below another heading."""
    top_headings: list[AnchoredHeading] = []
    for heading in headings:
        if not top_headings or heading.block.level <= top_headings[-1].block.level:
            top_headings.append(heading)
    return top_headings


def _check_level(heading: AnchoredHeading) -> None:
    """Raise LevelConflict for an H1, because only the title may be an H1."""
    if heading.block.level == 1:
        raise LevelConflict(
            f"line {heading.block.line + 1} of initial_content is an H1, but only the title may be one",
            fix="Write sections with ## and subsections with ###.",
            line=heading.block.line + 1,
        )


def _join_source_lines(heading: AnchoredHeading) -> str:
    """Return the inline Markdown of a heading on one line."""
    return " ".join(heading.block.source.split("\n"))


def _shift_headings(text: str, shift: int) -> str:
    """Return a text with the level of its headings increased by `shift`."""
    headings = read_outline(text).headings if shift else ()
    lines = text.split("\n")
    for heading in reversed(headings):
        level = heading.level + shift
        if level > MAX_LEVEL:
            raise LevelConflict(
                f"the heading '{heading.source}' of initial_content would be deeper than H{MAX_LEVEL}",
                fix="Use fewer levels of headings in initial_content.",
            )
        lines[heading.line : heading.end] = [f"{'#' * level} {' '.join(heading.source.split(chr(10)))}"]
    return "\n".join(lines)


# The suffix of a file name. It begins with a letter, so `v1.2` has no suffix.
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_ROOT_NAMES = frozenset({".", "./"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDocument(DocumentOperation):
    """The move of a document to another path; links to it and relative links in it are updated.

    `new_path` is a path of the repository. If it ends in a slash or is a folder, the file keeps its name. A
    path without a suffix gets the suffix of the file.
    """

    name: ClassVar[str] = "move_document"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_path"})
    address_fields: ClassVar[tuple[str, ...]] = ()
    reports_links: ClassVar[bool] = True

    file: str
    new_path: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Move the document. Raises DocumentNotFound, InvalidPath, PathExists, LimitExceeded."""
        path = check_path(self.file)
        document = overlay.document(path)
        new_path = self._resolve_target(path, overlay)
        result = {"file": new_path, "was": {"file": path}}
        if new_path == path:
            return Outcome(path, result, f"Move {path}", False, (f"the document is already at '{path}'",))
        if new_path.startswith(f"{path}/"):
            raise PathExists(
                f"'{path}' is a file, and cannot be moved into itself",
                fix="Choose a folder that is not a document.",
                path=path,
            )
        overlay.move(path, new_path)
        offset_map = OffsetMap.of_splices(document, (), new_path)
        hints = _make_taxonomy_hints(overlay.snapshot.taxonomy, document, new_path)
        return Outcome(new_path, result, f"Move {path} to {new_path}", True, hints, offset_map)

    def _resolve_target(self, path: str, overlay: Overlay) -> str:
        """Return the new path of the document. Raises InvalidPath."""
        file_name = path.rpartition("/")[2]
        requested_path = self.new_path.strip()
        if requested_path in _ROOT_NAMES:
            return file_name
        target = check_path(requested_path.rstrip("/") if len(requested_path.strip("/")) else requested_path)
        if requested_path.endswith("/") or overlay.is_folder(target):
            return check_path(f"{target}/{file_name}")
        if target.endswith(DOCUMENT_SUFFIXES):
            return target
        if _SUFFIX.search(target):
            raise InvalidPath(target, "a document must be a .md file")
        return check_path(target + next(suffix for suffix in DOCUMENT_SUFFIXES if path.endswith(suffix)))


def _make_taxonomy_hints(taxonomy: Taxonomy, document: Document, new_path: str) -> tuple[str, ...]:
    """Return a hint if the taxonomy values of the document differ at its new path."""
    old_values = taxonomy.values(document.path, document.front_matter)
    new_values = taxonomy.values(new_path, document.front_matter)
    if old_values == new_values:
        return ()
    changed_keys = sorted(
        key for key in {*old_values, *new_values} if old_values.get(key) != new_values.get(key)
    )
    changes = "; ".join(
        f"{key}: {_format_values(old_values, key)} before, {_format_values(new_values, key)} now"
        for key in changed_keys[:5]
    )
    return (f"the manifests of the folders give the document other values at its new path ({changes})",)


def _format_values(values: Mapping[str, tuple[str, ...]], key: str) -> str:
    return ", ".join(values.get(key, ())[:5]) or "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDocument(Operation):
    """The removal of a document."""

    name: ClassVar[str] = "remove_document"

    path: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Remove the document. Raises InvalidPath, DocumentNotFound."""
        path = check_path(self.path)
        overlay.remove(path)
        result = {"removed": "document", "path": path}
        return Outcome(path, result, f"Remove {path}", True, offset_map=OffsetMap.of_removal(path))

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return all texts except the front matter. Raises DocumentNotFound, LimitExceeded."""
        document = overlay.document(check_path(self.path))
        return [(document, document.sections)]
