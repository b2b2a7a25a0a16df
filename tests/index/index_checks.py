"""The results of an index, compared with the results of a new index of the same commit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from index.service import SearchIndex
from index.storage.locking import hold_lock
from index.storage.manifest import read_index_manifest
from tests.repositories import Repo
from workspace.workspace import Workspace

QUERIES = (
    "retry backoff",
    "errors",
    "jitter limit",
    "quagga",
    "okapi wombat",
    "new title",
    "nothing of note",
    "err* jittr~1",
    "title:retries AND NOT heading:errors OR okapi",
    'limit "retry backoff"',
    'quagga "errors"',
)

RankedIds = list[tuple[str, float]]


def search_all(index: SearchIndex, *, commit: str | None) -> dict[str, tuple[bool, RankedIds]]:
    """Return, for each query, True if there are more hits, and the ids and scores; check the commit."""
    results_by_query = {}
    for query in QUERIES:
        page = index.search(query, limit=50)
        assert (page.commit, page.is_stale) == (commit, False)
        results_by_query[query] = (
            page.next_cursor is not None,
            [(hit.chunk_id, hit.score) for hit in page.hits],
        )
    return results_by_query


@cache
def search_all_in_new_index(path: Path, commit: str) -> dict[str, tuple[bool, RankedIds]]:
    """Return the results of a new index of the tip in its own folder."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        return search_all(
            SearchIndex(Workspace.open(path, read_only=True), location=Path(folder)), commit=commit
        )


def is_correct(index: SearchIndex, repo: Repo) -> bool:
    """Return True if an index at the tip returns exactly the results of a new index."""
    commit = Workspace.open(repo.path).tip()
    assert commit is not None
    return search_all(index, commit=commit) == search_all_in_new_index(repo.path, commit)


def move_branch(repo: Repo, commit: str) -> None:
    """Set the branch `main` to another commit, as a reset does, but faster than the git program."""
    ref = repo.path / ".git" / "refs" / "heads" / "main"
    draft = ref.with_name("main.draft")
    draft.write_text(commit + "\n")
    draft.replace(ref)


def find_location_folder(repo: Repo) -> Path:
    """Return the folder of the only index location in the Git directory."""
    [folder] = (repo.path / ".git" / "docyard" / "index").iterdir()
    return folder


def find_index_folder(repo: Repo) -> Path:
    """Return the folder of the current index."""
    return find_location_folder(repo) / str(
        json.loads((find_location_folder(repo) / "current").read_text())["index"]
    )


def list_orphans(repo: Repo) -> list[str]:
    """Return the names of files in or next to the index that do not belong to it.

    An index that is not closed writes `metadata.json` in a thread, up to half a second later. The lock of
    that file excludes such a thread.
    """
    manifest = read_index_manifest(find_index_folder(repo))
    with hold_lock(find_location_folder(repo) / "metadata-lock", 60):
        location_names = [entry.name for entry in find_location_folder(repo).iterdir()]
    index_names = [entry.name for entry in find_index_folder(repo).iterdir()]
    expected_names = {
        "lock",
        "current",
        "metadata.json",
        "metadata.sum",
        "metadata-lock",
        find_index_folder(repo).name,
    }
    return [name for name in location_names if name not in expected_names] + [
        name for name in index_names if name not in (f"{manifest.generation}.manifest", *manifest.files)
    ]
