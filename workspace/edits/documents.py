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
from workspace.document.section_text import read_full_text
from workspace.edits.content import (
    MAX_LEVEL,
    InvalidTitle,
    LevelConflict,
    check_text,
    check_title,
    derive_file_name,
    find_free_address,
    format_heading,
    parse_content_outline,
    prepare_content,
    strip_blank_lines,
    strip_heading,
)
from workspace.edits.operation import DocumentOperation, Operation, Outcome, describe_new_anchors
from workspace.edits.section_position import TOP_LEVEL, InvalidMove
from workspace.edits.sections import RenameSection
from workspace.errors import ConcurrentChange
from workspace.frontmatter.editor import set_keys
from workspace.links.offset_map import OffsetMap, match_rewritten_headings
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import Lines
from workspace.markdown.outline import read_outline
from workspace.markdown.slugs import PREAMBLE
from workspace.paths import InvalidPath, check_path
from workspace.snapshot.overlay import PathExists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templates import DocumentType
    from workspace.config.taxonomy import Taxonomy
    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.splices import Edit, EditContext
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
    """The creation of a document at `path`; without a path, its file name is derived from its title.

    A path without a suffix gets `.md`. `content` adds an introduction, and text to the skeleton's sections
    with the same titles. Its other sections are added at the end. Without a type, the document has no
    skeleton and no front matter.
    """

    name: ClassVar[str] = "create_document"

    type: DocumentType | None
    title: str
    content: str = ""
    folder: str = ""
    path: str = ""

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Create the document in the overlay.

        Raises InvalidTitle, InvalidPath, PathExists, InvalidContent, LevelConflict, SectionExists,
        LimitExceeded.
        """
        title = check_title(self.title)
        path = self._derive_path(title, overlay)
        text = self._format_text(title, context.anchor_form)
        document = Document.parse(text.encode(), path)
        if document.title != to_plain_text(title):
            raise InvalidTitle(
                f"the title {title!r} would not be read as a heading",
                fix="Remove the Markdown marks at the ends of the title.",
            )
        overlay.create(document)
        sections = [section.address for section in document.sections if not section.is_preamble]
        result: dict[str, object] = {
            "path": path,
            "created": True,
            "sections": sections,
            "anchors_added": [str(item.anchor) for item in document.sections if item.anchor],
            "front_matter": dict(document.front_matter),
        }
        empty_sections = [
            section.address
            for section in document.sections
            if not section.is_preamble and not read_full_text(document, section)
        ]
        if empty_sections:
            result["empty_sections"] = empty_sections
        if tasks := document.all_tasks:
            result["tasks"] = {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}
        return Outcome(path, result, f"Create {path}", True, offset_map=OffsetMap.of_creation(path))

    def _derive_path(self, title: str, overlay: Overlay) -> str:
        if self.path:
            return _complete_suffix(check_path(self.path.strip()), DOCUMENT_SUFFIXES[0])
        file_name = derive_file_name(title)
        folder = self.folder.strip().strip("/") if self.folder.strip() not in ("", ".", "./") else ""
        if self.folder.startswith("/"):
            folder = self.folder
        root = overlay.snapshot.config.root
        return check_path("/".join(part for part in (folder or root, file_name) if part))

    def _format_text(self, title: str, form: AnchorForm) -> str:
        """Return the text of the new document."""
        plain_title = to_plain_text(title)
        content = strip_blank_lines(check_text(self.content, "initial_content"))
        introduction, content_sections = _split_sections(
            strip_heading(content, plain_title, 1), is_nested=True
        )
        structure = self.type.structure if self.type is not None else ""
        skeleton = strip_heading(strip_blank_lines(structure), TITLE_PLACEHOLDER, 1)
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
        text = f"{heading}\n" + (f"\n{body.text}\n" if body.text else "")
        if self.type is None:
            return text
        front_matter = set_keys("", {"type": self.type.name}, "\n")
        return f"---\n{front_matter}---\n\n{text}"


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
    return heading.block.end + len(lines.data[heading.below_start : heading.body_start].splitlines())


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
    """Return a text with the level of its headings increased by `shift`. Raises LevelConflict."""
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
    path without a suffix gets the suffix of the file. `to_title` is a new title; without `new_path`, the file
    gets the name of the title in the same folder.
    """

    name: ClassVar[str] = "move_document"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_path"})
    address_fields: ClassVar[tuple[str, ...]] = ()
    reports_links: ClassVar[bool] = True

    file: str
    new_path: str | None = None
    to_title: str | None = None

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Move the document.

        Raises DocumentNotFound, InvalidPath, PathExists, InvalidTitle, LimitExceeded, and InvalidMove without
        a path and a title. With a title, also raises the errors of `RenameSection`.
        """
        path = check_path(self.file)
        document = overlay.document(path)
        new_path = self._resolve_target(path, overlay)
        rename = self._rename(document, context)
        renamed_document = rename[0] if rename else document
        result: dict[str, object] = {"file": new_path, "was": {"file": path}}
        if rename:
            result |= {"title": renamed_document.title, **describe_new_anchors(document, renamed_document)}
        if new_path == path and renamed_document.data != document.data:
            overlay.put(renamed_document)
            return Outcome(
                path, result, f"Retitle {path}", True, offset_map=_map_offsets(document, rename, path)
            )
        if new_path == path:
            return Outcome(path, result, f"Move {path}", False, (f"the document is already at '{path}'",))
        if new_path.startswith(f"{path}/"):
            raise PathExists(
                f"'{path}' is a file, and cannot be moved into itself",
                fix="Choose a folder that is not a document.",
                path=path,
            )
        if rename:
            overlay.put(renamed_document)
        overlay.move(path, new_path)
        offset_map = _map_offsets(document, rename, new_path)
        hints = _make_taxonomy_hints(overlay.snapshot.taxonomy, document, new_path)
        return Outcome(new_path, result, f"Move {path} to {new_path}", True, hints, offset_map)

    def _rename(self, document: Document, context: EditContext) -> _Rename | None:
        """Return the document with the new title, and its edit; None if the title does not change."""
        if self.to_title is None:
            return None
        rename = RenameSection(file=self.file, slug=PREAMBLE, new_title=self.to_title)
        renamed_document, edit = rename.revise(document, context)
        return (renamed_document, edit) if edit.splices else None

    def _resolve_target(self, path: str, overlay: Overlay) -> str:
        """Return the new path of the document. Raises InvalidPath, InvalidTitle, InvalidMove."""
        folder, _, file_name = path.rpartition("/")
        if self.new_path is None and self.to_title is None:
            raise InvalidMove(
                "move_document requires 'new_path' or 'to_title'",
                fix="Give the new path, or a title that names the file.",
            )
        if self.new_path is None:
            file_name = derive_file_name(check_title(str(self.to_title), "to_title"))
            return check_path(f"{folder}/{file_name}" if folder else file_name)
        requested_path = self.new_path.strip()
        if requested_path in _ROOT_NAMES:
            return file_name
        target = check_path(requested_path.rstrip("/") if len(requested_path.strip("/")) else requested_path)
        if requested_path.endswith("/") or overlay.is_folder(target):
            return check_path(f"{target}/{file_name}")
        return _complete_suffix(target, next(filter(path.endswith, DOCUMENT_SUFFIXES)))


def _complete_suffix(path: str, suffix: str) -> str:
    """Return a path with the suffix of a document; `suffix` is added to a path without a suffix.

    Raises InvalidPath for another suffix.
    """
    if path.endswith(DOCUMENT_SUFFIXES):
        return path
    if _SUFFIX.search(path):
        raise InvalidPath(
            path,
            "a document must be a .md or .markdown file",
            fix=f"End the path with .md: `{_SUFFIX.sub('.md', path)}`.",
        )
    return check_path(path + suffix)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSeenDocument(MoveDocument):
    """The move of a document by a caller who has read its title: the new title replaces only this title."""

    seen_title: str

    def _rename(self, document: Document, context: EditContext) -> _Rename | None:
        """Return the document with the new title, and its edit. Raises ConcurrentChange for another title."""
        if self.to_title is not None and document.title != self.seen_title:
            raise ConcurrentChange(
                "the title was changed since it was opened for editing",
                fix="Compare both titles, and send the title that you want.",
                theirs=document.title,
                base=self.seen_title,
                ours=self.to_title,
            )
        return MoveDocument._rename(self, document, context)


_Rename = tuple["Document", "Edit"]


def _map_offsets(document: Document, rename: _Rename | None, new_path: str) -> OffsetMap:
    """Return the map of a move to a path, after the change of the title if there is one."""
    if rename is None:
        return OffsetMap.of_splices(document, (), new_path)
    renamed_document, edit = rename
    moved_document = Document.parse(renamed_document.data, new_path)
    new_heading_positions = match_rewritten_headings(document, moved_document, edit.splices)
    return OffsetMap.of_splices(document, edit.splices, new_path, new_heading_positions=new_heading_positions)


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
