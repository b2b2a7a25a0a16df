"""Operations: changes that a caller requests, applied to documents in memory."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from workspace.diff.section_mapping import check_not_newer, map_address
from workspace.document.addresses import read_fragment, resolve_section, resolve_task
from workspace.document.splices import Edit, EditContext, StructureChanged, apply_edit
from workspace.edits.content import InvalidTitle
from workspace.errors import InvalidConfig, LimitExceeded, WorkspaceError
from workspace.links.offset_map import OffsetMap, match_rewritten_headings
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
"""A document, and its sections whose own text is removed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operation: the path, the fields of the response, the commit summary, and hints.

    `offset_map` maps offsets before the operation to offsets after it, to update links. It is None if no link
    can target the changed text. `link_warnings` are the links that the operation wrote and that are broken.
    """

    path: str
    result: Mapping[str, object]
    summary: str
    is_change: bool
    hints: tuple[str, ...] = ()
    offset_map: OffsetMap | None = None
    link_warnings: Sequence[LinkWarning] = ()


class Operation:
    """A change of documents in memory. It raises a WorkspaceError if the change is not possible."""

    __slots__ = ()

    name: ClassVar[str]
    # True if the response contains the number of updated links even if that number is 0.
    reports_links: ClassVar[bool] = False

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Change the overlay, and return the result."""
        raise NotImplementedError

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts that this operation removes, which the caller must have read."""
        return ()

    def map_addresses(
        self, earlier_overlays: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None
    ) -> Self:
        """Return the operation with its addresses mapped from the earlier overlays to `overlay`.

        `base` is the snapshot of `base_commit`, or None.
        """
        return self


class DocumentOperation(Operation):
    """An operation on one document: a pure edit of its bytes, checked and put into the overlay."""

    __slots__ = ()

    # The fields that imply this operation in a call without an operation name.
    implied_by: ClassVar[frozenset[str]] = frozenset()
    # The fields that contain addresses of sections or tasks.
    address_fields: ClassVar[tuple[str, ...]] = ("slug", "parent_slug", "before", "after")
    # True if `slug` is the address of a task, False if it is that of a section, None if it may be either.
    targets_task: ClassVar[bool | None] = False
    file: str

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the sections whose own text this operation removes, beginning with its target."""
        return ()

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the sections in `list_overwritten_sections`.

        Raises the errors of `Overlay.document` and of the resolution of addresses.
        """
        document = overlay.document(check_path(self.file))
        sections = self.list_overwritten_sections(document)
        return [(document, sections)] if sections else ()

    def map_addresses(
        self, earlier_overlays: Sequence[Overlay], overlay: Overlay, base: Snapshot | None = None
    ) -> Self:
        """Return the operation with its addresses mapped to the overlay.

        Raises the errors of `Overlay.document`, `map_address` and `check_not_newer`.
        """
        path = check_path(self.file)
        document = overlay.document(path)
        addresses = {name: getattr(self, name, None) for name in self.address_fields}
        new_addresses: dict[str, str] = {}
        for earlier_overlay in earlier_overlays:
            try:
                old_document = earlier_overlay.document(path)
            except (DocumentNotFound, LimitExceeded, InvalidConfig):
                continue
            for name, address in addresses.items():
                if isinstance(address, str) and address and name not in new_addresses:
                    new_address = map_address(old_document, document, address)
                    if new_address is not None:
                        new_addresses[name] = new_address
                    elif earlier_overlay.snapshot is base:
                        _check_not_newer(overlay.snapshot, path, address)
        return (
            cast("Self", dataclasses.replace(cast("Any", self), **new_addresses)) if new_addresses else self
        )

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit of this operation. The document does not change."""
        raise NotImplementedError

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit.

        Raises the errors of `make_edit`, StructureChanged, and InvalidTitle for a title that would be read
        differently.
        """
        edit = self.make_edit(document, context)
        if not edit.splices:
            return document, edit
        new_document = apply_edit(document, edit)
        if context.choose_form(document) is None:
            edit = _add_derived_addresses(new_document, edit)
        _check_result(new_document, edit)
        return new_document, edit

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the edited document into the overlay. Raises the errors of `revise`, and LimitExceeded."""
        path = check_path(self.file)
        document = overlay.document(path)
        new_document, edit = self.revise(document, context)
        if new_document.data == document.data:
            return Outcome(path, edit.result, edit.summary, False, edit.hints)
        overlay.put(new_document)
        new_heading_positions = match_rewritten_headings(document, new_document, edit.splices)
        offset_map = OffsetMap.of_splices(document, edit.splices, new_heading_positions=new_heading_positions)
        result = {**edit.result, **describe_new_anchors(document, new_document)}
        return Outcome(path, result, edit.summary, True, edit.hints, offset_map)


def describe_new_anchors(before: Document, after: Document) -> dict[str, object]:
    """Return the anchors that only the new version has, as a field of the result, if there are any."""
    old_names = {section.anchor for section in before.sections}
    names = [section.anchor for section in after.sections if section.anchor not in old_names]
    return {"anchors_added": names} if names else {}


def _add_derived_addresses(document: Document, edit: Edit) -> Edit:
    """Return an edit whose result has the derived addresses of its new headings, which have no anchors."""
    ranges = [(splice.start, splice.start + len(splice.replacement)) for splice in edit.splices]
    addresses = [
        section.key
        for section in document.sections
        if section.has_heading and any(start <= section.heading_start < end for start, end in ranges)
    ]
    result = dict(edit.result)
    if result.get("created") is True and addresses:
        result["slug"] = addresses.pop(0)
    if "subsections" in result:
        result["subsections"] = addresses
    return dataclasses.replace(edit, result=result)


def _check_not_newer(tip: Snapshot, path: str, address: str) -> None:
    with suppress(DocumentNotFound):  # this batch created the document and its sections
        check_not_newer(tip.document(path), address)


def _check_result(document: Document, edit: Edit) -> None:
    """Raise StructureChanged or InvalidTitle if the document lacks an address or the title in the result."""
    if "removed" in edit.result:
        return
    subsections = edit.result.get("subsections")
    addresses = [
        edit.result.get("slug"),
        edit.result.get("task"),
        *(subsections if isinstance(subsections, list) else ()),
    ]
    for address in addresses:
        if not isinstance(address, str):
            continue
        try:
            if read_fragment(address).task is None:
                resolve_section(document, address)
            else:
                resolve_task(document, address)
        except WorkspaceError as error:
            raise StructureChanged(
                f"after this edit '{address}' would not exist in {document.path}",
                fix="Close every code fence (```) and comment (<!-- -->) in the content and before it.",
                section=address,
            ) from error
    title = edit.result.get("title")
    if isinstance(title, str) and resolve_section(document, str(edit.result["slug"])).title != title:
        raise InvalidTitle(
            f"the title {title!r} would not be read as a heading",
            fix="Remove the Markdown marks at the ends of the title.",
        )
