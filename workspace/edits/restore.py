"""restore_document: a whole document as it was at another commit, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.edits.operation import Operation, Outcome
from workspace.errors import Among, Listed
from workspace.links.survival import Survival
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.sight import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.splices import Style
    from workspace.edits.operation import Taken
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_TOLD = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument(Operation):
    """Puts a document back as it was at `commit` (a full id), at the path that it has now.

    One that was renamed since is found through its renames; one that was removed comes back at its path.
    """

    name: ClassVar[str] = "restore_document"

    file: str
    commit: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays the old bytes over the snapshot; nothing where the document is as it was.

        Raises InvalidPath, DocumentNotFound for one that has another path now, NotAtRef, NotADocument,
        PathExists, LimitExceeded.
        """
        from workspace.document.document import Document
        from workspace.edits.versions import SHORT

        path = check_path(self.file)
        now = overlay.find(path)
        old = self._old(overlay, path, is_there=now is not None)
        answer: dict[str, object] = {"file": path, "from": self.commit}
        if old.path != path:
            answer["was"] = {"file": old.path}
        summary = f"Restore {path} from {self.commit[:SHORT]}"
        if now is not None and now.data == old.data:
            return Outcome(path, answer, summary, False, (f"'{path}' is as it was at {self.commit[:SHORT]}",))
        restored = Document.parse(old.data, path)
        if now is None:
            overlay.create(restored)
        else:
            overlay.put(restored)
        hints: tuple[str, ...] = ()
        if now is not None and (keys := _replaced(now, restored)):
            answer["metadata_replaced"] = keys[:_TOLD]
            hints = ("the front matter is as it was then, too: see 'metadata_replaced'",)
        return Outcome(path, answer, summary, True, hints, _survival(now, restored))

    def taken(self, overlay: Overlay) -> Sequence[Taken]:
        """The texts of the document that do not come back."""
        path = check_path(self.file)
        now = overlay.find(path)
        if now is None:
            return ()
        old = self._old(overlay, path, is_there=True)
        kept = {digest(old, item) for item in old.sections}
        gone = [item for item in now.sections if digest(now, item) not in kept]
        return [(now, gone)] if gone else ()

    def _old(self, overlay: Overlay, path: str, *, is_there: bool) -> Document:
        """The document as it was, at the path that it had."""
        from workspace.edits.tracing import Tracing, states_between
        from workspace.edits.versions import SHORT, NotAtRef, version_of
        from workspace.history.following import Place
        from workspace.snapshot.overlay import PathExists
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        then = Snapshot(tip.git, self.commit)
        if tip.commit is None:
            raise tip.not_found(path)
        way = states_between(tip.git, tip.commit, self.commit)
        if is_there and tip.entry(path) is not None:
            origin = Tracing(tip).follow(way, Place(path))
            if origin is not None:
                found = version_of(then, origin.path, tip.config)
                if found is not None:
                    return found
        old = version_of(then, path, tip.config)
        if old is None:
            raise NotAtRef(
                f"'{path}' was not there at {self.commit[:SHORT]}",
                fix="Choose a commit in which it was.",
                among=Among(Listed.COMMITS, path),
                ref=self.commit,
            )
        later = Tracing(tip).follow([*reversed(way)], Place(path))
        if later is not None and later.path != path:
            if is_there:
                raise PathExists(
                    f"'{path}' is another document now: what stood there at {self.commit[:SHORT]} is at "
                    f"'{later.path}'",
                    fix=f"Restore '{later.path}'.",
                    path=path,
                )
            raise _moved(tip, path, later.path)
        return old


def _moved(tip: Snapshot, path: str, now: str) -> DocumentNotFound:
    return DocumentNotFound(f"'{path}' was moved to '{now}'", fix=f"Restore '{now}'.", candidates=[now])


def _replaced(now: Document, restored: Document) -> list[str]:
    """The keys of front matter that go, or have another value; they count as no text that must be read."""
    then = restored.front_matter
    return [key for key, value in now.front_matter.items() if key not in then or then[key] != value]


def _survival(now: Document | None, restored: Document) -> Survival:
    """What links to the document still mean: headings of the same address are the same."""
    path = restored.path
    if now is None:
        return Survival.of_creation(path)
    renamed = {}
    for section in now.sections:
        twins = restored.sections_by_address(section.address)
        if section.has_heading and len(twins) == 1 and len(now.sections_by_address(section.address)) == 1:
            renamed[path, section.heading_start] = path, twins[0].heading_start
    return Survival((), renamed, {path: path})
