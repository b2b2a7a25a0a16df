"""The difference between two commits: changed documents, and documents with changed manifest values."""

from __future__ import annotations

from random import Random

import pytest

from index import source as difference_module
from index.service import SearchIndex
from index.source import Difference, diff_snapshots
from tests.repositories import Repo
from workspace.git.reader import GitReader
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

KEYS_SETTINGS = "[taxonomy.language]\n[taxonomy.scope]\n"


def open_snapshot(repo: Repo, commit: str | None = None) -> Snapshot:
    return Snapshot(GitReader(repo.path), commit or repo.head())


def diff_from_commit(repo: Repo, base_commit: str) -> Difference | None:
    return diff_snapshots(open_snapshot(repo, base_commit), open_snapshot(repo))


def find_updated_paths(repo: Repo, base_commit: str) -> list[str]:
    difference = diff_from_commit(repo, base_commit)
    assert difference is not None
    return sorted(difference.upserts)


@pytest.fixture
def base_commit(repo: Repo) -> str:
    return repo.commit({"docyard.toml": KEYS_SETTINGS, "a.md": "# A\n", "guides/deep/b.md": "# B\n"})


def test_difference_lists_changed_and_deleted_documents(repo: Repo, base_commit: str) -> None:
    repo.git("rm", "-q", "guides/limits.md")
    repo.commit({"a.md": "# Other\n", "c.md": "# C\n"})
    difference = diff_from_commit(repo, base_commit)
    assert difference == Difference(
        {path: open_snapshot(repo).documents[path] for path in ("a.md", "c.md")}, ("guides/limits.md",)
    )


def test_changed_manifest_updates_only_documents_with_new_values(repo: Repo, base_commit: str) -> None:
    repo.commit({"guides/.taxonomy.toml": "[metadata]\nlanguage = 'go'\n"})
    paths_below = ["guides/deep/b.md", "guides/limits.md", "guides/retries.md"]
    assert find_updated_paths(repo, base_commit) == paths_below

    earlier_commit = repo.commit({"guides/deep/.taxonomy.toml": "[metadata]\nlanguage = 'go'\n"})
    assert find_updated_paths(repo, base_commit) == paths_below

    repo.commit({"guides/.taxonomy.toml": "# other words\n[metadata]\nlanguage = 'go'\n"})
    assert find_updated_paths(repo, earlier_commit) == []

    override = "[[override]]\nmatch = 'l*'\nmetadata = { scope = 'x' }\n"
    repo.commit({"guides/.taxonomy.toml": f"[metadata]\nlanguage = 'go'\n{override}"})
    assert find_updated_paths(repo, earlier_commit) == ["guides/limits.md"]

    earlier_commit = repo.head()
    repo.git("rm", "-q", "guides/.taxonomy.toml")
    repo.commit({})
    assert find_updated_paths(repo, earlier_commit) == ["guides/limits.md", "guides/retries.md"]


def test_root_manifest_updates_all_documents_it_governs(repo: Repo, base_commit: str) -> None:
    repo.commit({".taxonomy.toml": "[metadata]\nscope = 'x'\n", "guides/deep/.taxonomy.toml": ""})
    assert find_updated_paths(repo, base_commit) == [
        path for path in open_snapshot(repo).documents if path != "guides/deep/b.md"
    ]


@pytest.mark.parametrize(
    ("settings", "is_rebuilt"),
    [
        (KEYS_SETTINGS + "[taxonomy.more]\n", True),
        ("[taxonomy.language]\n", True),
        (KEYS_SETTINGS + "[limits]\ndocument_bytes = 5000\n", True),
        (KEYS_SETTINGS + "[limits]\nheadings = 500\n", True),
        (KEYS_SETTINGS + "description = 'other words'\n", False),
        ("[taxonomy.scope]\n[taxonomy.language]\n", False),
        (KEYS_SETTINGS + "[corpus]\ndescription = 'All'\n", False),
    ],
)
def test_only_settings_that_change_parsing_require_a_rebuild(
    repo: Repo, base_commit: str, settings: str, is_rebuilt: bool
) -> None:
    repo.commit({"docyard.toml": settings})
    difference = diff_from_commit(repo, base_commit)
    assert difference is None if is_rebuilt else difference == Difference({}, ())


def test_documents_excluded_by_settings_are_deleted(repo: Repo, base_commit: str) -> None:
    repo.commit({"docyard.toml": 'exclude = ["guides"]\n' + KEYS_SETTINGS})
    assert diff_from_commit(repo, base_commit) == Difference(
        {}, ("guides/deep/b.md", "guides/limits.md", "guides/retries.md")
    )


def test_over_a_third_of_changed_documents_and_over_the_limit_require_a_rebuild(
    repo: Repo, base_commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.md": "# Other\n", "guides/limits.md": "# Other\n", "notes/plain.md": "# Other\n"})
    assert find_updated_paths(repo, base_commit) == ["a.md", "guides/limits.md", "notes/plain.md"]
    monkeypatch.setattr(difference_module, "_MAX_INCREMENTAL_DOCUMENTS", 2)
    assert diff_from_commit(repo, base_commit) is None


def test_changed_description_updates_metadata_without_indexing(repo: Repo, base_commit: str) -> None:
    index = SearchIndex(Workspace.open(repo.path))
    index.update_to_tip()
    segments = index.status().segments
    repo.commit({"docyard.toml": "[taxonomy.language]\ndescription = 'By language.'\n[taxonomy.scope]\n"})
    index.update_to_tip()
    metadata = index.metadata()
    assert metadata is not None
    assert metadata.taxonomy["language"].description == "By language."
    assert metadata.stats.source_commit == repo.head()
    assert index.status().segments == segments


def collect_sections(index: SearchIndex) -> tuple[object, object]:
    """Return each section with its values, and the values of each key with their counts."""
    hits = index.search("common", limit=50).hits
    return sorted((hit.chunk_id, tuple(hit.metadata.items())) for hit in hits), {
        key: dict(values) for key, values in index.count_taxonomy_values().items()
    }


@pytest.mark.parametrize("seed", range(4))
def test_incrementally_updated_index_equals_rebuilt_index(repo: Repo, seed: int) -> None:
    """Change documents, manifests and settings at random; at the end both indexes must be equal."""
    rng = Random(seed)
    folders = ("", "guides/", "guides/deep/", "notes/")
    repo.commit({"docyard.toml": KEYS_SETTINGS})
    index = SearchIndex(Workspace.open(repo.path))
    index.update_to_tip()
    for _ in range(10):
        values = [f"{key} = '{rng.choice('xyz')}'" for key in ("language", "scope") if rng.random() < 0.6]
        folder = rng.choice(folders)
        document = "\n".join(
            ("---", *(line.replace(" =", ":") for line in values), "---", "# T", "", "common")
        )
        manifest = "\n".join(["[metadata]", *values])
        if rng.random() < 0.4:
            manifest += "\n[[override]]\nmatch = '*deep'\nmetadata = { scope = 'o' }\n"
        match rng.randrange(6):
            case 0 | 1:
                repo.commit({f"{folder}{rng.choice('ab')}.md": document})
            case 2 | 3 | 4:
                repo.commit({f"{folder}.taxonomy.toml": rng.choice((manifest, manifest, "[broken"))})
            case _:
                (repo.path / folder / ".taxonomy.toml").unlink(missing_ok=True)
                settings = rng.choice(
                    (KEYS_SETTINGS, "[taxonomy.scope]\n", 'exclude = ["notes"]\n' + KEYS_SETTINGS)
                )
                repo.commit({"docyard.toml": settings})
        if rng.random() < 0.7:
            index.update_to_tip()
    incremental_sections = collect_sections(index)
    assert index.rebuild() == repo.head()
    assert collect_sections(index) == incremental_sections
