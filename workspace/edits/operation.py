"""Operations: changes that a caller requests, applied to documents in memory."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from workspace.diff.section_mapping import check_not_newer, map_address
from workspace.document.addresses import read_fragment, resolve_section, resolve_task
from workspace.document.splices import Edit, StructureChanged, Style, apply_edit
from workspace.edits.content import InvalidTitle
from workspace.errors import InvalidConfig, LimitExceeded, WorkspaceError
from workspace.links.survival import OffsetMap, match_same_headings
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.links.warnings import LinkWarning
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

RemovedTexts = tuple["Document", "Sequence[Section]"]
"""Sections of a document whose own text goes away; the first is the one that was named."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operation: the path, the fields of its answer, the commit line, and hints.

    `survival` is what it kept of the documents that it touched, by which links are mended; None where it kept
    nothing that a link could mean. `doubts` are links that it wrote and that led nowhere then.
    """

    path: str
    answer: Mapping[str, object]
    summary: str
    is_change: bool
    hints: tuple[str, ...] = ()
    survival: OffsetMap | None = None
    doubts: Sequence[LinkWarning] = ()


class Operation:
    """Something that changes documents in memory, or raises a WorkspaceError."""

    __slots__ = ()

    name: ClassVar[str]
    # Whether its answer says how many links were written anew, even if none were.
    tells_links: ClassVar[bool] = False

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Change the overlay and says what was done."""
        raise NotImplementedError

    def taken(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts that this operation takes away, so that its caller must have seen them."""
        return ()

    def map_addresses(self, past: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None) -> Self:
        """Return the same operation, its addresses as they are now; `past` is what they were meant for.

        `base` is the one among them that the caller names.
        """
        return self


class DocumentOperation(Operation):
    """An operation on one document: a pure edit of its bytes, checked and laid over the snapshot."""

    __slots__ = ()

    # The fields that decide for this operation where a call does not name one.
    implied_by: ClassVar[frozenset[str]] = frozenset()
    # The fields that hold addresses of sections or tasks.
    addresses: ClassVar[tuple[str, ...]] = ("slug", "parent_slug", "before", "after")
    # Whether `slug` names a task, or a section; None where it may be either.
    names_task: ClassVar[bool | None] = False
    file: str

    def list_overwritten(self, document: Document) -> Sequence[Section]:
        """Return the sections whose own text this operation takes away, the one that it names first."""
        return ()

    def taken(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return what `list_overwritten` names. Raises what `edit` does."""
        document = overlay.document(check_path(self.file))
        sections = self.list_overwritten(document)
        return [(document, sections)] if sections else ()

    def map_addresses(self, past: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None) -> Self:
        """Return the same operation, its addresses as they are now.

        Raises DocumentNotFound, and what `carry` and, for a document of `base`, `check_not_newer` do:
        SectionNotFound, TaskNotFound, Conflict.
        """
        path = check_path(self.file)
        document = overlay.document(path)
        given = {name: getattr(self, name, None) for name in self.addresses}
        carried: dict[str, str] = {}
        for state in past:
            try:
                known = state.document(path)
            except (DocumentNotFound, LimitExceeded, InvalidConfig):
                continue
            for name, address in given.items():
                if isinstance(address, str) and address and name not in carried:
                    meant = map_address(known, document, address)
                    if meant is not None:
                        carried[name] = meant
                    elif state.snapshot is base:
                        _check_not_newer(overlay.snapshot, path, address)
        return cast("Self", dataclasses.replace(cast("Any", self), **carried)) if carried else self

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit that this operation makes. Pure: it reads the document and changes nothing."""
        raise NotImplementedError

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        edit = self.edit(document, style)
        if not edit.splices:
            return document, edit
        changed = apply_edit(document, edit)
        _check_answer(changed, edit)
        return changed, edit

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the edited document over the snapshot. Raises what `revise` does, and LimitExceeded."""
        path = check_path(self.file)
        document = overlay.document(path)
        changed, edit = self.revise(document, style)
        if changed.data == document.data:
            return Outcome(path, edit.answer, edit.summary, False, edit.hints)
        overlay.put(changed)
        renamed = match_same_headings(document, changed, edit.splices)
        survival = OffsetMap.of_splices(document, edit.splices, renamed=renamed)
        return Outcome(path, edit.answer, edit.summary, True, edit.hints, survival)


def _check_not_newer(tip: Snapshot, path: str, address: str) -> None:
    with suppress(DocumentNotFound):  # then this batch made the document, and what is in it
        check_not_newer(tip.document(path), address)


def _check_answer(document: Document, edit: Edit) -> None:
    """Raise an error if the answer names what cannot be found again."""
    if "removed" in edit.answer:
        return
    added = edit.answer.get("subsections")
    names = [edit.answer.get("slug"), edit.answer.get("task"), *(added if isinstance(added, list) else ())]
    for name in names:
        if not isinstance(name, str):
            continue
        try:
            if read_fragment(name).task is None:
                resolve_section(document, name)
            else:
                resolve_task(document, name)
        except WorkspaceError as error:
            raise StructureChanged(
                f"after this edit '{name}' would not be found in {document.path}",
                fix="Close every code fence (```) and comment (<!-- -->) in the content and before it.",
                section=name,
            ) from error
    title = edit.answer.get("title")
    if isinstance(title, str) and resolve_section(document, str(edit.answer["slug"])).title != title:
        raise InvalidTitle(
            "the title does not read as a heading", fix="Leave out Markdown marks at its ends."
        )
