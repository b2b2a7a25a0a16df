"""Examples after an error: calls that work, built from the caller's values and existing names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workspace.document.addresses import format_task_address, resolve_section, resolve_task, split_address
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.markdown.slugs import PREAMBLE
from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import LfsTextMissing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

Data = dict[str, Any]

_ADDRESS_ERRORS = frozenset(("SECTION_NOT_FOUND", "TASK_NOT_FOUND", "INVALID_ADDRESS", "AMBIGUOUS_ADDRESS"))


def correct_sections(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document and sections exist; after an address error, without siblings."""
    example, document = _correct_document(example, snapshot)
    if error.code in _ADDRESS_ERRORS:
        example = {field: value for field, value in example.items() if field not in ("before", "after")}
    if document is None:
        return example
    for field in ("slug", "parent_slug"):
        if field in example and not _resolves(document, example[field]):
            keys = [section.key for section in document.sections]
            replacement = _find_resolvable_name(
                document, error, find_nearest(str(example[field]), keys), keys
            )
            example = {**example, field: replacement}
            if replacement is None:
                del example[field]
    return example


def correct_address(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose `address` is that of an existing document or section."""
    path, slug = split_address(str(example["address"]), snapshot.documents)
    target = correct_sections({"file": path, **({"slug": slug} if slug else {})}, error, snapshot)
    slug = target.get("slug")
    return {**example, "address": f"{target['file']}#{slug}" if slug else target["file"]}


def correct_removal_target(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example of a removal whose target exists; a dry run if it differs from the caller's."""
    corrected_example = correct_sections(example, error, snapshot)
    if "path" in corrected_example and corrected_example["path"] not in snapshot.documents:
        matches = find_nearest(corrected_example["path"], snapshot.documents) or list(snapshot.documents)
        corrected_example = {**corrected_example, "path": matches[0]} if matches else corrected_example
    if corrected_example.get("slug") == PREAMBLE:
        document = _read_document_or_none(snapshot, corrected_example["file"])
        addresses = (
            [section.key for section in document.sections if not section.is_preamble] if document else []
        )
        corrected_example = (
            {**corrected_example, "slug": addresses[0]} if addresses else {"path": corrected_example["file"]}
        )
    return corrected_example if corrected_example == example else {**corrected_example, "dry_run": True}


def correct_task(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose task exists: in the section, else in the document, else in another document."""
    example, document = _correct_document(example, snapshot)
    if document is None:
        return example
    section, _, _ = str(example["slug"]).rpartition("[")
    try:
        resolve_task(document, example["slug"])
    except WorkspaceError:
        for other_document in (
            document,
            *(_read_document_or_none(snapshot, path) for path in list(snapshot.documents)[:20]),
        ):
            addresses = _list_task_addresses(other_document) if other_document else []
            if other_document and addresses:
                addresses_in_section = [
                    task for task in addresses if section and task.startswith(section + "[")
                ]
                return {
                    **example,
                    "file": other_document.path,
                    "slug": (addresses_in_section or addresses)[0],
                }
    return example


def correct_chunk(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose chunk exists: the nearest one, else the first document."""
    matches = error.details.get("nearest")
    chunk_ids = [*(matches if isinstance(matches, list) else ()), *list(snapshot.documents)[:1]]
    return {**example, "chunk_id": chunk_ids[0]} if chunk_ids else example


def correct_document(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document exists."""
    return _correct_document(example, snapshot)[0]


def correct_path(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose `path` is that of an existing folder or document."""
    names = list_suggested_names(error)
    return {**example, "path": names[0]} if error.code == "DOCUMENT_NOT_FOUND" and names else example


def _correct_document(example: Data, snapshot: Snapshot) -> tuple[Data, Document | None]:
    file = example.get("file")
    if not isinstance(file, str):
        return example, None
    path, fragment = split_address(file, snapshot.documents)
    if fragment:
        field = "parent_slug" if example.get("operation") == "add_section" else "slug"
        example = {**example, "file": path, field: example.get(field, fragment)}
    if path not in snapshot.documents:
        matches = find_nearest(path, snapshot.documents) or list(snapshot.documents)
        if not matches:
            return example, None
        path = matches[0]
    return {**example, "file": path}, _read_document_or_none(snapshot, path)


def _read_document_or_none(snapshot: Snapshot, path: str) -> Document | None:
    """Return a document; None if it is too large or not a document."""
    try:
        return snapshot.document(path)
    except (LimitExceeded, LfsTextMissing):
        return None


def _find_resolvable_name(
    document: Document, error: WorkspaceError, *name_lists: Iterable[str]
) -> str | None:
    """Return the first name that resolves: the error's candidates first, the preamble last."""
    names = list_suggested_names(error)
    names += [name for name_list in name_lists for name in name_list]
    names.sort(key=lambda name: name == PREAMBLE)
    return next((name for name in names if _resolves(document, name)), None)


def list_suggested_names(error: WorkspaceError) -> list[str]:
    """Return the `candidates` of an error as names for a call."""
    candidates = error.details.get("candidates")
    names = [
        item.get("slug") if isinstance(item, dict) else item
        for item in (candidates if isinstance(candidates, list | tuple) else ())
    ]
    return [name for name in names if isinstance(name, str)]


def _resolves(document: Document, slug: object) -> bool:
    try:
        return isinstance(slug, str) and bool(resolve_section(document, slug))
    except WorkspaceError:
        return False


def _list_task_addresses(document: Document) -> list[str]:
    """Return the addresses of a document's tasks in sections that resolve, open tasks first."""
    entries: list[tuple[bool, str]] = []
    for section in document.sections:
        if _resolves(document, section.key):
            entries += [
                (task.is_done, format_task_address(section.key, task)) for task in document.tasks(section)
            ]
    return [address for _, address in sorted(entries, key=lambda entry: entry[0])]
