"""A document that Git cannot read is omitted and reported, and indexed when it is readable again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from index.cursors import StaleCursor
from index.service import SearchIndex
from tests.index.lists import is_correct
from tests.repositories import Repo
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]
LOST = "guides/limits.md"


def snapshot(repo: Repo) -> Snapshot:
    return Workspace.open(repo.path).snapshot()


def loose(repo: Repo, path: str) -> Path:
    """Return the file of a document's blob."""
    blob = repo.git("rev-parse", f"HEAD:{path}").strip()
    return repo.path / ".git" / "objects" / blob[:2] / blob[2:]


def spoil(file: Path, harm: str) -> bytes:
    """Damage an object, and return its original bytes."""
    data = file.read_bytes()
    file.chmod(0o644)
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "cut": data[:-3], "changed": data[:20] + b"\0" + data[21:]}[harm])
    return data


@pytest.mark.parametrize("harm", ["missing", "empty", "cut", "changed"])
def test_unreadable_document_is_omitted_and_reported(open_index: Open, repo: Repo, harm: str) -> None:
    file = loose(repo, LOST)
    original_data = spoil(file, harm)
    index = open_index()
    page = index.search("errors retry", limit=1)
    assert page.unreadable == (LOST,)
    assert page.commit == repo.head()
    assert [hit.filepath for hit in index.search("errors", limit=50).hits] == ["guides/retries.md"]
    state = index.status().state
    assert state is not None
    assert (state.files, list(state.unreadable)) == (4, [LOST])
    assert open_index().search("errors").unreadable == (LOST,)

    file.write_bytes(original_data)
    restored_page = index.search("errors", limit=50)
    assert (restored_page.unreadable, restored_page.commit) == ((), repo.head())
    assert LOST in [hit.filepath for hit in restored_page.hits]
    assert is_correct(open_index(), repo)
    with pytest.raises(StaleCursor):
        index.search("errors retry", cursor=page.next_cursor)


def test_unreadable_document_is_retried_at_each_commit(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    repo.commit({LOST: "# Limits\n\nA quagga.\n"})
    whole = spoil(loose(repo, LOST), "missing")
    assert index.search("quagga").unreadable == (LOST,)
    repo.write({"notes/new.md": "# New\n\nAn okapi.\n"})
    repo.git("add", "notes/new.md")
    repo.git("commit", "-q", "-m", "Another")
    page = index.search("okapi")
    assert (len(page.hits), page.unreadable) == (1, (LOST,))
    loose(repo, LOST).write_bytes(whole)
    repo.commit({"notes/new.md": "# New\n"})
    assert len(index.search("quagga").hits) == 1
    assert is_correct(index, repo)


def test_unreadable_manifest_sets_no_metadata_until_rebuild(open_index: Open, repo: Repo) -> None:
    manifest = "guides/.taxonomy.toml"
    repo.commit({manifest: "[metadata]\ntype = 'guide'\n", "guides/new.md": "# New\n\nAn okapi.\n"})
    whole = spoil(loose(repo, manifest), "missing")
    index = open_index()
    page = index.search("okapi")
    assert (page.unreadable, page.hits[0].metadata) == ((), {})
    index.rebuild()
    assert index.search("okapi").hits[0].metadata == {}
    assert [error.details["path"] for error in snapshot(repo).find_manifest_problems()] == [manifest]

    loose(repo, manifest).write_bytes(whole)
    index = open_index()
    index.rebuild()
    assert index.search("okapi").hits[0].metadata == {"type": "guide"}


def test_deleted_document_is_no_longer_reported_as_unreadable(index: SearchIndex, repo: Repo) -> None:
    spoil(loose(repo, LOST), "missing")
    assert index.search("jitter").unreadable == (LOST,)
    repo.git("rm", "-q", "--cached", LOST)
    repo.git("commit", "-q", "-m", "Removed")
    page = index.search("jitter")
    assert page.unreadable == ()
    assert index.status().state.files == 3  # type: ignore[union-attr]
    assert is_correct(index, repo)


def test_blob_lost_after_indexing_is_shown_by_its_heading(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    spoil(loose(repo, "guides/retries.md"), "missing")
    [hit] = index.search("thundering herds").hits
    assert (hit.chunk_id, hit.snippet) == ("guides/retries.md#backoff/jitter", "Jitter")
