"""move_section: a section with all below it put in another place, of its document or of another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, resolve_section, split_address
from workspace.edits.content import DEEP_LEVEL, deep_hint
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.section_place import InvalidMove, find_place
from workspace.errors import Among, Listed
from workspace.links.shown import shown
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound, NotADocument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from workspace.document.document import Document
    from workspace.document.splices import Style
    from workspace.edits.transplant import Relocated
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

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
        """Lays the changed documents over the snapshot; nothing where the section stands there already.

        Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, InvalidAddress, InvalidMove,
        LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported here because a server answers its first questions without moving anything.
        from workspace.edits.transplant import is_in_place, relocate

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
        moved = relocate(source, section, target, place, forms, overlay.snapshot.config.links)
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

    def carried(self, past: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None) -> Self:
        """The same move, its addresses as they are now: each in the document in which it stands."""
        to_path, parent_slug = self._destination(overlay)
        section = _Named(file=self.file, slug=self.slug).carried(past, overlay, base)
        place = _Named(file=to_path, parent_slug=parent_slug, before=self.before, after=self.after)
        beside = place.carried(past, overlay, base)
        return replace(
            self,
            slug=section.slug,
            to_file=None if self.to_file is None else to_path,
            parent_slug=beside.parent_slug,
            before=beside.before,
            after=beside.after,
        )

    def _destination(self, overlay: Overlay) -> tuple[str, str | None]:
        """The document that it goes to, and the parent there. Raises InvalidAddress for two parents."""
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


def _details(moved: Relocated) -> dict[str, object]:
    """The fields of an answer that say what became of the section."""
    below = [item.key for item in moved.target.descendants(moved.section)]
    details: dict[str, object] = {"level": moved.section.level}
    if below:
        details["subsections"] = below
    if moved.pinned:
        details["anchors_added"] = list(moved.pinned)
    return details


def _hints(moved: Relocated, was: str) -> tuple[str, ...]:
    section = moved.section
    hints = (
        [f"'{was}' is taken in {moved.target.path}, so it is '{section.key}' there"]
        if section.key != was
        else []
    )
    for label in moved.linked[:_SHOWN]:
        hints.append(f"'[{shown(label)}]' in it is a link now: {moved.target.path} defines that label")
    if section.level > DEEP_LEVEL:
        hints.append(deep_hint(section.key, section.level))
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
            f"no document '{shown(path)}'",
            fix=f"{meant} that document, then send the call again.",
            among=Among(Listed.MISSING, path),
            candidates=close,
        ) from error
