"""Snapshots: a commit that can be read, and nothing that was not committed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.config import InvalidConfig, LimitExceeded
from workspace.git import GitReader
from workspace.snapshot import DocumentCache, DocumentNotFound, NotCommitted, Snapshot, changed_documents

pytestmark = pytest.mark.smoke


def snapshot(repo: Repo, previous: Snapshot | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head(), previous=previous)


def test_documents_are_listed_in_order_with_their_blobs(repo: Repo) -> None:
    repo.commit({"b.txt": "no", ".hidden/c.md": "no", "a.markdown": "yes", "A.md": "yes"})
    listed = snapshot(repo).documents
    assert list(listed) == ["A.md", "README.md", "a.markdown", "guides/deep/only.md", "guides/setup.md"]
    assert listed["A.md"] == repo.git("rev-parse", "HEAD:A.md").strip()


def test_an_unborn_branch_is_an_empty_workspace(tmp_path: Path) -> None:
    empty = Snapshot(GitReader(repositories.unborn(tmp_path / "r").path), None)
    assert (empty.tree, dict(empty.documents)) == (None, {})
    with pytest.raises(DocumentNotFound):
        empty.document("README.md")


def test_links_and_submodules_are_no_documents(repo: Repo, tmp_path: Path) -> None:
    os.symlink("README.md", repo.path / "link.md")
    other = repositories.normal(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub.md")
    repo.commit({})
    now = snapshot(repo)
    assert not {"link.md", "sub.md"} & set(now.documents)
    for path in ("link.md", "sub.md", "sub.md/README.md"):
        with pytest.raises(DocumentNotFound):
            now.document(path)


def test_only_commits_are_read(repo: Repo) -> None:
    repo.write({"README.md": "# Changed\n", "new.md": "# New\n"})
    now = snapshot(repo)
    assert now.document("README.md").title == "Example"
    with pytest.raises(NotCommitted):
        now.document("new.md")


def test_what_is_not_found_is_answered_with_the_nearest(repo: Repo) -> None:
    now = snapshot(repo)
    for path, candidates in (("guides/setpu.md", ["guides/setup.md"]), ("guides", ["guides/deep/only.md"])):
        with pytest.raises(DocumentNotFound) as caught:
            now.document(path)
        found = caught.value.details["candidates"]
        assert isinstance(found, list)
        assert found[0] == candidates[0]
    for path in ("", "x" * 5000, "../README.md", "/etc/passwd", "README.md/x", "\0", "a\ud800.md"):
        with pytest.raises(DocumentNotFound) as caught:
            now.document(path)
        assert len(caught.value.message) < 300


def test_settings_say_what_is_a_document(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\nexclude = ["deep"]\n'})
    assert list(snapshot(repo).documents) == ["guides/setup.md"]
    with pytest.raises(DocumentNotFound, match="no document of this workspace"):
        snapshot(repo).document("README.md")


def test_settings_that_cannot_be_read_are_said(repo: Repo) -> None:
    repo.commit({"docyard.toml": "root = ["})
    with pytest.raises(InvalidConfig):
        snapshot(repo).document("README.md")


def test_a_document_over_the_limit_is_not_read(repo: Repo) -> None:
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001})
    with pytest.raises(LimitExceeded):
        snapshot(repo).document("big.md")


def test_changed_documents(repo: Repo) -> None:
    before = snapshot(repo)
    repo.git("mv", "guides/setup.md", "moved.md")
    repo.commit({"README.md": "# Other\n", "x.txt": "no"})
    after = snapshot(repo, before)
    blob = before.documents["guides/setup.md"]
    changes = sorted(changed_documents(before, after), key=lambda change: change[0])
    assert [path for path, _, _ in changes] == ["README.md", "guides/setup.md", "moved.md"]
    assert ("guides/setup.md", blob, None) in changes
    assert ("moved.md", None, blob) in changes
    assert dict(after.documents) == dict(snapshot(repo).documents)
    repo.commit({"docyard.toml": 'exclude = ["guides"]\n'})
    narrowed = snapshot(repo, after)
    assert [(path, new) for path, _, new in changed_documents(after, narrowed)] == [
        ("guides/deep/only.md", None)
    ]


def test_a_listing_is_made_from_an_earlier_one(repo: Repo) -> None:
    latest = snapshot(repo)
    assert latest.documents
    for number in range(5):
        repo.commit({f"{number}.md": "# N\n"})
        latest = snapshot(repo, latest)
        if number % 2:
            assert f"{number}.md" in latest.documents
        # However many snapshots were never listed, at most one earlier one is kept alive.
        assert latest._previous is None or latest._previous._previous is None
    assert dict(latest.documents) == dict(snapshot(repo).documents)


def test_the_cache_is_bounded_by_bytes(repo: Repo) -> None:
    repo.commit({f"{number}.md": "x" * 10_000 for number in range(10)} | {"big.md": "x" * 60_000})
    cache = DocumentCache(50_000)
    now = Snapshot(GitReader(repo.path), repo.head(), cache)
    first = now.document("0.md")
    assert now.document("0.md") is first
    for number in range(10):
        now.document(f"{number}.md")
    assert now.document("0.md") is not first
    assert len(cache._documents) == 4
    last = now.document("9.md")
    now.document("big.md")
    assert now.document("9.md") is last
    assert cache._held <= 50_000
