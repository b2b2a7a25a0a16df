"""Damage: every changed byte is seen before it is believed, and what is built instead is true."""

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
from index.storage.location import Location, make_private_folder
from index.storage.manifest import IndexDamaged
from index.storage.metadata import read_metadata
from tests.index.lists import built, home, is_true, orphans
from tests.index.storage.damage import put
from tests.repositories import Repo
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]


def files(repo: Repo) -> list[Path]:
    return sorted(built(repo).iterdir())


def flipped(data: bytes, position: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    return bytes(changed)


def spoilt(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one bit changed, and truncated, at each offset or at some of a large file."""
    step = max(1, len(data) // 250)
    for position in range(0, len(data), step):
        yield flipped(data, position, position % 8)
        yield data[:position]
    yield data + b"\0"


@pytest.mark.property
def test_every_flipped_bit_and_every_cut_is_seen(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    folder = built(repo)
    Store(folder).read()
    assert {file.suffix for file in files(repo)} == {".manifest", ".flat"}
    for file in files(repo):
        whole = file.read_bytes()
        for data in spoilt(whole):
            put(file, data)
            with pytest.raises(IndexDamaged):
                Store(folder).read()
        put(file, whole)
    Store(folder).read()


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "gone", "exchanged"])
def test_what_is_damaged_is_built_anew(open_index: Open, repo: Repo, harm: str) -> None:
    for number in range(3):
        repo.commit({f"notes/n{number}.md": f"# New {number}\n\nA quagga.\n"})
        open_index().follow()
    for kind in (".manifest", ".flat"):
        file, *others = [file for file in files(repo) if file.name.endswith(kind)]
        data, old = file.read_bytes(), built(repo)
        if harm == "gone":
            file.unlink()
        elif harm == "exchanged":
            other = others[0] if others else next(other for other in files(repo) if other != file)
            put(file, other.read_bytes())
        else:
            put(file, {"flipped": flipped(data, len(data) // 2, 3), "cut": data[:-1], "empty": b""}[harm])
        assert open_index().status().damaged
        index = open_index()
        assert is_true(index, repo)
        assert built(repo) != old
        assert not index.status().damaged
        assert orphans(repo) == []


def change_last_byte(repo: Repo) -> None:
    """Change a byte that a running server does not read again."""
    time.sleep(0.02)  # file times are coarse
    [segment] = built(repo).glob("*.flat")
    data = segment.read_bytes()
    put(segment, flipped(data, len(data) - 1, 1))


def test_a_running_server_sees_that_its_files_were_changed(index: SearchIndex, repo: Repo) -> None:
    assert is_true(index, repo)
    old = built(repo)
    change_last_byte(repo)
    assert is_true(index, repo)
    assert built(repo) != old


def test_damage_is_not_carried_into_the_next_commit(index: SearchIndex, repo: Repo) -> None:
    """Merging reads old segments: their damage would get a right checksum in the new one."""
    index.follow()
    old = built(repo)
    change_last_byte(repo)
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_true(index, repo)
    assert built(repo) != old


def test_a_file_that_was_only_touched_is_checked_and_kept(index: SearchIndex, repo: Repo) -> None:
    index.follow()
    folder = built(repo)
    for file in files(repo):
        file.touch()
    assert is_true(index, repo)
    assert built(repo) == folder


def test_a_manifest_of_another_folder_is_not_believed(open_index: Open, repo: Repo, tmp_path: Path) -> None:
    open_index().follow()
    copy = tmp_path / "0123456789abcdef"
    shutil.copytree(built(repo), copy)
    with pytest.raises(IndexDamaged):
        Store(copy).read()


def test_metadata_torn_at_every_byte_is_ignored(open_index: Open, repo: Repo) -> None:
    index = open_index()
    index.follow()
    file = home(repo) / "metadata.json"
    whole, told = file.read_bytes(), index.metadata()
    assert read_metadata(file) == told is not None
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        assert read_metadata(file) is None
        file.write_bytes(flipped(whole, size, 1))
        assert read_metadata(file) is None
    checksum = file.with_suffix(".sum").read_bytes()
    for size in range(len(checksum)):
        file.with_suffix(".sum").write_bytes(checksum[:size])
        assert read_metadata(file) is None
    open_index().follow()
    assert file.read_bytes() == whole
    assert open_index().metadata() == told


def test_the_pointer_torn_at_every_byte_is_ignored(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    pointer = home(repo) / "current"
    whole, location = pointer.read_bytes(), Location(home(repo))
    assert location.current() == built(repo)
    for size in range(len(whole)):
        pointer.write_bytes(whole[:size])
        assert location.current() is None
        pointer.write_bytes(flipped(whole, size, 2))
        assert location.current() is None
    assert is_true(open_index(), repo)


def test_another_version_beside_is_left_alone(open_index: Open, repo: Repo) -> None:
    open_index().follow()
    version, _, rest = home(repo).name.partition("-")
    newer = home(repo).with_name(f"{int(version) + 1}-{rest}")
    shutil.copytree(home(repo), newer)
    (newer / "current").write_text("not of this version")
    before = {file: file.read_bytes() for file in newer.rglob("*") if file.is_file()}
    repo.commit({"notes/new.md": "# New\n\nAn okapi.\n"})
    assert is_true(open_index(), repo)
    assert {file: file.read_bytes() for file in newer.rglob("*") if file.is_file()} == before


def test_a_branch_that_was_deleted_and_made_again(repo: Repo) -> None:
    repo.git("branch", "side")

    def side() -> SearchIndex:
        return SearchIndex(Workspace.open(repo.path, branch="side"))

    first = side()
    assert first.search("jitter").hits
    repo.git("branch", "-D", "side")
    other = repo.commit({"guides/retries.md": "# Retries\n\nA quagga.\n"})
    repo.git("branch", "side")
    for index in (first, side()):
        page = index.search("quagga")
        assert (page.commit, page.stale, len(page.hits)) == (other, False, 1)
        assert index.search("jitter").hits == ()


@pytest.mark.property
def test_random_harm_while_commits_come(open_index: Open, repo: Repo) -> None:
    chance = random.Random(5)
    index = open_index()
    for number in range(30):
        repo.commit({f"notes/n{number % 4}.md": f"# New {number}\n\nA quagga and an okapi.\n"})
        assert is_true(index if chance.random() < 0.5 else open_index(), repo)
        # An index that knows its metadata writes a missing file up to half a second later, with new figures.
        ours = [home(repo) / name for name in ("current", "metadata.json")]
        file = chance.choice([*files(repo), *(file for file in ours if file.exists())])
        data = file.read_bytes()
        time.sleep(0.01)
        if chance.random() < 0.3:
            file.unlink()
        else:
            put(file, flipped(data, chance.randrange(len(data)), chance.randrange(8)))


FULL = """
import sys
from pathlib import Path
from tests.index.lists import is_true
from tests.repositories import Repo
from index.service import SearchIndex
from workspace.workspace import Workspace

repo = Repo(Path(sys.argv[1]))
index = SearchIndex(Workspace.open(repo.path, read_only=True))
assert is_true(index, repo)
repo.commit({"notes/more.md": "# More\\n\\nAn okapi.\\n"})
assert is_true(index, repo)
print(index.status().folder)
"""


def small_disk(folder: Path, size: int, script: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a script where a folder is a file system of its own with room for so many bytes."""
    mount = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'
    return subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mount, "sh", str(size), str(folder), sys.executable, *script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
@pytest.mark.parametrize("room", [8_192, pytest.param(24_576, marks=pytest.mark.slow), 10_000_000])
def test_a_full_disk_sends_the_index_elsewhere(repo: Repo, tmp_path: Path, own_key: Path, room: int) -> None:
    """From the Git directory to the user's cache: room for the lock alone, for half of it, and for all."""
    area = repo.path / ".git" / "docyard"
    assert make_private_folder(area)
    if not shutil.which("unshare") or small_disk(area, 8_192, ["-c", ""]).returncode:
        pytest.skip("no file system can be mounted here")
    repo.write({f"notes/n{n}.md": f"# New {n}\n\n" + "words of all kinds " * 50 for n in range(99)})
    repo.commit({})
    done = small_disk(area, room, ["-c", FULL, str(repo.path)])
    assert done.returncode == 0, done.stderr
    place = Path(done.stdout.strip())
    assert place.is_relative_to(area if room > 1_000_000 else tmp_path / "cache")


@pytest.mark.process
def test_without_room_anywhere_the_index_lives_in_memory(repo: Repo) -> None:
    resource = pytest.importorskip("resource")

    def child() -> None:
        # Every write beyond this size fails in the middle of a file, in the cache folder too.
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        index = SearchIndex(Workspace.open(repo.path, read_only=True))
        assert is_true(index, repo)
        assert index.status().folder is None
        assert index.status().state is not None

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert not list(repo.path.glob(".git/docyard/index/*/current"))
