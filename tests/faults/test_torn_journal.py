"""The journal truncated at every byte, as after a power loss before the first lock."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import ReportLine, steps
from tests.faults.support.scene import Scene
from tests.faults.support.shim import Fault
from tests.repositories import Repo

LOCKS = (".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock")
STEPS = pytest.mark.parametrize(
    "step", [83, pytest.param(1, marks=pytest.mark.slow)], ids=["sample", "every"]
)


@pytest.fixture
def crashed(server: ForkServer, scenes: dict[str, Scene], place: Path) -> Path:
    """Return a repository whose writer was killed with all locks held and no file changed."""
    repo = scenes["checked-out"].copy(place.with_name("crashed"))
    calls = server.run("write", repo.path).calls
    lock_calls = [call.number for call in calls if call.name == "link" and call.second.endswith(LOCKS)]
    repo = scenes["checked-out"].copy(repo.path)
    assert len(lock_calls) == len(LOCKS)
    assert server.run("write", repo.path, point=lock_calls[-1] + 1, fault=Fault.KILL).killed
    assert [(repo.path / lock).exists() for lock in LOCKS] == [True] * 3
    return repo.path


def copy_with_torn_journal(crashed: Path, place: Path, length: int) -> Path:
    """Copy the repository with its hard links, truncate the journal to `length`; return the journal."""
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
def test_torn_journal_is_cleaned_up_and_next_write_commits(
    server: ForkServer,
    scenes: dict[str, Scene],
    crashed: Path,
    place: Path,
    report_line: ReportLine,
    step: int,
) -> None:
    result = lengths(crashed, step)
    for length in result:
        copy_with_torn_journal(crashed, place, length)
        server.run("recover", place)
        assert not scenes["checked-out"].check(Repo(place)), f"{length} bytes"
        if length % 8 == 0:
            assert server.run("write", place).committed, f"{length} bytes"
            assert scenes["checked-out"].check(Repo(place)), f"{length} bytes"
    report_line(f"the truncated journal: {len(result)} lengths")


@pytest.mark.promise
@steps(96, 6)
def test_lock_of_another_program_is_not_removed(
    server: ForkServer, crashed: Path, place: Path, step: int
) -> None:
    for length in lengths(crashed, 3 * step)[:-1]:
        copy_with_torn_journal(crashed, place, length)
        *ours, foreign = (place / lock for lock in LOCKS)
        foreign.unlink()
        foreign.write_text("another's")
        assert server.run("recover", place).answer.get("error") is None
        assert not any(lock.exists() for lock in ours), f"{length} bytes"
        assert foreign.read_text() == "another's", f"{length} bytes"


def test_foreign_lock_with_whole_journal_raises_locked(
    server: ForkServer, scenes: dict[str, Scene], crashed: Path, place: Path
) -> None:
    journal = copy_with_torn_journal(crashed, place, lengths(crashed, 1)[-1])
    foreign = place / LOCKS[2]
    foreign.unlink()
    foreign.write_text("another's")
    ended = server.run("recover", place)
    assert ended.answer["error"] == "LOCKED"
    assert LOCKS[2] in ended.answer["message"]
    assert str(place) not in ended.answer["message"] + ended.answer["fix"]
    assert foreign.read_text() == "another's"
    assert journal.exists()
    foreign.unlink()
    server.run("recover", place)
    assert not scenes["checked-out"].check(Repo(place))
