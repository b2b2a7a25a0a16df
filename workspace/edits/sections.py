"""add_section: a new heading, with its anchor, at the end of its parent or beside a sibling.

remove_section: a section taken out together with its subsections.

rename_section: another title at the same address.

move_section: a section with all below it put in another place, of its document or of another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, read_fragment, resolve_section, split_address
from workspace.document.headings import replace_words
from workspace.document.section_text import read_whole_text
from workspace.document.splices import Edit, Splice, Style, find_text_start, insert_block, remove_block
from workspace.edits.content import (
    DEEP_LEVEL,
    MAX_LEVEL,
    LevelConflict,
    SectionExists,
    check_text,
    check_title,
    collect_anchor_names,
    find_free_address,
    format_deep_hint,
    format_heading,
    prepare_content,
    strip_blank_lines,
    strip_heading,
)
from workspace.edits.metadata import set_front_matter_keys
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.section_place import TOP_LEVEL, InvalidMove, find_named_place, find_place
from workspace.edits.text import UpdateContent
from workspace.errors import HintKind, SuggestionSource
from workspace.links.link import display_destination
from workspace.markdown import anchors
from workspace.markdown.attribute_lists import AnchorForm
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK, encode_with_ending
from workspace.markdown.slugs import PREAMBLE
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from workspace.document.document import Document
    from workspace.document.headings import AnchoredHeading
    from workspace.document.sections import Section
    from workspace.document.splices import Style
    from workspace.edits.transplant import MovedSection
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSection(DocumentOperation):
    """Adds a section at the end of `parent_slug` (or of the document), or before or after a sibling.

    An empty section of the same title in the same place is answered with `created: false` and takes the
    content.
    """

    name: ClassVar[str] = "add_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"parent_slug"})

    file: str
    title: str
    parent_slug: str | None = None
    content: str | None = None
    before: str | None = None
    after: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit.

        Raises InvalidTitle, SectionNotFound, SectionExists, LevelConflict, InvalidAddress.
        """
        title = check_title(self.title)
        offset, parent, sibling, _ = find_named_place(document, self.parent_slug, self.before, self.after)
        existing = self._twin(document, parent, title)
        if existing:
            return self._fill(document, existing, style)
        level = self._level(document, parent, sibling)
        above = parent.address if parent else None
        address = find_free_address(above, title, collect_anchor_names(document))
        form = document.form or style.form
        content = strip_heading(
            strip_blank_lines(check_text(self.content or "", "content")), to_plain_text(title), level
        )
        prepared = prepare_content(
            document, content, below=None, level=level, address=address, form=form, reserved=(address,)
        )
        heading = format_heading(level, title, address, form)
        text = f"{heading}\n\n{prepared.text}" if prepared.text else heading
        answer: dict[str, object] = {"slug": address, "created": True}
        if prepared.addresses:
            answer["subsections"] = list(prepared.addresses)
        hints = (*([format_deep_hint(address, level)] if level > DEEP_LEVEL else ()), *prepared.hints)
        splice = insert_block(document, offset, text)
        return Edit((splice,), answer, f"Add section {address} to {self.file}", hints)

    def _twin(self, document: Document, parent: Section | None, title: str) -> Section | None:
        """Return the empty section of the same title in the same place. Raises an error if it has text."""
        for child in document.children(parent):
            if child.title.casefold() == title.casefold():
                if not read_whole_text(document, child):
                    return child
                raise SectionExists(
                    f"{document.path} already has the section '{child.address}', and it is not empty",
                    fix=f"Use update_content or append_content with slug '{child.address}'.",
                    slug=child.address,
                )
        return None

    def _fill(self, document: Document, section: Section, style: Style) -> Edit:
        answer: dict[str, object] = {"slug": section.key, "created": False}
        content = strip_blank_lines(check_text(self.content or "", "content"))
        if not content:
            return Edit((), answer, f"Keep section {section.key} of {self.file}")
        filled = UpdateContent(file=self.file, slug=section.key, content=content).edit(document, style)
        return Edit(filled.splices, {**filled.answer, **answer}, filled.summary, filled.hints)

    def _level(self, document: Document, parent: Section | None, sibling: Section | None) -> int:
        if sibling:
            return sibling.level
        beside = [child.level for child in document.children(parent)]
        level = min(beside) if beside else (parent.level + 1 if parent else TOP_LEVEL)
        if level > MAX_LEVEL:
            raise LevelConflict(
                f"a section in '{parent.address if parent else ''}' would be deeper than H6",
                fix="Add it higher up, or write it as bold text or a list.",
            )
        return level


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSection(DocumentOperation):
    """Removes a section and all that stands below it."""

    name: ClassVar[str] = "remove_section"

    file: str
    slug: str

    def list_overwritten(self, document: Document) -> Sequence[Section]:
        """Return the section, and all below it."""
        section = resolve_section(document, self.slug)
        return (section, *document.descendants(section))

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit. Raises SectionNotFound, AmbiguousAddress, InvalidAddress for the preamble."""
        section = resolve_section(document, self.slug)
        if section.is_preamble:
            raise InvalidAddress(
                "the preamble cannot be removed: it holds the document's title",
                fix="Empty it with update_content, or remove the whole document with {path}.",
            )
        splice = remove_block(document, section.start, section.tree_end)
        below = [item.address for item in document.descendants(section)]
        answer: dict[str, object] = {"removed": "section", "slug": section.address}
        if below:
            answer["subsections"] = below
        return Edit((splice,), answer, f"Remove section {section.address} from {self.file}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSection(DocumentOperation):
    """Gives a section another title. Its address stays: where it had no anchor, it gets its address as one.

    With `_preamble` the document's own title is renamed.
    """

    name: ClassVar[str] = "rename_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_title"})
    tells_links: ClassVar[bool] = True

    file: str
    slug: str
    new_title: str

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where that is the title.

        Raises InvalidTitle, SectionNotFound, AmbiguousAddress.
        """
        title = check_title(self.new_title, "new_title")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return self._title(document, title, style)
        section = resolve_section(document, self.slug)
        answer = {"slug": section.key, "title": to_plain_text(title)}
        summary = f"Rename {section.key} of {self.file}"
        if section.title == to_plain_text(title):
            return Edit((), answer, summary)
        if section.heading is None:
            return self._title(document, title, style)
        inline = _inline(section, section.heading, title, document.form or style.form)
        splice = Splice(*replace_words(document.lines, section.heading.block, inline))
        hints = () if section.is_preamble else (f"the address stays '{section.key}', so no link breaks",)
        return Edit((splice,), answer, summary, hints, renamed=section.position)

    def _title(self, document: Document, title: str, style: Style) -> Edit:
        """Return the title of a document without a title heading: from its front matter, else as an H1."""
        preamble = document.preamble
        answer = {"slug": PREAMBLE, "title": to_plain_text(title)}
        summary = f"Title {self.file}"
        if "title" in document.front_matter:
            splice = set_front_matter_keys(document, {"title": title}, is_whole=True)
            position = preamble.position if preamble else None
            return Edit((splice,), answer, summary, renamed=position, is_front_matter=True)
        address = find_free_address(None, title, collect_anchor_names(document))
        line = format_heading(1, title, address, document.form or style.form)
        if preamble and document.source(preamble).strip(BLANK):
            start = find_text_start(document.data, preamble.start, preamble.end)
            splice = Splice(start, start, encode_with_ending(f"{line}\n\n", document.ending))
        else:
            offset = document.sections[0].start if document.sections else len(document.data)
            splice = insert_block(document, offset, line)
        return Edit((splice,), answer, summary)


def _inline(section: Section, heading: AnchoredHeading, title: str, form: AnchorForm) -> str:
    """Return the heading's new inline Markdown: the anchors it has, else its address as one."""
    if heading.anchor is not None or section.is_preamble:
        return heading.text.with_words(title)
    if not anchors.is_valid_name(section.address):
        raise InvalidAddress(
            f"the address '{section.address}' cannot be written as an anchor",
            fix="Give the heading an anchor by hand first.",
        )
    return anchors.write_heading(title, section.address, form)


_SHOWN = 3
_CLOSE = 0.8  # of two file names: a slip of the keyboard, and not another document


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSection(DocumentOperation):
    """Puts a section at the end of `parent_slug` (or of the document), or before or after a sibling.

    `to_file` is another document, if it goes there; it may be a whole address (`guide.md#setup`). Levels
    follow the new parent. The address stays where it is free: a section without an anchor gets it as one.
    """

    name: ClassVar[str] = "move_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"to_file"})
    tells_links: ClassVar[bool] = True

    file: str
    slug: str
    to_file: str | None = None
    parent_slug: str | None = None
    before: str | None = None
    after: str | None = None

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the changed documents over the snapshot; nothing where the section stands there already.

        Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress, InvalidMove,
        LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported here because a server answers its first questions without moving anything.
        from workspace.edits.transplant import is_in_place, move_section

        path = check_path(self.file)
        source = overlay.document(path)
        section = resolve_section(source, self.slug)
        if section.is_preamble:
            raise InvalidMove(
                "the preamble cannot be moved: it holds the document's title",
                fix="Move the whole document with move_document, or name a section.",
            )
        to_path, parent_slug = self._destination(overlay)
        target = source if to_path == path else _target(overlay, to_path)
        place = find_place(
            target, parent_slug, self.before, self.after, section if target is source else None
        )
        if is_in_place(source, section, target, place) and place.level == section.level:
            answer = {"slug": section.key, "file": path, "level": section.level}
            hint = f"'{section.key}' stands there already"
            return Outcome(path, answer, f"Keep {section.key} of {path}", False, (hint,))
        forms = (source.form or style.form, target.form or style.form)
        moved = move_section(source, section, target, place, forms, overlay.snapshot.config.links)
        overlay.put(moved.source)
        if target is not source:
            overlay.put(moved.target)
        where = f" to {to_path}" if target is not source else ""
        return Outcome(
            to_path,
            {
                "slug": moved.section.key,
                "file": to_path,
                "was": {"file": path, "slug": section.key},
                **_details(moved),
            },
            f"Move section {section.key} of {path}{where}",
            is_change=True,
            hints=_hints(moved, section.key),
            survival=moved.survival,
        )

    def map_addresses(self, past: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None) -> Self:
        """Return the same move, its addresses as they are now: each in the document in which it stands."""
        to_path, parent_slug = self._destination(overlay)
        section = _Named(file=self.file, slug=self.slug).map_addresses(past, overlay, base)
        place = _Named(file=to_path, parent_slug=parent_slug, before=self.before, after=self.after)
        beside = place.map_addresses(past, overlay, base)
        return replace(
            self,
            slug=section.slug,
            to_file=None if self.to_file is None else to_path,
            parent_slug=beside.parent_slug,
            before=beside.before,
            after=beside.after,
        )

    def _destination(self, overlay: Overlay) -> tuple[str, str | None]:
        """Return the document that it goes to, and the parent there.

        Raises InvalidAddress for two parents.
        """
        if self.to_file is None:
            return check_path(self.file), self.parent_slug
        if "#" not in self.to_file:
            return check_path(self.to_file), self.parent_slug
        path, fragment = split_address(self.to_file, {*overlay.snapshot.documents, *overlay.laid})
        if fragment and self.parent_slug and fragment != self.parent_slug:
            raise InvalidAddress(
                "'to_file' names one section and 'parent_slug' another",
                fix="Put the path into 'to_file' and the new parent into 'parent_slug'.",
            )
        return check_path(path), self.parent_slug or fragment or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named(DocumentOperation):
    """Addresses in one document that are to be carried."""

    name: ClassVar[str] = "move_section"

    file: str
    slug: str = ""
    parent_slug: str | None = None
    before: str | None = None
    after: str | None = None


def _details(moved: MovedSection) -> dict[str, object]:
    """Return the fields of an answer that say what became of the section."""
    below = [item.key for item in moved.target.descendants(moved.section)]
    details: dict[str, object] = {"level": moved.section.level}
    if below:
        details["subsections"] = below
    if moved.pinned:
        details["anchors_added"] = list(moved.pinned)
    return details


def _hints(moved: MovedSection, was: str) -> tuple[str, ...]:
    section = moved.section
    hints = (
        [f"'{was}' is taken in {moved.target.path}, so it is '{section.key}' there"]
        if section.key != was
        else []
    )
    for label in moved.linked[:_SHOWN]:
        hints.append(
            f"'[{display_destination(label)}]' in it is a link now: {moved.target.path} defines that label"
        )
    if section.level > DEEP_LEVEL:
        hints.append(format_deep_hint(section.key, section.level))
    return tuple(hints)


def _target(overlay: Overlay, path: str) -> Document:
    """Return the document that a section moves to. Raises DocumentNotFound, which says how to create it."""
    try:
        return overlay.document(path)
    except NotADocument:
        raise
    except DocumentNotFound as error:
        if error.code != DocumentNotFound.code or overlay.snapshot.entry(path) is not None:
            raise
        stem = PurePosixPath(path).stem
        names = {PurePosixPath(known).stem: known for known in overlay.snapshot.documents}
        close = [names[name] for name in get_close_matches(stem, names, n=_SHOWN, cutoff=_CLOSE)]
        meant = f"Did you mean '{close[0]}'? Else create" if close else "Create"
        raise DocumentNotFound(
            f"no document '{display_destination(path)}'",
            fix=f"{meant} that document, then send the call again.",
            among=SuggestionSource(HintKind.MISSING, path),
            candidates=close,
        ) from error
