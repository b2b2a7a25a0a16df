"""Builds of artifacts: incremental builds equal full builds, and the artifact is always complete."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from index.artifacts.artifact import open_artifact
from index.artifacts.build import (
    LOCK_FILE,
    ArtifactBuild,
    ArtifactUnwritable,
    BuildBusy,
    OutputFolderOccupied,
    build_artifact,
)
from index.artifacts.contents import (
    ContentFilter,
    UnreadableFolder,
    read_commit_contents,
    read_folder_contents,
)
from index.artifacts.manifest import read_artifact_manifest, read_metadata_bytes
from index.artifacts.objects import MAX_PACKS, choose_packs
from index.artifacts.search_index import ArtifactSearchIndex
from index.service import SearchIndex
from index.storage.locking import hold_lock
from tests.index.conftest import GUIDES
from tests.index.index_checks import QUERIES, RankedIds
from tests.index.storage.test_crashes import kill_self, raise_disk_full, run_in_fork, stop_at
from tests.repositories import Repo
from workspace.config.taxonomy import InvalidManifest
from workspace.git.reader import GitReader

KEY = bytes(range(32))
MANY_DOCUMENTS = {f"bulk/{number:03}.md": f"# Page {number}\n\nWombat {number}.\n" for number in range(60)}

MAX_BUILD_STEPS = 100
"""A number of changes of the folder that no build reaches."""

FAULT_COUNT = 24
"""The number of steps at which a full disk is simulated, each in its own build."""


@pytest.fixture
def artifact_folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


def build_from_commit(
    repo: Repo,
    artifact_folder: Path,
    key: bytes | None = KEY,
    taxonomy: Mapping[str, str | None] = {},
    **options: str,
) -> ArtifactBuild:
    contents = read_commit_contents(GitReader(repo.path), repo.head(), "docs", ContentFilter())
    return build_artifact(contents, artifact_folder, key=key, taxonomy=taxonomy, durable=False, **options)  # type: ignore[arg-type]


def rank_all_queries(index: SearchIndex) -> Mapping[str, RankedIds]:
    return {
        query: [(hit.chunk_id, hit.score) for hit in index.search(query, limit=50).hits] for query in QUERIES
    }


def rank_all_in_artifact(artifact_folder: Path, key: bytes | None = KEY) -> Mapping[str, RankedIds]:
    index = ArtifactSearchIndex(open_artifact(artifact_folder, key))
    try:
        return rank_all_queries(index)
    finally:
        index.close()


def read_metadata_without_time(artifact_folder: Path) -> dict[str, object]:
    """Return the data of `metadata.json` without `indexed_at`."""
    metadata = json.loads((artifact_folder / "metadata.json").read_bytes())
    del metadata["stats"]["indexed_at"]
    return dict(metadata)


def list_files(artifact_folder: Path) -> set[str]:
    return {
        path.relative_to(artifact_folder).as_posix() for path in artifact_folder.rglob("*") if path.is_file()
    }


def test_artifact_contains_only_listed_files(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    manifest = open_artifact(artifact_folder, KEY).manifest
    [name] = [path.name for path in artifact_folder.glob("*.manifest")]
    assert list_files(artifact_folder) == {*manifest.files, name, "metadata.json"}
    assert {Path(file).suffix for file in manifest.files} == {".flat", ".pack", ".idx"}


def test_artifact_returns_the_results_of_the_repository(
    repo: Repo, artifact_folder: Path, index: SearchIndex
) -> None:
    build_from_commit(repo, artifact_folder)
    assert rank_all_in_artifact(artifact_folder) == rank_all_queries(index)
    assert read_metadata_without_time(artifact_folder)["stats"] == {
        "total_chunks": 8,
        "total_files": 4,
        "source_commit": repo.head(),
    }
    assert read_metadata_without_time(artifact_folder)["corpus_description"] == "documentation of docs"


def test_same_input_gives_the_same_artifact(repo: Repo, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    trees = {
        build_from_commit(repo, folder, description="Guides", taxonomy={"area": None}).tree
        for folder in (first, second)
    }
    assert len(trees) == 1
    assert read_metadata_without_time(first) == read_metadata_without_time(second)
    assert rank_all_in_artifact(first) == rank_all_in_artifact(second)


def test_artifact_of_folder_equals_that_of_commit(repo: Repo, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "docs"
    shutil.copytree(repo.path, copy, ignore=shutil.ignore_patterns(".git"))
    from_commit = build_from_commit(repo, tmp_path / "one")
    from_folder = build_artifact(read_folder_contents(copy, ContentFilter()), tmp_path / "two", key=KEY)
    assert from_commit.tree == from_folder.tree
    assert rank_all_in_artifact(tmp_path / "one") == rank_all_in_artifact(tmp_path / "two")
    assert from_folder.metadata.stats.source_commit is None


def test_build_reports_progress_of_storing_and_indexing(repo: Repo, artifact_folder: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    contents = read_commit_contents(
        GitReader(repo.path), repo.commit(MANY_DOCUMENTS), "docs", ContentFilter()
    )
    build_artifact(contents, artifact_folder, progress=lambda *report: reports.append(report), durable=False)
    assert {message for _, _, message in reports} >= {"Storing documents", "Indexing documents"}
    assert all(0 <= completed <= total for completed, total, _ in reports)


def test_unchanged_documents_are_reused(repo: Repo, artifact_folder: Path) -> None:
    repo.commit(MANY_DOCUMENTS)
    assert build_from_commit(repo, artifact_folder).indexed_count == len(MANY_DOCUMENTS) + len(GUIDES)
    before = list_files(artifact_folder)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    assert build_from_commit(repo, artifact_folder).indexed_count == 1
    added_suffixes = sorted(path.rpartition(".")[2] for path in list_files(artifact_folder) - before)
    assert added_suffixes == ["flat", "idx", "manifest", "pack"]


@pytest.mark.parametrize("seed", range(3))
def test_incremental_builds_equal_a_full_build(repo: Repo, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    artifact_folder = tmp_path / "out"
    build_from_commit(repo, artifact_folder)
    for step in range(8):
        name = f"notes/{rng.randrange(6)}.md"
        if rng.random() < 0.3 and (repo.path / name).exists():
            (repo.path / name).unlink()
            repo.commit({})
        elif rng.random() < 0.2:
            repo.commit({".taxonomy.toml": f'[metadata]\ntype = "kind{step}"\n'})
        else:
            words = " ".join(rng.choices(["quagga", "okapi", "wombat", "retry", "errors"], k=20))
            repo.commit({name: f"# Note {step}\n\n## Errors\n\n{words}\n"})
        build_from_commit(repo, artifact_folder)
    full_build = build_from_commit(repo, tmp_path / "fresh")
    assert (full_build.indexed_count, open_artifact(artifact_folder, KEY).manifest.tree) == (
        full_build.metadata.stats.total_files,
        full_build.tree,
    )
    assert read_metadata_without_time(artifact_folder) == read_metadata_without_time(tmp_path / "fresh")
    assert rank_all_in_artifact(artifact_folder) == rank_all_in_artifact(tmp_path / "fresh")


def test_build_without_changes_has_the_same_tree(repo: Repo, artifact_folder: Path) -> None:
    first_build = build_from_commit(repo, artifact_folder)
    second_build = build_from_commit(repo, artifact_folder)
    assert (second_build.tree, second_build.indexed_count) == (first_build.tree, 0)
    assert list_files(artifact_folder) >= set(open_artifact(artifact_folder, KEY).manifest.files)


def test_new_taxonomy_key_reindexes_every_document(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    assert build_from_commit(repo, artifact_folder, taxonomy={"area": None}).indexed_count == 4
    assert build_from_commit(repo, artifact_folder, taxonomy={"area": "Described"}).indexed_count == 0


def test_only_documents_sealed_by_this_key_are_reused(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder, key=None)
    assert build_from_commit(repo, artifact_folder).indexed_count == 4
    assert build_from_commit(repo, artifact_folder).indexed_count == 0
    assert build_from_commit(repo, artifact_folder, key=bytes(32)).indexed_count == 4
    assert not open_artifact(artifact_folder, KEY).is_trusted
    assert open_artifact(artifact_folder, bytes(32)).is_trusted


def test_damaged_artifact_is_rebuilt(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    for number in range(len(list_files(artifact_folder))):
        name = sorted(list_files(artifact_folder))[number]
        data = bytearray((artifact_folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        (artifact_folder / name).write_bytes(data)
        assert build_from_commit(repo, artifact_folder).indexed_count == 4, name
        assert open_artifact(artifact_folder, KEY).is_trusted
        assert rank_all_in_artifact(artifact_folder)["okapi wombat"] == []


def test_files_of_previous_artifact_remain_for_one_build(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    metadata = read_metadata_bytes(artifact_folder)
    first_files = set(read_artifact_manifest(artifact_folder, metadata).files)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n", **MANY_DOCUMENTS})
    build_from_commit(repo, artifact_folder)
    assert first_files <= list_files(artifact_folder)
    assert set(read_artifact_manifest(artifact_folder, metadata).files) == first_files
    repo.commit({"guides/limits.md": "# Limits\n\nA quagga.\n"})
    build_from_commit(repo, artifact_folder)
    assert len(list(artifact_folder.glob("*.manifest"))) == 2


def test_many_packs_are_merged(repo: Repo, artifact_folder: Path) -> None:
    for number in range(MAX_PACKS + 3):
        repo.commit({"guides/limits.md": f"# Limits\n\nAn okapi {number}.\n"})
        build_from_commit(repo, artifact_folder)
    packs = [name for name in open_artifact(artifact_folder, KEY).manifest.files if name.endswith(".pack")]
    assert len(packs) <= MAX_PACKS + 1
    assert rank_all_in_artifact(artifact_folder)["okapi wombat"]


def test_choose_packs_returns_packs_with_half_of_objects_in_use() -> None:
    half_used, less_used = frozenset({"a", "b"}), frozenset({"c", "d", "e"})
    assert choose_packs({"half": half_used, "less": less_used}, {"a", "c"}) == ["half"]
    assert choose_packs({"none": frozenset()}, {"a"}) == []
    many_packs = {f"{number:02}": frozenset({f"x{number}"}) for number in range(MAX_PACKS)} | {
        "big": half_used
    }
    assert choose_packs(many_packs, {*half_used, *(f"x{number}" for number in range(MAX_PACKS))}) == ["big"]


def test_artifact_lists_moved_documents(repo: Repo, artifact_folder: Path) -> None:
    repo.git("mv", "guides/limits.md", "guides/quotas.md")
    repo.commit({})
    build_from_commit(repo, artifact_folder)
    [name] = [
        name for name in open_artifact(artifact_folder, KEY).manifest.files if name.startswith("moves-")
    ]
    assert json.loads((artifact_folder / name).read_bytes()) == {"guides/limits.md": "guides/quotas.md"}


def test_declared_taxonomy_keys_have_values_and_descriptions(repo: Repo, artifact_folder: Path) -> None:
    repo.commit(
        {"guides/.taxonomy.toml": '[metadata]\narea = "network"\n', "docyard.toml": "[taxonomy.area]\n"}
    )
    build_from_commit(repo, artifact_folder, taxonomy={"area": "Where it belongs"})
    taxonomy = read_metadata_without_time(artifact_folder)["taxonomy"]
    assert isinstance(taxonomy, dict)
    assert taxonomy["area"] == {"description": "Where it belongs", "values": ["network"]}


def test_taxonomy_keys_with_too_many_values_are_reported(repo: Repo, artifact_folder: Path) -> None:
    values = {f"v/{number}.md": f"---\narea: v{number}\n---\n# V\n" for number in range(513)}
    repo.commit(values)
    build = build_from_commit(repo, artifact_folder, taxonomy={"area": None})
    assert build.unlisted_keys == ("area",)
    assert build.metadata.taxonomy["area"].values == ()


def test_documents_without_sections_are_counted(repo: Repo, artifact_folder: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
    repo.commit(
        {"lfs.md": pointer, "docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001}
    )
    assert build_from_commit(repo, artifact_folder).sectionless_count == 3  # with notes/empty.md


def test_invalid_manifest_is_refused_before_any_write(repo: Repo, artifact_folder: Path) -> None:
    repo.commit({"guides/.taxonomy.toml": '[metadata]\ntype = "guide"\nlangage = "go"\n'})
    with pytest.raises(InvalidManifest) as error_info:
        build_from_commit(repo, artifact_folder)
    assert (
        error_info.value.details | {"path": "guides/.taxonomy.toml", "line": 3, "key": "langage"}
        == error_info.value.details
    )
    assert not artifact_folder.exists()


def test_folder_changed_during_build_is_refused(repo: Repo, artifact_folder: Path, tmp_path: Path) -> None:
    contents = read_folder_contents(repo.path, ContentFilter())
    repo.write({"notes/plain.md": "# Changed\n"})
    with pytest.raises(UnreadableFolder, match="changed while it was read"):
        build_artifact(contents, artifact_folder, key=KEY)


def test_second_builder_of_a_folder_is_refused(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    before = read_metadata_bytes(artifact_folder)
    with hold_lock(artifact_folder / LOCK_FILE, 0), pytest.raises(BuildBusy):
        build_from_commit(repo, artifact_folder)
    assert read_metadata_bytes(artifact_folder) == before
    assert build_from_commit(repo, artifact_folder).indexed_count == 0


def test_concurrent_builders_complete_or_are_refused(repo: Repo, artifact_folder: Path) -> None:
    results: list[object] = []

    def work() -> None:
        try:
            results.append(build_from_commit(repo, artifact_folder))
        except BuildBusy as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert any(isinstance(outcome, ArtifactBuild) for outcome in results)
    assert open_artifact(artifact_folder, KEY).is_trusted
    assert not (artifact_folder / LOCK_FILE).exists()


def test_folders_without_artifact_are_not_overwritten(repo: Repo, tmp_path: Path, index: SearchIndex) -> None:
    index.update_to_tip()
    live_index = next((repo.path / ".git" / "docyard" / "index").iterdir())
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.txt").write_text("Mine.")
    file = tmp_path / "file"
    file.write_text("A file.")
    copied_index = tmp_path / "live"
    shutil.copytree(live_index, copied_index)
    similar_folder = tmp_path / "alike"
    for name in ("index/page.html", "objects/pack/mine.pack"):
        (similar_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (similar_folder / name).write_text("Mine.")
    for folder in (
        notes,
        similar_folder,
        file,
        live_index,
        copied_index,
        repo.path,
        repo.path / ".git" / "out",
        repo.path / ".git",
    ):
        before = list_files(folder) if folder.is_dir() else folder.read_bytes() if folder.exists() else None
        with pytest.raises(OutputFolderOccupied):
            build_from_commit(repo, folder)
        assert before == (
            list_files(folder) if folder.is_dir() else folder.read_bytes() if folder.exists() else None
        )


def test_uncreatable_folder_raises_artifact_unwritable(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactUnwritable) as error_info:
        build_from_commit(repo, tmp_path / "file" / "out")
    assert str(tmp_path) not in error_info.value.message


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("stop", [kill_self, pytest.param(raise_disk_full, marks=pytest.mark.slow)])
def test_build_stopped_at_any_step_leaves_a_complete_artifact(
    repo: Repo, artifact_folder: Path, stop: Callable[[], None]
) -> None:
    build_from_commit(repo, artifact_folder)
    old_results = rank_all_in_artifact(artifact_folder)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    build_from_commit(repo, new := artifact_folder.with_name("new"))
    outcomes = set()
    for step in range(1, MAX_BUILD_STEPS):
        trial_folder = artifact_folder.with_name(f"trial{step}")
        shutil.copytree(artifact_folder, trial_folder)

        def work(step: int = step, trial_folder: Path = trial_folder) -> None:
            stop_at(step, trial_folder, stop)
            build_from_commit(repo, trial_folder)

        code = run_in_fork(work)
        current = rank_all_in_artifact(trial_folder)
        assert current in (old_results, rank_all_in_artifact(new)), step
        outcomes.add(current == old_results)
        assert build_from_commit(repo, trial_folder).tree == open_artifact(new, KEY).manifest.tree
        assert rank_all_in_artifact(trial_folder) == rank_all_in_artifact(new)
        if code == 0:
            break
    else:
        pytest.fail("the build never completes")
    assert outcomes == {True, False}


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_failed_build_removes_its_files(repo: Repo, artifact_folder: Path) -> None:
    build_from_commit(repo, artifact_folder)
    before, old = list_files(artifact_folder), rank_all_in_artifact(artifact_folder)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    failed_build_count = 0
    for step in range(1, FAULT_COUNT + 1):
        trial_folder = artifact_folder.with_name(f"trial{step}")
        shutil.copytree(artifact_folder, trial_folder)

        def work(step: int = step, trial_folder: Path = trial_folder) -> None:
            stop_at(step, trial_folder, raise_disk_full, once=True)
            build_from_commit(repo, trial_folder)

        run_in_fork(work)
        if rank_all_in_artifact(trial_folder) == old:
            assert list_files(trial_folder) - {LOCK_FILE} == before, step
            failed_build_count += 1
    assert failed_build_count > 5  # the other faults do not make the build fail
