"""Damage to an index: each changed byte is detected before use, and the rebuilt index is correct."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from index.segments.store import Store
from index.service import SearchIndex
from index.storage.location import IndexFolder, make_private_folder
from index.storage.manifest import IndexDamaged
from index.storage.metadata import read_metadata
from tests.index.index_checks import find_index_folder, find_location_folder, is_correct, list_orphans
from tests.index.storage.damage import replace_file
from tests.repositories import Repo
from workspace.workspace import Workspace

OpenIndex = Callable[[], SearchIndex]


def list_index_files(repo: Repo) -> list[Path]:
    return sorted(find_index_folder(repo).iterdir())


def flip_bit(data: bytes, position: int, bit: int) -> bytes:
    changed_data = bytearray(data)
    changed_data[position] ^= 1 << bit
    return bytes(changed_data)


def generate_damage(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one bit changed, and truncated, at up to 250 offsets."""
    step = max(1, len(data) // 250)
    for position in range(0, len(data), step):
        yield flip_bit(data, position, position % 8)
        yield data[:position]
    yield data + b"\0"


@pytest.mark.property
def test_every_flipped_bit_and_truncation_is_detected(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    folder = find_index_folder(repo)
    Store(folder).read()
    assert {file.suffix for file in list_index_files(repo)} == {".manifest", ".flat"}
    for file in list_index_files(repo):
        data = file.read_bytes()
        for damaged_data in generate_damage(data):
            replace_file(file, damaged_data)
            with pytest.raises(IndexDamaged):
                Store(folder).read()
        replace_file(file, data)
    Store(folder).read()


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "deleted", "swapped"])
def test_damaged_index_is_rebuilt(open_index: OpenIndex, repo: Repo, damage: str) -> None:
    for number in range(3):
        repo.commit({f"notes/n{number}.md": f"# New {number}\n\nA quagga.\n"})
        open_index().update_to_tip()
    for suffix in (".manifest", ".flat"):
        file, *other_files = [file for file in list_index_files(repo) if file.name.endswith(suffix)]
        data, old_folder = file.read_bytes(), find_index_folder(repo)
        if damage == "deleted":
            file.unlink()
        elif damage == "swapped":
            other_file = (
                other_files[0]
                if other_files
                else next(other_file for other_file in list_index_files(repo) if other_file != file)
            )
            replace_file(file, other_file.read_bytes())
        else:
            replace_file(
                file,
                {"flipped": flip_bit(data, len(data) // 2, 3), "truncated": data[:-1], "empty": b""}[damage],
            )
        assert open_index().status().is_damaged
        index = open_index()
        assert is_correct(index, repo)
        assert find_index_folder(repo) != old_folder
        assert not index.status().is_damaged
        assert list_orphans(repo) == []


def change_last_byte(repo: Repo) -> None:
    """Change a byte that a running server does not read again."""
    time.sleep(0.02)  # file times are coarse
    [segment] = find_index_folder(repo).glob("*.flat")
    data = segment.read_bytes()
    replace_file(segment, flip_bit(data, len(data) - 1, 1))


def test_running_server_detects_changed_files(index: SearchIndex, repo: Repo) -> None:
    assert is_correct(index, repo)
    old_folder = find_index_folder(repo)
    change_last_byte(repo)
    assert is_correct(index, repo)
    assert find_index_folder(repo) != old_folder


def test_damage_is_not_copied_into_the_next_commit(index: SearchIndex, repo: Repo) -> None:
    """Damage an old segment that a merge reads; the new segment would give the damage a valid checksum."""
    index.update_to_tip()
    old_folder = find_index_folder(repo)
    change_last_byte(repo)
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_correct(index, repo)
    assert find_index_folder(repo) != old_folder


def test_touched_files_are_verified_and_reused(index: SearchIndex, repo: Repo) -> None:
    index.update_to_tip()
    folder = find_index_folder(repo)
    for file in list_index_files(repo):
        file.touch()
    assert is_correct(index, repo)
    assert find_index_folder(repo) == folder


def test_manifest_of_another_folder_raises_index_damaged(
    open_index: OpenIndex, repo: Repo, tmp_path: Path
) -> None:
    open_index().update_to_tip()
    copy = tmp_path / "0123456789abcdef"
    shutil.copytree(find_index_folder(repo), copy)
    with pytest.raises(IndexDamaged):
        Store(copy).read()


def test_metadata_torn_at_any_byte_is_ignored(open_index: OpenIndex, repo: Repo) -> None:
    index = open_index()
    index.update_to_tip()
    file = find_location_folder(repo) / "metadata.json"
    file_data, metadata = file.read_bytes(), index.metadata()
    assert read_metadata(file) == metadata is not None
    for size in range(len(file_data)):
        file.write_bytes(file_data[:size])
        assert read_metadata(file) is None
        file.write_bytes(flip_bit(file_data, size, 1))
        assert read_metadata(file) is None
    checksum = file.with_suffix(".sum").read_bytes()
    for size in range(len(checksum)):
        file.with_suffix(".sum").write_bytes(checksum[:size])
        assert read_metadata(file) is None
    open_index().update_to_tip()
    assert file.read_bytes() == file_data
    assert open_index().metadata() == metadata


def test_pointer_torn_at_any_byte_is_ignored(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    pointer = find_location_folder(repo) / "current"
    file_data, location = pointer.read_bytes(), IndexFolder(find_location_folder(repo))
    assert location.current() == find_index_folder(repo)
    for size in range(len(file_data)):
        pointer.write_bytes(file_data[:size])
        assert location.current() is None
        pointer.write_bytes(flip_bit(file_data, size, 2))
        assert location.current() is None
    assert is_correct(open_index(), repo)


def test_index_of_another_version_is_left_unchanged(open_index: OpenIndex, repo: Repo) -> None:
    open_index().update_to_tip()
    version, _, rest_of_name = find_location_folder(repo).name.partition("-")
    newer_folder = find_location_folder(repo).with_name(f"{int(version) + 1}-{rest_of_name}")
    shutil.copytree(find_location_folder(repo), newer_folder)
    (newer_folder / "current").write_text("not of this version")
    before = {file: file.read_bytes() for file in newer_folder.rglob("*") if file.is_file()}
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_correct(open_index(), repo)
    assert {file: file.read_bytes() for file in newer_folder.rglob("*") if file.is_file()} == before


def test_recreated_branch_is_searched_at_its_new_commit(repo: Repo) -> None:
    repo.git("branch", "side")

    def open_side_index() -> SearchIndex:
        return SearchIndex(Workspace.open(repo.path, branch="side"))

    first_index = open_side_index()
    assert first_index.search("jitter").hits
    repo.git("branch", "-D", "side")
    new_commit = repo.commit({"guides/retries.md": "# Retries\n\nA quagga.\n"})
    repo.git("branch", "side")
    for index in (first_index, open_side_index()):
        page = index.search("quagga")
        assert (page.commit, page.is_stale, len(page.hits)) == (new_commit, False, 1)
        assert index.search("jitter").hits == ()


@pytest.mark.property
def test_random_damage_between_commits_gives_correct_results(open_index: OpenIndex, repo: Repo) -> None:
    rng = random.Random(5)
    index = open_index()
    for number in range(30):
        repo.commit({f"notes/n{number % 4}.md": f"# New {number}\n\nA quagga and an okapi.\n"})
        assert is_correct(index if rng.random() < 0.5 else open_index(), repo)
        # An index with loaded metadata writes a missing metadata file up to half a second later.
        pointer_files = [find_location_folder(repo) / name for name in ("current", "metadata.json")]
        file = rng.choice([*list_index_files(repo), *(file for file in pointer_files if file.exists())])
        data = file.read_bytes()
        time.sleep(0.01)
        if rng.random() < 0.3:
            file.unlink()
        else:
            replace_file(file, flip_bit(data, rng.randrange(len(data)), rng.randrange(8)))


FULL_DISK_SCRIPT = """
import sys
from pathlib import Path
from tests.index.index_checks import is_correct
from tests.repositories import Repo
from index.service import SearchIndex
from workspace.workspace import Workspace

repo = Repo(Path(sys.argv[1]))
index = SearchIndex(Workspace.open(repo.path, read_only=True))
assert is_correct(index, repo)
repo.commit({"notes/more.md": "# More\\n\\nAn okapi.\\n"})
assert is_correct(index, repo)
print(index.status().folder)
"""


def run_on_small_disk(folder: Path, size: int, script: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a script with a folder mounted as a file system of `size` bytes."""
    mount = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'
    return subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mount, "sh", str(size), str(folder), sys.executable, *script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
@pytest.mark.parametrize("size", [8_192, pytest.param(24_576, marks=pytest.mark.slow), 10_000_000])
def test_full_disk_moves_the_index_to_the_cache_folder(
    repo: Repo, tmp_path: Path, temporary_key_file: Path, size: int
) -> None:
    """Use a disk with space for only the lock, for half of the index, or for the whole index."""
    private_folder = repo.path / ".git" / "docyard"
    assert make_private_folder(private_folder)
    if not shutil.which("unshare") or run_on_small_disk(private_folder, 8_192, ["-c", ""]).returncode:
        pytest.skip("no file system can be mounted here")
    repo.write({f"notes/n{n}.md": f"# New {n}\n\n" + "words of all kinds " * 50 for n in range(99)})
    repo.commit({})
    process = run_on_small_disk(private_folder, size, ["-c", FULL_DISK_SCRIPT, str(repo.path)])
    assert process.returncode == 0, process.stderr
    index_path = Path(process.stdout.strip())
    assert index_path.is_relative_to(private_folder if size > 1_000_000 else tmp_path / "cache")


@pytest.mark.process
def test_index_stays_in_memory_if_no_disk_has_space(repo: Repo) -> None:
    resource = pytest.importorskip("resource")

    def run_child() -> None:
        # In all folders, each write beyond this file size fails.
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        index = SearchIndex(Workspace.open(repo.path, read_only=True))
        assert is_correct(index, repo)
        assert index.status().folder is None
        assert index.status().state is not None

    process = multiprocessing.get_context("fork").Process(target=run_child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert not list(repo.path.glob(".git/docyard/index/*/current"))
