"""restore_section: a section with its subsections, as it was at another commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import SectionNotFound, nearest, resolve_section
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.errors import Among, Listed
from workspace.paths import check_path
from workspace.writing.sight import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section
    from workspace.document.splices import Style
    from workspace.edits.operation import Taken
    from workspace.git.ancestry import Node
    from workspace.history.following import Place
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot


class _Found(NamedTuple):
    """The document, the section in it (None if it was removed), and the section as it was."""

    document: Document
    now: Section | None
    old: Document
    then: Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSection(DocumentOperation):
    """Puts a section back as it was at `commit` (a full id): its own text and all below it.

    The section is followed back through renames and moves. One that was removed goes where it stood.
    """

    name: ClassVar[str] = "restore_section"
    addresses: ClassVar[tuple[str, ...]] = ("slug",)

    file: str
    slug: str
    commit: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays the changed document over the snapshot; nothing where the section is as it was.

        Raises DocumentNotFound, SectionNotFound for one that stands elsewhere now, AmbiguousAddress,
        NotAtRef, NotADocument, ParentGone, LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported here because a server answers its first questions without restoring anything.
        from workspace.edits.reinsertion import replanted
        from workspace.edits.versions import SHORT
        from workspace.links.survival import Survival, same_headings

        document, now, old, then = self._found(overlay)
        put = replanted(document, now, old, then, document.form or style.form)
        path, slug = document.path, put.section.key
        answer: dict[str, object] = {"file": path, "slug": slug, "from": self.commit}
        if (old.path, then.key) != (path, slug):
            answer["was"] = {"file": old.path, "slug": then.key}
        summary = f"Restore {slug} of {path} from {self.commit[:SHORT]}"
        if put.document.data == document.data:
            hint = f"'{slug}' is as it was at {self.commit[:SHORT]}"
            return Outcome(path, answer, summary, False, (hint,))
        below = [item.key for item in put.document.descendants(put.section)]
        if below and not put.section.is_preamble:
            answer["subsections"] = below
        overlay.put(put.document)
        renamed = same_headings(document, put.document, put.splices)
        survival = Survival.of_splices(document, put.splices, renamed=renamed)
        return Outcome(path, answer, summary, True, survival=survival)

    def taken(self, overlay: Overlay) -> Sequence[Taken]:
        """The section and all below it, less the texts that come back."""
        document, now, old, then = self._found(overlay)
        if now is None:
            return ()
        kept = {digest(old, item) for item in _tree(old, then)}
        gone = [item for item in _tree(document, now) if digest(document, item) not in kept]
        return [(document, gone)] if gone else ()

    def _found(self, overlay: Overlay) -> _Found:
        from workspace.edits.tracing import Tracing, states_between
        from workspace.history.following import Place
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        document = overlay.document(check_path(self.file))
        then = Snapshot(tip.git, self.commit)
        way = states_between(tip.git, str(tip.commit), self.commit)
        try:
            now = resolve_section(document, self.slug)
        except SectionNotFound as error:
            old, section = self._at_ref(then, tip, way, document.path)
            later = Tracing(tip).follow([*reversed(way)], Place(old.path, old, section))
            if later is not None and later.section is not None:
                raise error  # it was renamed or moved, and has an address of its own now
            return _Found(document, None, old, section)
        origin = self._origin(overlay, way, document, now)
        if origin is None or origin.document is None or origin.section is None:
            return _Found(document, now, *self._at_ref(then, tip, way, document.path))
        return _Found(document, now, origin.document, origin.section)

    def _origin(
        self, overlay: Overlay, way: Sequence[Node], document: Document, now: Section
    ) -> Place | None:
        """Where a section stood at the commit; None where that cannot be told."""
        from workspace.diff.sections import Evidence, SectionMatch
        from workspace.edits.tracing import Tracing
        from workspace.history.following import Place

        tip, path = overlay.snapshot, document.path
        if now.is_preamble or tip.entry(path) is None:
            return None
        committed = tip.document(path)
        section: Section | None = now
        if overlay.is_laid(path):
            section = SectionMatch(document, committed, Evidence.TEXT).successor(now)
        return Tracing(tip).follow(way, Place(path, committed, section)) if section else None

    def _at_ref(
        self, then: Snapshot, tip: Snapshot, way: Sequence[Node], path: str
    ) -> tuple[Document, Section]:
        """The document as it was, and the section of the same address in it. Raises NotAtRef."""
        from workspace.edits.tracing import Tracing
        from workspace.edits.versions import SHORT, NotAtRef, version_of
        from workspace.history.following import Place

        place = Tracing(tip).follow(way, Place(path)) if tip.entry(path) else None
        path = place.path if place else path
        old = version_of(then, path, tip.config)
        known = [item.key for item in old.sections] if old else []
        try:
            if old is not None:
                return old, resolve_section(old, self.slug)
        except SectionNotFound:
            pass
        what = f"the section '{self.slug[:200]}' of {path}" if old is not None else f"'{path}'"
        raise NotAtRef(
            f"{what} was not there at {self.commit[:SHORT]}",
            fix="Choose a commit in which it was.",
            among=Among(Listed.COMMITS, path, self.slug),
            ref=self.commit,
            candidates=nearest(self.slug, known) or known[:5],
        )


def _tree(document: Document, section: Section) -> tuple[Section, ...]:
    return (section,) if section.is_preamble else (section, *document.descendants(section))
