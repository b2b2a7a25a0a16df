"""The walkthroughs of a commit: the documents whose type is `walkthrough`.

The type comes from the front matter or from a manifest, like every value of the taxonomy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.document.walkthrough import WALKTHROUGH_TYPE, build_walkthrough
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.nearest import MAX_NEAREST_NAMES, find_nearest
from workspace.snapshot.documents_by_type import DocumentsByType
from workspace.snapshot.snapshot import LfsTextMissing, shorten_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.walkthrough import Walkthrough
    from workspace.snapshot.snapshot import Snapshot

_DOCUMENTS = DocumentsByType(WALKTHROUGH_TYPE)


class WalkthroughNotFound(WorkspaceError):
    """An error: no walkthrough has this id. `candidates` are the ids of the most similar ones."""

    code = "WALKTHROUGH_NOT_FOUND"


def list_walkthroughs(snapshot: Snapshot) -> Iterator[Walkthrough]:
    """Yield the walkthroughs of a commit in order of paths, without documents that cannot be read.

    Each is yielded before the next document is read, because a walkthrough contains the text of its steps.
    """
    for path in _DOCUMENTS.list_paths(snapshot):
        if (walkthrough := _read_if_readable(snapshot, path)) is not None:
            yield walkthrough


def find_walkthrough(snapshot: Snapshot, path: str) -> Walkthrough | None:
    """Return the walkthrough at a path; None if there is no document, or if it has another type.

    Raises LfsTextMissing and LimitExceeded for a document that cannot be read.
    """
    entry = snapshot.entry(path)
    if entry is None or not entry.is_blob or not snapshot.config.is_document(path):
        return None
    document = snapshot.document(path)
    return build_walkthrough(document) if _DOCUMENTS.has_type(snapshot, document) else None


def read_walkthrough(snapshot: Snapshot, id: str) -> Walkthrough:
    """Return the walkthrough with an id: a path, a path without its suffix, or a title that only one has.

    Raises WalkthroughNotFound, and LfsTextMissing and LimitExceeded for a document that cannot be read.
    """
    name = id.strip()
    paths = [id, *(name + suffix for suffix in ("", *DOCUMENT_SUFFIXES))]
    for path in paths:
        if (walkthrough := find_walkthrough(snapshot, path)) is not None:
            return walkthrough
    titles = {walkthrough.id: walkthrough.title for walkthrough in list_walkthroughs(snapshot)}
    folded_name = " ".join(name.split()).casefold()
    matching_ids = [path for path, title in titles.items() if title.casefold() == folded_name]
    if len(matching_ids) == 1 and (walkthrough := find_walkthrough(snapshot, matching_ids[0])) is not None:
        return walkthrough
    raise _make_not_found_error(snapshot, name, titles, matching_ids)


def _make_not_found_error(
    snapshot: Snapshot, name: str, titles: dict[str, str], matching_ids: list[str]
) -> WalkthroughNotFound:
    """Return the error for a name; `titles` are those of all walkthroughs by id."""
    short_name = shorten_path(name)
    if matching_ids:
        return WalkthroughNotFound(
            f"{len(matching_ids)} walkthroughs have the title '{short_name}'",
            fix=f"Use an id, such as '{matching_ids[0]}'.",
            candidates=matching_ids[:MAX_NEAREST_NAMES],
        )
    if not titles:
        return WalkthroughNotFound(
            f"no walkthrough '{short_name}': the workspace has no walkthroughs",
            fix=f"Commit a document with `type: {WALKTHROUGH_TYPE}` in its front matter.",
            candidates=[],
        )
    ids_by_name = {**{title: path for path, title in titles.items()}, **{path: path for path in titles}}
    nearest = list(dict.fromkeys(ids_by_name[match] for match in find_nearest(name, ids_by_name)))
    is_other_document = bool(name) and snapshot.entry(name) is not None
    return WalkthroughNotFound(
        f"'{short_name}' is not a walkthrough" if is_other_document else f"no walkthrough '{short_name}'",
        fix=f"Did you mean '{nearest[0]}'?" if nearest else "Use the id of one of the candidates.",
        candidates=(nearest or list(titles))[:MAX_NEAREST_NAMES],
    )


def _read_if_readable(snapshot: Snapshot, path: str) -> Walkthrough | None:
    try:
        return find_walkthrough(snapshot, path)
    except (LimitExceeded, LfsTextMissing, DamagedRepository):
        return None
