"""Snapshots: the committed state, without uncommitted changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from workspace.errors import InvalidConfig, LimitExceeded
from workspace.git.reader import GitReader
from workspace.snapshot.snapshot import (
    DocumentCache,
    DocumentNotFound,
    NotCommitted,
    Snapshot,
    list_changed_documents,
    list_changed_files,
)

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


def test_symbolic_links_and_submodules_are_not_documents(repo: Repo, tmp_path: Path) -> None:
    os.symlink("README.md", repo.path / "link.md")
    other = repositories.normal(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub.md")
    repo.commit({})
    now = snapshot(repo)
    assert not {"link.md", "sub.md"} & set(now.documents)
    for path in ("link.md", "sub.md", "sub.md/README.md"):
        with pytest.raises(DocumentNotFound):
            now.document(path)


def test_uncommitted_changes_are_not_read(repo: Repo) -> None:
    repo.write({"README.md": "# Changed\n", "new.md": "# New\n"})
    now = snapshot(repo)
    assert now.document("README.md").title == "Example"
    with pytest.raises(NotCommitted):
        now.document("new.md")


def test_unknown_document_error_suggests_the_nearest(repo: Repo) -> None:
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


def test_settings_select_the_documents(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\nexclude = ["deep"]\n'})
    assert list(snapshot(repo).documents) == ["guides/setup.md"]
    with pytest.raises(DocumentNotFound, match="not a document of this workspace"):
        snapshot(repo).document("README.md")


def test_unchanged_settings_are_not_read_again(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\n'})
    before = snapshot(repo).config
    repo.commit({"guides/setup.md": "# Again\n"})
    assert snapshot(repo).config is before
    repo.commit({"docyard.toml": 'root = "other"\n'})
    assert snapshot(repo).config.root == "other"


def test_invalid_settings_are_an_error(repo: Repo) -> None:
    repo.commit({"docyard.toml": "root = ["})
    with pytest.raises(InvalidConfig):
        snapshot(repo).document("README.md")


def test_document_over_the_limit_is_refused(repo: Repo) -> None:
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001})
    with pytest.raises(LimitExceeded):
        snapshot(repo).document("big.md")


def test_changed_documents_are_listed_between_two_snapshots(repo: Repo) -> None:
    before = snapshot(repo)
    repo.git("mv", "guides/setup.md", "moved.md")
    repo.commit({"README.md": "# Other\n", "x.txt": "no"})
    after = snapshot(repo, before)
    blob = before.documents["guides/setup.md"]
    changes = sorted(list_changed_documents(before, after), key=lambda change: change[0])
    assert [path for path, _, _ in changes] == ["README.md", "guides/setup.md", "moved.md"]
    assert ("guides/setup.md", blob, None) in changes
    assert ("moved.md", None, blob) in changes
    assert dict(after.documents) == dict(snapshot(repo).documents)
    repo.commit({"docyard.toml": 'exclude = ["guides"]\n'})
    narrowed = snapshot(repo, after)
    assert [(path, new) for path, _, new in list_changed_documents(after, narrowed)] == [
        ("guides/deep/only.md", None)
    ]


def test_listing_is_derived_from_an_earlier_one(repo: Repo) -> None:
    latest = snapshot(repo)
    assert latest.documents
    for number in range(5):
        repo.commit({f"{number}.md": "# N\n"})
        latest = snapshot(repo, latest)
        if number % 2:
            assert f"{number}.md" in latest.documents
        # At most one earlier snapshot is referenced, even if many were never listed.
        assert latest._previous is None or latest._previous._previous is None
    assert dict(latest.documents) == dict(snapshot(repo).documents)


def test_document_cache_is_bounded_by_bytes(repo: Repo) -> None:
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
    assert cache._documents.size <= 50_000


DECLARED = "[taxonomy.language]\n"
GO, JAVA = "[metadata]\nlanguage = 'go'\n", "[metadata]\nlanguage = 'java'\n"


def test_manifests_are_listed_separately_from_documents(repo: Repo) -> None:
    repo.commit({"docyard.toml": DECLARED, ".taxonomy.toml": GO, "guides/.taxonomy.toml": JAVA})
    os.symlink(".taxonomy.toml", repo.path / "guides" / "deep" / ".taxonomy.toml")
    first = snapshot(repo)
    assert list(first.manifests) == [".taxonomy.toml", "guides/.taxonomy.toml"]
    assert not set(first.manifests) & set(first.documents)
    repo.git("mv", "guides/.taxonomy.toml", "guides/deep/.taxonomy.toml", "-f")
    repo.commit({"x.md": "# X\n"})
    later = snapshot(repo, first)
    assert list(later.manifests) == [".taxonomy.toml", "guides/deep/.taxonomy.toml"]
    assert later.manifests == snapshot(repo).manifests
    assert [(path, bool(old), bool(new)) for path, old, new in list_changed_files(first, later)] == [
        ("x.md", False, True),
        ("guides/.taxonomy.toml", True, False),
        ("guides/deep/.taxonomy.toml", False, True),
    ]


@pytest.mark.parametrize("is_listed", [True, False])
def test_taxonomy_values_are_equal_with_and_without_a_listing(repo: Repo, is_listed: bool) -> None:
    repo.commit({"docyard.toml": DECLARED, ".taxonomy.toml": GO, "guides/.taxonomy.toml": JAVA})
    now = snapshot(repo)
    if is_listed:
        assert now.documents
    assert now.taxonomy.values("README.md", {}) == {"language": ("go",)}
    assert now.taxonomy.values("guides/deep/only.md", {}) == {"language": ("java",)}
    assert now.taxonomy.values("guides/deep/only.md", {"language": "c"}) == {"language": ("c",)}
    assert now.taxonomy.keys == {"language": None, "type": None, "tags": None}
    assert not is_listed or now.manifest_problems() == []


def test_invalid_manifest_sets_no_values_and_is_reported(
    repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    repo.commit(
        {
            "docyard.toml": DECLARED,
            ".taxonomy.toml": GO,
            "guides/.taxonomy.toml": "[metadata]\nlanguage = 'java'\nscope = 'x'\n",
            "guides/deep/.taxonomy.toml": "[[override]]\n",
        }
    )
    for _ in range(2):  # as each new commit does
        now = snapshot(repo)
        # An invalid manifest still overrides the one above it.
        assert now.taxonomy.values("guides/setup.md", {}) == {}
    assert [record.getMessage()[:30] for record in caplog.records] == ["guides/.taxonomy.toml, line 3:"]
    assert [(error.details["path"], error.details["line"]) for error in now.manifest_problems()] == [
        ("guides/.taxonomy.toml", 3),
        ("guides/deep/.taxonomy.toml", 1),
    ]


def test_settings_with_equal_selection_need_no_new_listing(repo: Repo) -> None:
    first = snapshot(repo)
    assert first.documents
    repo.commit({"docyard.toml": DECLARED, "x.md": "# X\n"})
    later = snapshot(repo, first)
    assert [path for path, _, _ in list_changed_documents(first, later)] == ["x.md"]
    assert "_listing" not in vars(later)
    assert dict(later.documents) == dict(snapshot(repo).documents)
