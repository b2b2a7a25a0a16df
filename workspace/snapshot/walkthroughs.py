"""The walkthroughs of a commit: the documents whose type is `walkthrough`.

The type comes from the front matter or from a manifest, like every value of the taxonomy. Only documents
that may be walkthroughs are parsed: their front matter contains the word, or their manifest sets the type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.document.walkthrough import WALKTHROUGH_TYPE, build_walkthrough
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.markdown.lines import BOM
from workspace.nearest import MAX_NEAREST_NAMES, find_nearest
from workspace.snapshot.snapshot import LfsTextMissing, shorten_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.walkthrough import Walkthrough
    from workspace.snapshot.snapshot import Snapshot

# The end of front matter, as the scanner of headings finds it.
_FRONT_MATTER_END = re.compile(rb"[\r\n](?: {0,3}-{3,}|\.\.\.)[ \t]*(?=[\r\n]|\Z)")

# True for each blob that may be a walkthrough. Blobs with the same id are equal in every repository.
_candidate_cache: LRUCache[str, bool] = LRUCache(200_000)

# The paths of the walkthroughs in a tree, by the tree's id. A tree includes settings and manifests.
_path_cache: LRUCache[str, tuple[str, ...]] = LRUCache(50_000, lambda paths: len(paths) + 1)


class WalkthroughNotFound(WorkspaceError):
    """An error: no walkthrough has this id. `candidates` are the ids of the most similar ones."""

    code = "WALKTHROUGH_NOT_FOUND"


def list_walkthroughs(snapshot: Snapshot) -> Iterator[Walkthrough]:
    """Yield the walkthroughs of a commit in order of paths, without documents that cannot be read.

    Each is yielded before the next document is read, because a walkthrough contains the text of its steps.
    """
    for path in _list_paths(snapshot):
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
    return build_walkthrough(document) if _is_walkthrough(snapshot, document) else None


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


def _list_paths(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the paths of the walkthroughs of a commit that can be read, in order."""
    tree = snapshot.tree
    if tree is None:
        return ()
    cached_paths = _path_cache.find(tree)
    if cached_paths is not None:
        return cached_paths
    paths: list[str] = []
    is_complete = True
    for path, blob in snapshot.documents.items():
        try:
            if _may_be_walkthrough(snapshot, path, blob) and _is_walkthrough(
                snapshot, snapshot.document(path)
            ):
                paths.append(path)
        except (LimitExceeded, LfsTextMissing):
            continue
        except DamagedRepository:  # the object may be restored, so the result is not cached
            is_complete = False
    if is_complete:
        _path_cache.put(tree, tuple(paths))
    return tuple(paths)


def _read_if_readable(snapshot: Snapshot, path: str) -> Walkthrough | None:
    try:
        return find_walkthrough(snapshot, path)
    except (LimitExceeded, LfsTextMissing, DamagedRepository):
        return None


def _is_walkthrough(snapshot: Snapshot, document: Document) -> bool:
    values = snapshot.taxonomy.values(document.path, document.front_matter)
    return WALKTHROUGH_TYPE in values.get("type", ())


def _may_be_walkthrough(snapshot: Snapshot, path: str, blob: str) -> bool:
    """Return False if a document is not a walkthrough, without parsing the document."""
    if snapshot.manifests and WALKTHROUGH_TYPE in snapshot.taxonomy.manifest_values(path).get("type", ()):
        return True
    return _candidate_cache.get(blob, _may_have_type_in_front_matter, snapshot, path, blob)


def _may_have_type_in_front_matter(snapshot: Snapshot, path: str, blob: str) -> bool:
    """Return False if the front matter of a blob does not have the value `walkthrough`.

    YAML can write the letters of a value differently only with backslashes, in double quotes. Raises
    LimitExceeded.
    """
    data = snapshot.git.blob_within(blob, snapshot.config.limits.document_bytes)
    if data is None:
        raise LimitExceeded(f"'{path}' is too large to be read", fix="Split it into several documents.")
    data = data.removeprefix(BOM)
    if not data.startswith(b"---"):
        return False
    closing = _FRONT_MATTER_END.search(data)
    front_matter = data[: closing.start()] if closing else b""
    return WALKTHROUGH_TYPE.encode() in front_matter or b"\\" in front_matter
