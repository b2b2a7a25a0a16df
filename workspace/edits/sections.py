"""Operations that add, remove, rename and move sections.

`add_section` writes a heading with its anchor, at the end of a parent or next to a sibling. `remove_section`
removes a section with its subsections. `rename_section` changes the title and keeps the address.
`move_section` moves a section with its subsections, within its document or to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, read_fragment, resolve_section, split_address
from workspace.document.document import Document
from workspace.document.headings import plan_inline_replacement
from workspace.document.section_text import read_full_text
from workspace.document.splices import (
    Edit,
    EditContext,
    Splice,
    find_text_start,
    make_insertion_splice,
    make_removal_splice,
)
from workspace.edits.content import (
    MAX_LEVEL,
    MAX_RECOMMENDED_LEVEL,
    LevelConflict,
    SectionExists,
    check_text,
    check_title,
    collect_anchor_names,
    derive_file_name,
    find_free_address,
    format_deep_section_hint,
    format_heading,
    prepare_content,
    strip_blank_lines,
    strip_heading,
)
from workspace.edits.metadata import set_front_matter_keys
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.section_position import (
    TOP_LEVEL,
    InvalidMove,
    TargetPosition,
    find_target_position,
    resolve_position,
)
from workspace.edits.text import UpdateContent
from workspace.errors import SuggestionKind, SuggestionSource
from workspace.links.link import display_destination
from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK, encode_with_ending
from workspace.markdown.slugs import PREAMBLE
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.document.splices import EditContext
    from workspace.edits.section_move import SectionMoveResult
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSection(DocumentOperation):
    """The addition of a section at the end of `parent_slug` (or of the document), or next to a sibling.

    If the parent already has an empty section with the same title, the content is written into that section,
    and the result has `created: false`.
    """

    name: ClassVar[str] = "add_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"parent_slug"})

    file: str
    title: str
    parent_slug: str | None = None
    content: str | None = None
    before: str | None = None
    after: str | None = None

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit.

        Raises InvalidTitle, InvalidContent, SectionNotFound, AmbiguousAddress, SectionExists, LevelConflict,
        InvalidAddress, StructureChanged.
        """
        title = check_title(self.title)
        offset, parent, sibling, _ = resolve_position(document, self.parent_slug, self.before, self.after)
        existing_section = self._find_empty_section(document, parent, title)
        if existing_section:
            return self._fill_section(document, existing_section, context)
        level = self._choose_level(document, parent, sibling)
        parent_address = parent.address if parent else None
        address = find_free_address(parent_address, title, collect_anchor_names(document))
        form = context.choose_form(document)
        raw_content = strip_heading(
            strip_blank_lines(check_text(self.content or "", "content")), to_plain_text(title), level
        )
        content = prepare_content(
            document,
            raw_content,
            parent=None,
            level=level,
            address=address,
            form=form,
            reserved_names=(address,),
        )
        heading = format_heading(level, title, address, form)
        text = f"{heading}\n\n{content.text}" if content.text else heading
        result: dict[str, object] = {"slug": address, "created": True}
        if content.addresses:
            result["subsections"] = list(content.addresses)
        hints = (
            *([format_deep_section_hint(address, level)] if level > MAX_RECOMMENDED_LEVEL else ()),
            *content.hints,
        )
        splice = make_insertion_splice(document, offset, text)
        return Edit((splice,), result, f"Add section {address} to {self.file}", hints)

    def _find_empty_section(self, document: Document, parent: Section | None, title: str) -> Section | None:
        """Return the empty section with this title below the parent. Raises SectionExists if it has text."""
        for child in document.children(parent):
            if child.title.casefold() == title.casefold():
                if not read_full_text(document, child):
                    return child
                raise SectionExists(
                    f"{document.path} already has the section '{child.address}', which is not empty",
                    fix=f"Use update_content or append_content with slug '{child.address}'.",
                    slug=child.address,
                )
        return None

    def _fill_section(self, document: Document, section: Section, context: EditContext) -> Edit:
        result: dict[str, object] = {"slug": section.key, "created": False}
        content = strip_blank_lines(check_text(self.content or "", "content"))
        if not content:
            return Edit((), result, f"Keep {section.label} of {self.file}")
        update = UpdateContent(file=self.file, slug=section.key, content=content).make_edit(document, context)
        return Edit(update.splices, {**update.result, **result}, update.summary, update.hints)

    def _choose_level(self, document: Document, parent: Section | None, sibling: Section | None) -> int:
        if sibling:
            return sibling.level
        sibling_levels = [child.level for child in document.children(parent)]
        level = min(sibling_levels) if sibling_levels else (parent.level + 1 if parent else TOP_LEVEL)
        if level > MAX_LEVEL:
            raise LevelConflict(
                f"a section in '{parent.address if parent else ''}' would be deeper than H{MAX_LEVEL}",
                fix="Choose a parent at a higher level, or write bold text or a list instead.",
            )
        return level


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSection(DocumentOperation):
    """The removal of a section with its subsections."""

    name: ClassVar[str] = "remove_section"

    file: str
    slug: str

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the section and its subsections."""
        section = resolve_section(document, self.slug)
        return (section, *document.descendants(section))

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit. Raises SectionNotFound, AmbiguousAddress, InvalidAddress for the preamble."""
        section = resolve_section(document, self.slug)
        if section.is_preamble:
            raise InvalidAddress(
                "the preamble cannot be removed, because it has the document's title",
                fix="Empty the preamble with update_content, or send only 'path' to remove the document.",
            )
        splice = make_removal_splice(document, section.start, section.tree_end)
        subsections = [item.address for item in document.descendants(section)]
        result: dict[str, object] = {"removed": "section", "slug": section.address}
        if subsections:
            result["subsections"] = subsections
        return Edit((splice,), result, f"Remove section {section.address} from {self.file}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSection(DocumentOperation):
    """The change of a section's title.

    A section without an anchor gets an anchor, so that its address does not change. With `_preamble`, the
    title of the document changes.
    """

    name: ClassVar[str] = "rename_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_title"})
    reports_links: ClassVar[bool] = True

    file: str
    slug: str
    new_title: str

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidTitle, InvalidContent, SectionNotFound, AmbiguousAddress, InvalidFrontMatter, and
        InvalidAddress for an address that cannot be written as an anchor.
        """
        title = check_title(self.new_title, "new_title")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return self._set_document_title(document, title, context)
        section = resolve_section(document, self.slug)
        result = {"slug": section.key, "title": to_plain_text(title)}
        summary = f"Rename {section.label} of {self.file}"
        if section.title == to_plain_text(title):
            return Edit((), result, summary)
        if section.heading is None:
            return self._set_document_title(document, title, context)
        inline = _format_inline(section, section.heading, title, document.anchor_form or context.anchor_form)
        splice = Splice(*plan_inline_replacement(document.lines, section.heading.block, inline))
        hints = () if section.is_preamble else (f"the address stays '{section.key}', so no link breaks",)
        return Edit((splice,), result, summary, hints, renamed_position=section.position)

    def _set_document_title(self, document: Document, title: str, context: EditContext) -> Edit:
        """Return the edit that writes a title as a new H1, or into the front matter if that has a `title`.

        Raises InvalidFrontMatter.
        """
        preamble = document.preamble
        result = {"slug": PREAMBLE, "title": to_plain_text(title)}
        summary = f"Title {self.file}"
        if "title" in document.front_matter:
            splice = set_front_matter_keys(document, {"title": title}, rewrite_values=True)
            position = preamble.position if preamble else None
            return Edit((splice,), result, summary, renamed_position=position, may_change_front_matter=True)
        address = find_free_address(None, title, collect_anchor_names(document))
        line = format_heading(1, title, address, document.anchor_form or context.anchor_form)
        if preamble and document.source(preamble).strip(BLANK):
            start = find_text_start(document.data, preamble.start, preamble.end)
            splice = Splice(start, start, encode_with_ending(f"{line}\n\n", document.line_ending))
        else:
            offset = document.sections[0].start if document.sections else len(document.data)
            splice = make_insertion_splice(document, offset, line)
        return Edit((splice,), result, summary)


def _format_inline(section: Section, heading: AnchoredHeading, title: str, form: AnchorForm) -> str:
    """Return the heading's new inline Markdown with its anchors, or with its address as an anchor."""
    if heading.anchor is not None or section.is_preamble:
        return heading.text.with_title(title)
    if not anchors.is_valid_name(section.address):
        raise InvalidAddress(
            f"the address '{section.address}' cannot be written as an anchor",
            fix=f"Write an anchor into the heading '{section.title}' by hand first.",
        )
    return anchors.write_heading(title, section.address, form)


_MAX_LISTED_ITEMS = 3
_MIN_NAME_SIMILARITY = 0.8  # difflib's ratio, from 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSection(DocumentOperation):
    """The move of a section to the end of `parent_slug` (or of the document), or next to a sibling.

    `to_file` is another target document; it may be a full address (`guide.md#setup`). Levels depend on the
    new parent. The address does not change if it is unused in the target: a section without an anchor gets an
    anchor.

    `to_title` creates the target document; without `to_file`, its file has the name of the title. A section
    with this title becomes the document itself: its text follows the title, and its address stays an alias.
    """

    name: ClassVar[str] = "move_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"to_file"})
    reports_links: ClassVar[bool] = True

    file: str
    slug: str
    to_file: str | None = None
    parent_slug: str | None = None
    before: str | None = None
    after: str | None = None
    to_title: str | None = None

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the changed documents into the overlay; no change if the section is already at the position.

        Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress, InvalidMove,
        LevelConflict, StructureChanged, LimitExceeded; with `to_title` also InvalidTitle and PathExists.
        """
        # Imported late, because the first calls of a server do not need it.
        from workspace.edits.section_move import is_in_place, move_section

        path = check_path(self.file)
        source = overlay.document(path)
        section = resolve_section(source, self.slug)
        if section.is_preamble:
            raise InvalidMove(
                "the preamble cannot be moved, because it has the document's title",
                fix="Move the document with move_document, or set 'slug' to a section.",
            )
        to_path, parent_slug = self._resolve_target(overlay)
        if self.to_title is not None:
            target = self._make_target(overlay, to_path, source, section, context)
            position = TargetPosition(len(target.data), None, TOP_LEVEL if target.data else 1)
        else:
            target = source if to_path == path else _read_target(overlay, to_path)
            position = find_target_position(
                target, parent_slug, self.before, self.after, section if target is source else None
            )
        if is_in_place(source, section, target, position) and position.level == section.level:
            result = {"slug": section.key, "file": path, "level": section.level}
            hint = f"'{section.key}' is already at that position"
            return Outcome(path, result, f"Keep {section.label} of {path}", False, (hint,))
        forms = (source.anchor_form or context.anchor_form, target.anchor_form or context.anchor_form)
        move_result = move_section(source, section, target, position, forms, overlay.snapshot.config.links)
        overlay.put(move_result.source)
        if self.to_title is not None:
            overlay.create(move_result.target)
        elif target is not source:
            overlay.put(move_result.target)
        target_text = f" to {to_path}" if target is not source else ""
        return Outcome(
            to_path,
            {
                "slug": move_result.section.anchor or move_result.section.key,
                "file": to_path,
                **({"created": True} if self.to_title is not None else {}),
                "was": {"file": path, "slug": section.key},
                **_describe_move(move_result, self.to_title),
            },
            f"Move section {section.key} of {path}{target_text}",
            is_change=True,
            hints=_make_hints(move_result, section.key),
            offset_map=move_result.offset_map,
        )

    def _make_target(
        self, overlay: Overlay, path: str, source: Document, section: Section, context: EditContext
    ) -> Document:
        """Return the document to create: its title, or no text if the section becomes the title.

        Raises InvalidTitle, PathExists.
        """
        overlay.check_path_is_free(path)
        title = check_title(str(self.to_title), "to_title")
        if section.title == to_plain_text(title):
            return Document.parse(b"", path)
        # The title must not get the address of a moved section.
        used_names = {PREAMBLE, *(item.address for item in (section, *source.descendants(section)))}
        heading = format_heading(1, title, find_free_address(None, title, used_names), context.anchor_form)
        return Document.parse(encode_with_ending(f"{heading}\n", source.line_ending), path)

    def map_addresses(
        self, earlier_overlays: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None
    ) -> Self:
        """Return the move with its addresses mapped, each in its own document."""
        to_path, parent_slug = self._resolve_target(overlay)
        source_addresses = _MoveAddresses(file=self.file, slug=self.slug).map_addresses(
            earlier_overlays, overlay, base
        )
        if self.to_title is not None:  # the target does not exist yet
            return replace(self, slug=source_addresses.slug)
        target_addresses = _MoveAddresses(
            file=to_path, parent_slug=parent_slug, before=self.before, after=self.after
        )
        new_target_addresses = target_addresses.map_addresses(earlier_overlays, overlay, base)
        return replace(
            self,
            slug=source_addresses.slug,
            to_file=None if self.to_file is None else to_path,
            parent_slug=new_target_addresses.parent_slug,
            before=new_target_addresses.before,
            after=new_target_addresses.after,
        )

    def _resolve_target(self, overlay: Overlay) -> tuple[str, str | None]:
        """Return the path of the target document, and the address of the parent in it.

        Raises InvalidAddress for two parents, and InvalidMove for a position in a document to create.
        """
        if self.to_title is not None:
            if self.parent_slug or self.before or self.after:
                raise InvalidMove(
                    "'to_title' creates a document, so 'parent_slug', 'before' and 'after' must be missing",
                    fix="Omit 'to_title' to move into an existing document, or omit the position.",
                )
            folder = check_path(self.file).rpartition("/")[0]
            file_name = derive_file_name(check_title(self.to_title, "to_title"))
            return check_path(self.to_file or (f"{folder}/{file_name}" if folder else file_name)), None
        if self.to_file is None:
            return check_path(self.file), self.parent_slug
        if "#" not in self.to_file:
            return check_path(self.to_file), self.parent_slug
        path, fragment = split_address(self.to_file, {*overlay.snapshot.documents, *overlay.written_paths})
        if fragment and self.parent_slug and fragment != self.parent_slug:
            raise InvalidAddress(
                f"'to_file' has the section '{fragment}', but 'parent_slug' is '{self.parent_slug}'",
                fix="Set 'to_file' to the path, and 'parent_slug' to the new parent.",
            )
        return check_path(path), self.parent_slug or fragment or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _MoveAddresses(DocumentOperation):
    """An operation that only maps addresses: those of a move that belong to one document."""

    name: ClassVar[str] = "move_section"

    file: str
    slug: str = ""
    parent_slug: str | None = None
    before: str | None = None
    after: str | None = None


def _describe_move(move_result: SectionMoveResult, new_title: str | None) -> dict[str, object]:
    """Return the fields of the result that describe the moved section."""
    sections = move_result.target.sections
    is_document = move_result.section.is_preamble
    descendants = sections[1:] if is_document else move_result.target.descendants(move_result.section)
    subsections = [item.key for item in descendants]
    details: dict[str, object] = {"level": max(move_result.section.level, 1)}
    if subsections:
        details["subsections"] = subsections
    anchored_addresses = list(move_result.anchored_addresses)
    if new_title is not None and move_result.target.preamble and not is_document:
        anchored_addresses.insert(0, f"{move_result.target.path}#{move_result.target.preamble.anchor}")
    if anchored_addresses:
        details["anchors_added"] = anchored_addresses
    return details


def _make_hints(move_result: SectionMoveResult, old_key: str) -> tuple[str, ...]:
    section = move_result.section
    hints = (
        [
            f"the address '{old_key}' is in use in {move_result.target.path}, "
            f"so the new address is '{section.key}'"
        ]
        if old_key not in (section.key, section.anchor)
        else []
    )
    for label in move_result.linked_labels[:_MAX_LISTED_ITEMS]:
        hints.append(
            f"'[{display_destination(label)}]' becomes a link, "
            f"because {move_result.target.path} defines that label"
        )
    if section.level > MAX_RECOMMENDED_LEVEL:
        hints.append(format_deep_section_hint(section.key, section.level))
    return tuple(hints)


def _read_target(overlay: Overlay, path: str) -> Document:
    """Return the target document of a move. Raises DocumentNotFound with the advice to create it."""
    try:
        return overlay.document(path)
    except LfsTextMissing:
        raise
    except DocumentNotFound as error:
        if error.code != DocumentNotFound.code or overlay.snapshot.entry(path) is not None:
            raise
        stem = PurePosixPath(path).stem
        paths = {
            PurePosixPath(document_path).stem: document_path for document_path in overlay.snapshot.documents
        }
        similar_paths = [
            paths[name]
            for name in get_close_matches(stem, paths, n=_MAX_LISTED_ITEMS, cutoff=_MIN_NAME_SIMILARITY)
        ]
        advice = f"Did you mean '{similar_paths[0]}'? Otherwise, create" if similar_paths else "Create"
        raise DocumentNotFound(
            f"no document '{display_destination(path)}'",
            fix=f"{advice} that document, then send the call again.",
            suggestion_source=SuggestionSource(SuggestionKind.MISSING, path),
            candidates=similar_paths,
        ) from error
