"""Result lists of an index, compared with those of a fresh index of the same commit."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from index.service import SearchIndex
from index.storage.locking import hold_lock
from index.storage.manifest import read_manifest
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

List = list[tuple[str, float]]


def lists(index: SearchIndex, *, at: str | None) -> dict[str, tuple[bool, List]]:
    """Return for each query whether there are more hits, and ids and scores; check commit and stale."""
    found = {}
    for query in QUERIES:
        page = index.search(query, limit=50)
        assert (page.commit, page.is_stale) == (at, False)
        found[query] = page.next_cursor is not None, [(hit.chunk_id, hit.score) for hit in page.hits]
    return found


@cache
def fresh_lists(path: Path, commit: str) -> dict[str, tuple[bool, List]]:
    """Return the lists of a fresh index in its own folder, at the tip."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        return lists(SearchIndex(Workspace.open(path, read_only=True), location=Path(folder)), at=commit)


def is_correct(index: SearchIndex, repo: Repo) -> bool:
    """Return True if an index at the tip gives exactly the lists of a fresh index."""
    commit = Workspace.open(repo.path).tip()
    assert commit is not None
    return lists(index, at=commit) == fresh_lists(repo.path, commit)


def move(repo: Repo, commit: str) -> None:
    """Point the branch `main` to another commit, as a reset does, without the cost of the git program."""
    ref = repo.path / ".git" / "refs" / "heads" / "main"
    draft = ref.with_name("main.draft")
    draft.write_text(commit + "\n")
    draft.replace(ref)


def home(repo: Repo) -> Path:
    """Return the folder of the one index location in the Git directory."""
    [folder] = (repo.path / ".git" / "docyard" / "index").iterdir()
    return folder


def index_folder(repo: Repo) -> Path:
    """Return the folder of the current index."""
    return home(repo) / str(json.loads((home(repo) / "current").read_text())["index"])


def orphans(repo: Repo) -> list[str]:
    """List the files in or next to the index that are not part of it.

    An index that was not closed writes `metadata.json` in a thread, up to half a second later. Under the lock
    of that file no draft has a writer.
    """
    manifest = read_manifest(index_folder(repo))
    with hold_lock(home(repo) / "metadata-lock", 60):
        here = [entry.name for entry in home(repo).iterdir()]
    inside = [entry.name for entry in index_folder(repo).iterdir()]
    known = {"lock", "current", "metadata.json", "metadata.sum", "metadata-lock", index_folder(repo).name}
    return [name for name in here if name not in known] + [
        name for name in inside if name not in (f"{manifest.generation}.manifest", *manifest.files)
    ]
