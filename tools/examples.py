"""Examples after an error: a call that works, built from the caller's values and existing names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workspace.document.addresses import format_task_address, resolve_section, resolve_task, split_address
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.markdown.slugs import PREAMBLE
from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import NotADocument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

Data = dict[str, Any]

_ADDRESS_ERRORS = frozenset(("SECTION_NOT_FOUND", "TASK_NOT_FOUND", "INVALID_ADDRESS", "AMBIGUOUS_ADDRESS"))


def with_sections(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document and sections exist; a sibling that is not there is left out."""
    example, document = _with_document(example, snapshot)
    if error.code in _ADDRESS_ERRORS:
        example = {field: value for field, value in example.items() if field not in ("before", "after")}
    if document is None:
        return example
    for field in ("slug", "parent_slug"):
        if field in example and not _resolves(document, example[field]):
            known = [section.key for section in document.sections]
            name = _first(document, error, find_nearest(str(example[field]), known), known)
            example = {**example, field: name}
            if name is None:
                del example[field]
    return example


def with_dry_run_removal(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example of a removal; if the name is not the caller's own, it is a dry run."""
    found = with_sections(example, error, snapshot)
    if "path" in found and found["path"] not in snapshot.documents:
        close = find_nearest(found["path"], snapshot.documents) or list(snapshot.documents)
        found = {**found, "path": close[0]} if close else found
    if found.get("slug") == PREAMBLE:
        document = _readable(snapshot, found["file"])
        others = [section.key for section in document.sections if not section.is_preamble] if document else []
        found = {**found, "slug": others[0]} if others else {"path": found["file"]}
    return found if found == example else {**found, "dry_run": True}


def with_task(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose task exists: one of the section's, of the document's, or of another's."""
    example, document = _with_document(example, snapshot)
    if document is None:
        return example
    section, _, _ = str(example["slug"]).rpartition("[")
    try:
        resolve_task(document, example["slug"])
    except WorkspaceError:
        for other in (document, *(_readable(snapshot, path) for path in list(snapshot.documents)[:20])):
            found = _tasks(other) if other else []
            if other and found:
                beside = [task for task in found if section and task.startswith(section + "[")]
                return {**example, "file": other.path, "slug": (beside or found)[0]}
    return example


def with_chunk(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose chunk exists: the nearest, else the beginning of the first document."""
    near = error.details.get("nearest")
    found = [*(near if isinstance(near, list) else ()), *list(snapshot.documents)[:1]]
    return {**example, "chunk_id": found[0]} if found else example


def with_document(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose document exists."""
    return _with_document(example, snapshot)[0]


def _with_document(example: Data, snapshot: Snapshot) -> tuple[Data, Document | None]:
    file = example.get("file")
    if not isinstance(file, str):
        return example, None
    path, fragment = split_address(file, snapshot.documents)
    if fragment:
        field = "parent_slug" if example.get("operation") == "add_section" else "slug"
        example = {**example, "file": path, field: example.get(field, fragment)}
    if path not in snapshot.documents:
        close = find_nearest(path, snapshot.documents) or list(snapshot.documents)
        if not close:
            return example, None
        path = close[0]
    return {**example, "file": path}, _readable(snapshot, path)


def _readable(snapshot: Snapshot, path: str) -> Document | None:
    """Return a document; None if it is too large, or no text, to be read, and so no example."""
    try:
        return snapshot.document(path)
    except (LimitExceeded, NotADocument):
        return None


def _first(document: Document, error: WorkspaceError, *choices: Iterable[str]) -> str | None:
    """Return the first name that resolves: the error's own proposals before the rest, the preamble last."""
    names = proposed_names(error)
    names += [name for choice in choices for name in choice]
    names.sort(key=lambda name: name == PREAMBLE)
    return next((name for name in names if _resolves(document, name)), None)


def proposed_names(error: WorkspaceError) -> list[str]:
    """Return the names that an error proposes as its `candidates`, as a call takes them."""
    listed = error.details.get("candidates")
    names = [
        item.get("slug") if isinstance(item, dict) else item
        for item in (listed if isinstance(listed, list | tuple) else ())
    ]
    return [name for name in names if isinstance(name, str)]


def _resolves(document: Document, slug: object) -> bool:
    try:
        return isinstance(slug, str) and bool(resolve_section(document, slug))
    except WorkspaceError:
        return False


def _tasks(document: Document) -> list[str]:
    """Return the addresses of a document's tasks that resolve, open ones first."""
    found: list[tuple[bool, str]] = []
    for section in document.sections:
        if _resolves(document, section.key):
            found += [(task.is_done, format_task_address(section, task)) for task in document.tasks(section)]
    return [address for _, address in sorted(found, key=lambda item: item[0])]
