"""Versions of documents: what stood at a path of another commit, read by the settings of the tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.document import Document
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import check_pointer

if TYPE_CHECKING:
    from workspace.config.config import WorkspaceConfig
    from workspace.snapshot.snapshot import Snapshot

SHORT = 7
"""Characters of a commit's id where people read it."""


class NotAtRef(WorkspaceError):
    """The document or section was not there at the commit that is to be gone back to. `ref` is its id."""

    code = "NOT_AT_REF"


def version_of(then: Snapshot, path: str, config: WorkspaceConfig) -> Document | None:
    """The document at a path of a commit, whatever was a document there; None if nothing stood there.

    `config` has the limits. Raises NotAtRef for what is no file, NotADocument for a pointer of Git LFS,
    LimitExceeded.
    """
    entry = then.entry(path)
    if entry is None:
        return None
    if not entry.is_blob:
        kind = "a folder" if entry.is_tree else "a link or a submodule"
        raise NotAtRef(
            f"'{path}' was {kind} at {str(then.commit)[:SHORT]}, and only documents are restored",
            fix="Choose a commit in which it was a document.",
            ref=then.commit,
        )
    config.limits.check_document(path, then.git.blob_size(entry.id))
    data = then.git.blob(entry.id)
    check_pointer(path, data)
    return Document.parse(data, path)
