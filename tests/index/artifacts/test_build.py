"""Artifacts are the same however they were come by, and the one that stands is whole at every moment."""

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
from index.artifacts.build import LOCK, ArtifactBuild, ArtifactUnwritable, BuildBusy, OutOccupied, build
from index.artifacts.contents import ContentFilter, UnreadableFolder, contents_of_commit, contents_of_folder
from index.artifacts.frozen import FrozenIndex
from index.artifacts.manifest import read, read_metadata_bytes
from index.artifacts.objects import MAX_PACKS, choose_packs
from index.service import SearchIndex
from index.storage.locking import hold_lock
from tests.index.lists import QUERIES, List
from tests.index.storage.test_crashes import kill, refuse, run, stop_at
from tests.repositories import Repo
from workspace.config.taxonomy import InvalidManifest
from workspace.git.reader import GitReader

KEY = bytes(range(32))
MANY = {f"bulk/{number:03}.md": f"# Page {number}\n\nWombat {number}.\n" for number in range(60)}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def built(
    repo: Repo, out: Path, key: bytes | None = KEY, taxonomy: Mapping[str, str | None] = {}, **words: str
) -> ArtifactBuild:
    contents = contents_of_commit(GitReader(repo.path), repo.head(), "docs", ContentFilter())
    return build(contents, out, key=key, taxonomy=taxonomy, durable=False, **words)  # type: ignore[arg-type]


def answers(index: SearchIndex) -> Mapping[str, List]:
    return {
        query: [(hit.chunk_id, hit.score) for hit in index.search(query, limit=50).hits] for query in QUERIES
    }


def of(out: Path, key: bytes | None = KEY) -> Mapping[str, List]:
    index = FrozenIndex(open_artifact(out, key))
    try:
        return answers(index)
    finally:
        index.close()


def facts(out: Path) -> dict[str, object]:
    """Return `metadata.json` without the time."""
    told = json.loads((out / "metadata.json").read_bytes())
    del told["stats"]["indexed_at"]
    return dict(told)


def files(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_it_holds_what_it_must_and_nothing_else(repo: Repo, out: Path) -> None:
    built(repo, out)
    manifest = open_artifact(out, KEY).manifest
    [name] = [path.name for path in out.glob("*.manifest")]
    assert files(out) == {*manifest.files, name, "metadata.json"}
    assert {Path(file).suffix for file in manifest.files} == {".flat", ".pack", ".idx"}


def test_it_answers_as_the_repository(repo: Repo, out: Path, index: SearchIndex) -> None:
    built(repo, out)
    assert of(out) == answers(index)
    assert facts(out)["stats"] == {"total_chunks": 8, "total_files": 4, "source_commit": repo.head()}
    assert facts(out)["corpus_description"] == "documentation of docs"


def test_the_same_input_gives_the_same_artifact(repo: Repo, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    trees = {built(repo, place, description="Guides", taxonomy={"area": None}).tree for place in (one, two)}
    assert len(trees) == 1
    assert facts(one) == facts(two)
    assert of(one) == of(two)


def test_a_folder_has_the_same_documents_and_no_commit(repo: Repo, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "docs"
    shutil.copytree(repo.path, copy, ignore=shutil.ignore_patterns(".git"))
    one = built(repo, tmp_path / "one")
    two = build(contents_of_folder(copy, ContentFilter()), tmp_path / "two", key=KEY)
    assert one.tree == two.tree
    assert of(tmp_path / "one") == of(tmp_path / "two")
    assert two.metadata.stats.source_commit is None


def test_progress_is_told_of_both_kinds_of_work(repo: Repo, out: Path) -> None:
    told: list[tuple[int, int, str]] = []
    contents = contents_of_commit(GitReader(repo.path), repo.commit(MANY), "docs", ContentFilter())
    build(contents, out, progress=lambda *report: told.append(report), durable=False)
    assert {message for _, _, message in told} >= {"Storing documents", "Indexing documents"}
    assert all(0 <= done <= total for done, total, _ in told)


def test_what_is_the_same_is_taken_over(repo: Repo, out: Path) -> None:
    repo.commit(MANY)
    assert built(repo, out).indexed == 64
    before = files(out)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    assert built(repo, out).indexed == 1
    added = sorted(path.rpartition(".")[2] for path in files(out) - before)
    assert added == ["flat", "idx", "manifest", "pack"]


@pytest.mark.parametrize("seed", range(3))
def test_edit_by_edit_it_stays_what_a_full_build_would_be(repo: Repo, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    out = tmp_path / "out"
    built(repo, out)
    for step in range(8):
        name = f"notes/{chance.randrange(6)}.md"
        if chance.random() < 0.3 and (repo.path / name).exists():
            (repo.path / name).unlink()
            repo.commit({})
        elif chance.random() < 0.2:
            repo.commit({".taxonomy.toml": f'[metadata]\ntype = "kind{step}"\n'})
        else:
            words = " ".join(chance.choices(["quagga", "okapi", "wombat", "retry", "errors"], k=20))
            repo.commit({name: f"# Note {step}\n\n## Errors\n\n{words}\n"})
        built(repo, out)
    fresh = built(repo, tmp_path / "fresh")
    assert (fresh.indexed, open_artifact(out, KEY).manifest.tree) == (
        fresh.metadata.stats.total_files,
        fresh.tree,
    )
    assert facts(out) == facts(tmp_path / "fresh")
    assert of(out) == of(tmp_path / "fresh")


def test_nothing_changed_is_a_new_time_and_the_same_tree(repo: Repo, out: Path) -> None:
    first = built(repo, out)
    again = built(repo, out)
    assert (again.tree, again.indexed) == (first.tree, 0)
    assert files(out) >= set(open_artifact(out, KEY).manifest.files)


def test_other_limits_or_keys_read_every_document_again(repo: Repo, out: Path) -> None:
    built(repo, out)
    assert built(repo, out, taxonomy={"area": None}).indexed == 4
    assert built(repo, out, taxonomy={"area": "Described"}).indexed == 0


def test_only_what_this_key_sealed_is_taken_over(repo: Repo, out: Path) -> None:
    built(repo, out, key=None)
    assert built(repo, out).indexed == 4
    assert built(repo, out).indexed == 0
    assert built(repo, out, key=bytes(32)).indexed == 4
    assert not open_artifact(out, KEY).trusted
    assert open_artifact(out, bytes(32)).trusted


def test_a_damaged_artifact_is_built_anew(repo: Repo, out: Path) -> None:
    built(repo, out)
    for number in range(len(files(out))):
        name = sorted(files(out))[number]
        data = bytearray((out / name).read_bytes())
        data[len(data) // 2] ^= 1
        (out / name).write_bytes(data)
        assert built(repo, out).indexed == 4, name
        assert open_artifact(out, KEY).trusted
        assert of(out)["okapi wombat"] == []


def test_the_files_of_the_last_artifact_stay_for_one_build(repo: Repo, out: Path) -> None:
    built(repo, out)
    told = read_metadata_bytes(out)
    first = set(read(out, told).files)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n", **MANY})
    built(repo, out)
    assert first <= files(out)
    assert set(read(out, told).files) == first
    repo.commit({"guides/limits.md": "# Limits\n\nA quagga.\n"})
    built(repo, out)
    assert len(list(out.glob("*.manifest"))) == 2


def test_packs_are_joined_when_there_are_many(repo: Repo, out: Path) -> None:
    for number in range(MAX_PACKS + 3):
        repo.commit({"guides/limits.md": f"# Limits\n\nAn okapi {number}.\n"})
        built(repo, out)
    packs = [name for name in open_artifact(out, KEY).manifest.files if name.endswith(".pack")]
    assert len(packs) <= MAX_PACKS + 1
    assert of(out)["okapi wombat"]


def test_which_packs_stay() -> None:
    half, less = frozenset({"a", "b"}), frozenset({"c", "d", "e"})
    assert choose_packs({"half": half, "less": less}, {"a", "c"}) == ["half"]
    assert choose_packs({"none": frozenset()}, {"a"}) == []
    many = {f"{number:02}": frozenset({f"x{number}"}) for number in range(MAX_PACKS)} | {"big": half}
    assert choose_packs(many, {*half, *(f"x{number}" for number in range(MAX_PACKS))}) == ["big"]


def test_documents_that_moved_are_listed(repo: Repo, out: Path) -> None:
    repo.git("mv", "guides/limits.md", "guides/quotas.md")
    repo.commit({})
    built(repo, out)
    [name] = [name for name in open_artifact(out, KEY).manifest.files if name.startswith("moves-")]
    assert json.loads((out / name).read_bytes()) == {"guides/limits.md": "guides/quotas.md"}


def test_values_and_descriptions_of_declared_keys(repo: Repo, out: Path) -> None:
    repo.commit(
        {"guides/.taxonomy.toml": '[metadata]\narea = "network"\n', "docyard.toml": "[taxonomy.area]\n"}
    )
    built(repo, out, taxonomy={"area": "Where it belongs"})
    taxonomy = facts(out)["taxonomy"]
    assert isinstance(taxonomy, dict)
    assert taxonomy["area"] == {"description": "Where it belongs", "values": ["network"]}


def test_more_values_than_can_be_listed_are_told(repo: Repo, out: Path) -> None:
    values = {f"v/{number}.md": f"---\narea: v{number}\n---\n# V\n" for number in range(513)}
    repo.commit(values)
    found = built(repo, out, taxonomy={"area": None})
    assert found.unlisted == ("area",)
    assert found.metadata.taxonomy["area"].values == ()


def test_documents_without_text_are_counted(repo: Repo, out: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
    repo.commit(
        {"lfs.md": pointer, "docyard.toml": "[limits]\ndocument_bytes = 1000\n", "big.md": "x" * 1001}
    )
    assert built(repo, out).silent == 3  # with notes/empty.md


def test_a_wrong_manifest_is_named_before_anything_is_written(repo: Repo, out: Path) -> None:
    repo.commit({"guides/.taxonomy.toml": '[metadata]\ntype = "guide"\nlangage = "go"\n'})
    with pytest.raises(InvalidManifest) as caught:
        built(repo, out)
    assert (
        caught.value.details | {"path": "guides/.taxonomy.toml", "line": 3, "key": "langage"}
        == caught.value.details
    )
    assert not out.exists()


def test_a_folder_that_changes_while_it_is_read_is_said(repo: Repo, out: Path, tmp_path: Path) -> None:
    contents = contents_of_folder(repo.path, ContentFilter())
    repo.write({"notes/plain.md": "# Changed\n"})
    with pytest.raises(UnreadableFolder, match="changed while it was read"):
        build(contents, out, key=KEY)


def test_two_builders_of_one_folder_do_not_meet(repo: Repo, out: Path) -> None:
    built(repo, out)
    before = read_metadata_bytes(out)
    with hold_lock(out / LOCK, 0), pytest.raises(BuildBusy):
        built(repo, out)
    assert read_metadata_bytes(out) == before
    assert built(repo, out).indexed == 0


def test_of_builders_at_once_each_ends_whole_or_is_refused(repo: Repo, out: Path) -> None:
    ended: list[object] = []

    def work() -> None:
        try:
            ended.append(built(repo, out))
        except BuildBusy as error:
            ended.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 6
    assert any(isinstance(one, ArtifactBuild) for one in ended)
    assert open_artifact(out, KEY).trusted
    assert not (out / LOCK).exists()


def test_what_is_no_artifact_is_not_touched(repo: Repo, tmp_path: Path, index: SearchIndex) -> None:
    index.follow()
    live = next((repo.path / ".git" / "docyard" / "index").iterdir())
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.txt").write_text("Mine.")
    file = tmp_path / "file"
    file.write_text("A file.")
    moved = tmp_path / "live"
    shutil.copytree(live, moved)
    alike = tmp_path / "alike"
    for name in ("index/page.html", "objects/pack/mine.pack"):
        (alike / name).parent.mkdir(parents=True, exist_ok=True)
        (alike / name).write_text("Mine.")
    for place in (notes, alike, file, live, moved, repo.path, repo.path / ".git" / "out", repo.path / ".git"):
        before = files(place) if place.is_dir() else place.read_bytes() if place.exists() else None
        with pytest.raises(OutOccupied):
            built(repo, place)
        assert before == (files(place) if place.is_dir() else place.read_bytes() if place.exists() else None)


def test_a_folder_that_cannot_be_made_is_said(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactUnwritable) as caught:
        built(repo, tmp_path / "file" / "out")
    assert str(tmp_path) not in caught.value.message


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("stop", [kill, pytest.param(refuse, marks=pytest.mark.slow)])
def test_a_build_that_is_stopped_at_any_step_leaves_the_old_artifact(
    repo: Repo, out: Path, stop: Callable[[], None]
) -> None:
    built(repo, out)
    old = of(out)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    built(repo, new := out.with_name("new"))
    outcomes = set()
    for step in range(1, 100):
        trial = out.with_name(f"trial{step}")
        shutil.copytree(out, trial)

        def work(step: int = step, trial: Path = trial) -> None:
            stop_at(step, trial, stop)
            built(repo, trial)

        code = run(work)
        found = of(trial)
        assert found in (old, of(new)), step
        outcomes.add(found == old)
        assert built(repo, trial).tree == open_artifact(new, KEY).manifest.tree
        assert of(trial) == of(new)
        if code == 0:
            break
    else:
        pytest.fail("it never ends by itself")
    assert outcomes == {True, False}


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_build_that_fails_removes_what_it_wrote(repo: Repo, out: Path) -> None:
    built(repo, out)
    before, old = files(out), of(out)
    repo.commit({"guides/limits.md": "# Limits\n\nAn okapi.\n"})
    failed = 0
    for step in range(1, 25):
        trial = out.with_name(f"trial{step}")
        shutil.copytree(out, trial)

        def work(step: int = step, trial: Path = trial) -> None:
            stop_at(step, trial, refuse, only=True)
            built(repo, trial)

        run(work)
        if of(trial) == old:
            assert files(trial) - {LOCK} == before, step
            failed += 1
    assert failed > 5
