"""The journal cut off at every byte, as a loss of power may leave it before the first lock is taken."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import Tell, steps
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Fault
from tests.repositories import Repo

LOCKS = (".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock")
STEPS = pytest.mark.parametrize(
    "step", [83, pytest.param(1, marks=pytest.mark.slow)], ids=["sample", "every"]
)


@pytest.fixture
def crashed(server: ForkServer, scenes: dict[str, Scene], place: Path) -> Path:
    """A repository whose writer was killed when it had all locks and had not changed a file."""
    repo = scenes["checked-out"].copy(place.with_name("crashed"))
    calls = server.run("write", repo.path).calls
    taken = [call.number for call in calls if call.name == "link" and call.second.endswith(LOCKS)]
    repo = scenes["checked-out"].copy(repo.path)
    assert len(taken) == len(LOCKS)
    assert server.run("write", repo.path, point=taken[-1] + 1, fault=Fault.KILL).killed
    assert [(repo.path / lock).exists() for lock in LOCKS] == [True] * 3
    return repo.path


def torn(crashed: Path, place: Path, length: int) -> Path:
    """A copy of it, links and all, with so many bytes of the journal; returns the copy's journal."""
    if place.exists():
        shutil.rmtree(place)
    subprocess.run(["cp", "-a", str(crashed), str(place)], check=True)
    (journal,) = place.glob(".git/docyard/pending/*/journal")
    with journal.open("r+b") as stream:
        stream.truncate(length)
    return journal


def lengths(crashed: Path, step: int) -> list[int]:
    (journal,) = crashed.glob(".git/docyard/pending/*/journal")
    size = journal.stat().st_size
    return sorted({*range(0, size, step), size - 1, size})


@pytest.mark.promise
@steps(96, 6)
def test_what_is_ours_goes_and_the_next_write_commits(
    server: ForkServer,
    scenes: dict[str, Scene],
    crashed: Path,
    place: Path,
    tell: Tell,
    step: int,
) -> None:
    found = lengths(crashed, step)
    for length in found:
        torn(crashed, place, length)
        server.run("recover", place)
        assert not scenes["checked-out"].check(Repo(place)), f"{length} bytes"
        if length % 8 == 0:
            assert server.run("write", place).committed, f"{length} bytes"
            assert scenes["checked-out"].check(Repo(place)), f"{length} bytes"
    tell(f"the journal cut off: {len(found)} lengths")


@pytest.mark.promise
@steps(96, 6)
def test_a_lock_of_another_program_stays(server: ForkServer, crashed: Path, place: Path, step: int) -> None:
    for length in lengths(crashed, 3 * step)[:-1]:
        torn(crashed, place, length)
        *ours, anothers = (place / lock for lock in LOCKS)
        anothers.unlink()
        anothers.write_text("another's")
        assert server.run("recover", place).answer.get("error") is None
        assert not any(lock.exists() for lock in ours), f"{length} bytes"
        assert anothers.read_text() == "another's", f"{length} bytes"


def test_with_a_whole_journal_another_programs_lock_is_waited_for_and_named(
    server: ForkServer, scenes: dict[str, Scene], crashed: Path, place: Path
) -> None:
    journal = torn(crashed, place, lengths(crashed, 1)[-1])
    anothers = place / LOCKS[2]
    anothers.unlink()
    anothers.write_text("another's")
    ended = server.run("recover", place)
    assert ended.answer["error"] == "LOCKED"
    assert LOCKS[2] in ended.answer["message"]
    assert str(place) not in ended.answer["message"] + ended.answer["fix"]
    assert anothers.read_text() == "another's"
    assert journal.exists()
    anothers.unlink()
    server.run("recover", place)
    assert not scenes["checked-out"].check(Repo(place))
