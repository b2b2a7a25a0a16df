"""Snapshots contain the committed state, without uncommitted changes."""

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


def take_snapshot(repo: Repo, previous: Snapshot | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), repo.head(), previous=previous)


def test_documents_are_listed_in_order_with_their_blobs(repo: Repo) -> None:
    repo.commit({"b.txt": "no", ".hidden/c.md": "no", "a.markdown": "yes", "A.md": "yes"})
    documents = take_snapshot(repo).documents
    assert list(documents) == ["A.md", "README.md", "a.markdown", "guides/deep/only.md", "guides/setup.md"]
    assert documents["A.md"] == repo.git("rev-parse", "HEAD:A.md").strip()


def test_unborn_branch_is_an_empty_workspace(tmp_path: Path) -> None:
    empty_snapshot = Snapshot(GitReader(repositories.create_empty_repository(tmp_path / "r").path), None)
    assert (empty_snapshot.tree, dict(empty_snapshot.documents)) == (None, {})
    with pytest.raises(DocumentNotFound):
        empty_snapshot.document("README.md")


def test_symbolic_links_and_submodules_are_not_documents(repo: Repo, tmp_path: Path) -> None:
    os.symlink("README.md", repo.path / "link.md")
    other_repo = repositories.create_repository(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other_repo.path), "sub.md")
    repo.commit({})
    new_snapshot = take_snapshot(repo)
    assert not {"link.md", "sub.md"} & set(new_snapshot.documents)
    for path in ("link.md", "sub.md", "sub.md/README.md"):
        with pytest.raises(DocumentNotFound):
            new_snapshot.document(path)


def test_uncommitted_changes_are_not_read(repo: Repo) -> None:
    repo.write({"README.md": "# Changed\n", "new.md": "# New\n"})
    new_snapshot = take_snapshot(repo)
    assert new_snapshot.document("README.md").title == "Example"
    with pytest.raises(NotCommitted):
        new_snapshot.document("new.md")


def test_unknown_document_error_suggests_the_nearest_path(repo: Repo) -> None:
    new_snapshot = take_snapshot(repo)
    for path, candidates in (("guides/setpu.md", ["guides/setup.md"]), ("guides", ["guides/deep/only.md"])):
        with pytest.raises(DocumentNotFound) as error_info:
            new_snapshot.document(path)
        suggestions = error_info.value.details["candidates"]
        assert isinstance(suggestions, list)
        assert suggestions[0] == candidates[0]
    for path in ("", "x" * 5000, "../README.md", "/etc/passwd", "README.md/x", "\0", "a\ud800.md"):
        with pytest.raises(DocumentNotFound) as error_info:
            new_snapshot.document(path)
        assert len(error_info.value.message) < 300


def test_settings_select_the_documents(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\nexclude = ["deep"]\n'})
    assert list(take_snapshot(repo).documents) == ["guides/setup.md"]
    with pytest.raises(DocumentNotFound, match="not a document of this workspace"):
        take_snapshot(repo).document("README.md")


def test_unchanged_settings_are_not_read_again(repo: Repo) -> None:
    repo.commit({"docyard.toml": 'root = "guides"\n'})
    old_config = take_snapshot(repo).config
    repo.commit({"guides/setup.md": "# Again\n"})
    assert take_snapshot(repo).config is old_config
    repo.commit({"docyard.toml": 'root = "other"\n'})
    assert take_snapshot(repo).config.root == "other"


def test_invalid_settings_are_an_error(repo: Repo) -> None:
    repo.commit({"docyard.toml": "root = ["})
    with pytest.raises(InvalidConfig):
        take_snapshot(repo).document("README.md")


def test_document_over_the_limit_is_refused(repo: Repo) -> None:
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001})
    with pytest.raises(LimitExceeded):
        take_snapshot(repo).document("big.md")


def test_changed_documents_are_listed_between_two_snapshots(repo: Repo) -> None:
    snapshot_before = take_snapshot(repo)
    repo.git("mv", "guides/setup.md", "moved.md")
    repo.commit({"README.md": "# Other\n", "x.txt": "no"})
    snapshot_after = take_snapshot(repo, snapshot_before)
    blob = snapshot_before.documents["guides/setup.md"]
    changes = sorted(list_changed_documents(snapshot_before, snapshot_after), key=lambda change: change[0])
    assert [path for path, _, _ in changes] == ["README.md", "guides/setup.md", "moved.md"]
    assert ("guides/setup.md", blob, None) in changes
    assert ("moved.md", None, blob) in changes
    assert dict(snapshot_after.documents) == dict(take_snapshot(repo).documents)
    repo.commit({"docyard.toml": 'exclude = ["guides"]\n'})
    narrow_snapshot = take_snapshot(repo, snapshot_after)
    assert [(path, new) for path, _, new in list_changed_documents(snapshot_after, narrow_snapshot)] == [
        ("guides/deep/only.md", None)
    ]


def test_listing_is_derived_from_an_earlier_listing(repo: Repo) -> None:
    snapshot = take_snapshot(repo)
    assert snapshot.documents
    for number in range(5):
        repo.commit({f"{number}.md": "# N\n"})
        snapshot = take_snapshot(repo, snapshot)
        if number % 2:
            assert f"{number}.md" in snapshot.documents
        # At most one earlier snapshot is referenced, even if many were never listed.
        assert snapshot._previous is None or snapshot._previous._previous is None
    assert dict(snapshot.documents) == dict(take_snapshot(repo).documents)


def test_document_cache_is_bounded_by_bytes(repo: Repo) -> None:
    repo.commit({f"{number}.md": "x" * 10_000 for number in range(10)} | {"big.md": "x" * 60_000})
    cache = DocumentCache(50_000)
    snapshot = Snapshot(GitReader(repo.path), repo.head(), cache)
    first_document = snapshot.document("0.md")
    assert snapshot.document("0.md") is first_document
    for number in range(10):
        snapshot.document(f"{number}.md")
    assert snapshot.document("0.md") is not first_document
    assert len(cache._documents) == 4
    last_document = snapshot.document("9.md")
    snapshot.document("big.md")
    assert snapshot.document("9.md") is last_document
    assert cache._documents.total_weight <= 50_000


LANGUAGE_KEY = "[taxonomy.language]\n"
GO_MANIFEST, JAVA_MANIFEST = "[metadata]\nlanguage = 'go'\n", "[metadata]\nlanguage = 'java'\n"


def test_manifests_are_listed_separately_from_documents(repo: Repo) -> None:
    repo.commit(
        {"docyard.toml": LANGUAGE_KEY, ".taxonomy.toml": GO_MANIFEST, "guides/.taxonomy.toml": JAVA_MANIFEST}
    )
    os.symlink(".taxonomy.toml", repo.path / "guides" / "deep" / ".taxonomy.toml")
    first_snapshot = take_snapshot(repo)
    assert list(first_snapshot.manifests) == [".taxonomy.toml", "guides/.taxonomy.toml"]
    assert not set(first_snapshot.manifests) & set(first_snapshot.documents)
    repo.git("mv", "guides/.taxonomy.toml", "guides/deep/.taxonomy.toml", "-f")
    repo.commit({"x.md": "# X\n"})
    later_snapshot = take_snapshot(repo, first_snapshot)
    assert list(later_snapshot.manifests) == [".taxonomy.toml", "guides/deep/.taxonomy.toml"]
    assert later_snapshot.manifests == take_snapshot(repo).manifests
    assert [
        (path, bool(old), bool(new)) for path, old, new in list_changed_files(first_snapshot, later_snapshot)
    ] == [
        ("x.md", False, True),
        ("guides/.taxonomy.toml", True, False),
        ("guides/deep/.taxonomy.toml", False, True),
    ]


@pytest.mark.parametrize("is_listed", [True, False])
def test_taxonomy_values_are_equal_with_and_without_a_listing(repo: Repo, is_listed: bool) -> None:
    repo.commit(
        {"docyard.toml": LANGUAGE_KEY, ".taxonomy.toml": GO_MANIFEST, "guides/.taxonomy.toml": JAVA_MANIFEST}
    )
    new_snapshot = take_snapshot(repo)
    if is_listed:
        assert new_snapshot.documents
    assert new_snapshot.taxonomy.values("README.md", {}) == {"language": ("go",)}
    assert new_snapshot.taxonomy.values("guides/deep/only.md", {}) == {"language": ("java",)}
    assert new_snapshot.taxonomy.values("guides/deep/only.md", {"language": "c"}) == {"language": ("c",)}
    assert new_snapshot.taxonomy.keys == {"language": None, "type": None, "tags": None}
    assert not is_listed or new_snapshot.find_manifest_problems() == []


def test_invalid_manifest_sets_no_values_and_is_reported(
    repo: Repo, caplog: pytest.LogCaptureFixture
) -> None:
    repo.commit(
        {
            "docyard.toml": LANGUAGE_KEY,
            ".taxonomy.toml": GO_MANIFEST,
            "guides/.taxonomy.toml": "[metadata]\nlanguage = 'java'\nscope = 'x'\n",
            "guides/deep/.taxonomy.toml": "[[override]]\n",
        }
    )
    for _ in range(2):  # each new snapshot reads the manifests again
        new_snapshot = take_snapshot(repo)
        # An invalid manifest still overrides the manifest of the folder above.
        assert new_snapshot.taxonomy.values("guides/setup.md", {}) == {}
    assert [record.getMessage()[:30] for record in caplog.records] == ["guides/.taxonomy.toml, line 3:"]
    assert [
        (error.details["path"], error.details["line"]) for error in new_snapshot.find_manifest_problems()
    ] == [
        ("guides/.taxonomy.toml", 3),
        ("guides/deep/.taxonomy.toml", 1),
    ]


def test_settings_with_equal_selection_need_no_new_listing(repo: Repo) -> None:
    first_snapshot = take_snapshot(repo)
    assert first_snapshot.documents
    repo.commit({"docyard.toml": LANGUAGE_KEY, "x.md": "# X\n"})
    later_snapshot = take_snapshot(repo, first_snapshot)
    assert [path for path, _, _ in list_changed_documents(first_snapshot, later_snapshot)] == ["x.md"]
    assert "_listing" not in vars(later_snapshot)
    assert dict(later_snapshot.documents) == dict(take_snapshot(repo).documents)
