"""Documents that Git cannot read: they are omitted and reported, and indexed when they are readable again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from index.cursors import StaleCursor
from index.service import SearchIndex
from tests.index.index_checks import is_correct
from tests.repositories import Repo
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

OpenIndex = Callable[[], SearchIndex]
LOST_PATH = "guides/limits.md"


def open_snapshot(repo: Repo) -> Snapshot:
    return Workspace.open(repo.path).snapshot()


def find_loose_object(repo: Repo, path: str) -> Path:
    """Return the object file of the blob of a document."""
    blob = repo.git("rev-parse", f"HEAD:{path}").strip()
    return repo.path / ".git" / "objects" / blob[:2] / blob[2:]


def damage_object(file: Path, damage: str) -> bytes:
    """Damage an object, and return its original bytes."""
    data = file.read_bytes()
    file.chmod(0o644)
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(
            {"empty": b"", "truncated": data[:-3], "changed": data[:20] + b"\0" + data[21:]}[damage]
        )
    return data


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "changed"])
def test_unreadable_document_is_omitted_and_reported(open_index: OpenIndex, repo: Repo, damage: str) -> None:
    file = find_loose_object(repo, LOST_PATH)
    original_data = damage_object(file, damage)
    index = open_index()
    page = index.search("errors retry", limit=1)
    assert page.unreadable == (LOST_PATH,)
    assert page.commit == repo.head()
    assert [hit.filepath for hit in index.search("errors", limit=50).hits] == ["guides/retries.md"]
    state = index.status().state
    assert state is not None
    assert (state.files, list(state.unreadable)) == (4, [LOST_PATH])
    assert open_index().search("errors").unreadable == (LOST_PATH,)

    file.write_bytes(original_data)
    restored_page = index.search("errors", limit=50)
    assert (restored_page.unreadable, restored_page.commit) == ((), repo.head())
    assert LOST_PATH in [hit.filepath for hit in restored_page.hits]
    assert is_correct(open_index(), repo)
    with pytest.raises(StaleCursor):
        index.search("errors retry", cursor=page.next_cursor)


def test_unreadable_document_is_retried_at_each_commit(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    repo.commit({LOST_PATH: "# Limits\n\nA quagga.\n"})
    original_data = damage_object(find_loose_object(repo, LOST_PATH), "missing")
    assert index.search("quagga").unreadable == (LOST_PATH,)
    repo.write({"notes/new.md": "# New\n\nAn okapi.\n"})
    repo.git("add", "notes/new.md")
    repo.git("commit", "-q", "-m", "Another")
    page = index.search("okapi")
    assert (len(page.hits), page.unreadable) == (1, (LOST_PATH,))
    find_loose_object(repo, LOST_PATH).write_bytes(original_data)
    repo.commit({"notes/new.md": "# New\n"})
    assert len(index.search("quagga").hits) == 1
    assert is_correct(index, repo)


def test_unreadable_manifest_sets_no_metadata_until_rebuild(open_index: OpenIndex, repo: Repo) -> None:
    manifest = "guides/.taxonomy.toml"
    repo.commit({manifest: "[metadata]\ntype = 'guide'\n", "guides/new.md": "# New\n\nAn okapi.\n"})
    original_data = damage_object(find_loose_object(repo, manifest), "missing")
    index = open_index()
    page = index.search("okapi")
    assert (page.unreadable, page.hits[0].metadata) == ((), {})
    index.rebuild()
    assert index.search("okapi").hits[0].metadata == {}
    assert [error.details["path"] for error in open_snapshot(repo).find_manifest_problems()] == [manifest]

    find_loose_object(repo, manifest).write_bytes(original_data)
    index = open_index()
    index.rebuild()
    assert index.search("okapi").hits[0].metadata == {"type": "guide"}


def test_deleted_document_is_no_longer_reported_as_unreadable(index: SearchIndex, repo: Repo) -> None:
    damage_object(find_loose_object(repo, LOST_PATH), "missing")
    assert index.search("jitter").unreadable == (LOST_PATH,)
    repo.git("rm", "-q", "--cached", LOST_PATH)
    repo.git("commit", "-q", "-m", "Removed")
    page = index.search("jitter")
    assert page.unreadable == ()
    assert index.status().state.files == 3  # type: ignore[union-attr]
    assert is_correct(index, repo)


def test_snippet_of_section_with_missing_blob_is_its_heading(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    damage_object(find_loose_object(repo, "guides/retries.md"), "missing")
    [hit] = index.search("thundering herds").hits
    assert (hit.chunk_id, hit.snippet) == ("guides/retries.md#backoff/jitter", "Jitter")
