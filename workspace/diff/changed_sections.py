"""The sections of a snapshot whose text differs from an earlier snapshot.

A section that was only moved or renamed is unchanged: if a text is no longer at its old address, one section
with an equal text at another address is its new position. A copy of a section is a changed section.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from workspace.document.section_text import compute_digest
from workspace.errors import LimitExceeded
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import LfsTextMissing, list_changed_documents

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

KeysByPath = Mapping[str, frozenset[str]]
Progress = Callable[[int, int, str], None]
"""A function that reports progress: the number of finished items, the number of all items, and a label."""

_PROGRESS_LABEL = "Comparing two commits"


def find_changed_sections(old: Snapshot, new: Snapshot, progress: Progress | None = None) -> KeysByPath:
    """Return the keys of the changed sections of `new`, by the path of their document.

    Documents that cannot be read have no sections.
    """
    changes = list(list_changed_documents(old, new))
    old_digests: dict[tuple[str, str], bytes | None] = {}
    new_digests: dict[tuple[str, str], bytes | None] = {}
    for finished_count, (path, old_blob, new_blob) in enumerate(changes):
        if progress:
            progress(finished_count, len(changes), _PROGRESS_LABEL)
        for snapshot, blob, digests in ((old, old_blob, old_digests), (new, new_blob, new_digests)):
            document = _read_document(snapshot, path) if blob is not None else None
            if document is not None:
                digests |= {
                    (path, section.key): compute_digest(document, section) for section in document.sections
                }
    missing = object()
    changed_digests = {
        address: digest
        for address, digest in new_digests.items()
        if old_digests.get(address, missing) != digest
    }
    removed_counts = Counter(
        digest for address, digest in old_digests.items() if new_digests.get(address, missing) != digest
    )
    keys_by_path: dict[str, set[str]] = {}
    for (path, key), digest in changed_digests.items():
        if removed_counts[digest]:
            removed_counts[digest] -= 1
        else:
            keys_by_path.setdefault(path, set()).add(key)
    return {path: frozenset(keys) for path, keys in keys_by_path.items()}


def _read_document(snapshot: Snapshot, path: str) -> Document | None:
    try:
        return snapshot.document(path)
    except (LimitExceeded, LfsTextMissing, DamagedRepository):
        return None
