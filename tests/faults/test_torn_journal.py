"""Recovery with a journal that is truncated at each byte, while the locks of a killed writer exist."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.forkserver import ForkServer
from tests.faults.support.matrix import ReportLine, parametrize_step
from tests.faults.support.repo_template import RepoTemplate
from tests.faults.support.shim import Fault
from tests.repositories import Repo

LOCKS = (".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock")


@pytest.fixture
def crashed_repo(server: ForkServer, templates_by_kind: dict[str, RepoTemplate], copy_path: Path) -> Path:
    """Return a repository whose writer was killed after it locked all files and before it changed any."""
    repo = templates_by_kind["checked-out"].copy(copy_path.with_name("crashed"))
    calls = server.run("write", repo.path).calls
    lock_calls = [call.number for call in calls if call.name == "link" and call.second_path.endswith(LOCKS)]
    repo = templates_by_kind["checked-out"].copy(repo.path)
    assert len(lock_calls) == len(LOCKS)
    assert server.run("write", repo.path, point=lock_calls[-1] + 1, fault=Fault.KILL).was_killed
    assert [(repo.path / lock).exists() for lock in LOCKS] == [True] * 3
    return repo.path


def copy_with_torn_journal(crashed_repo: Path, copy_path: Path, length: int) -> Path:
    """Copy the repository with its hard links, and truncate the journal; return the journal's path."""
    if copy_path.exists():
        shutil.rmtree(copy_path)
    subprocess.run(["cp", "-a", str(crashed_repo), str(copy_path)], check=True)
    (journal,) = copy_path.glob(".git/docyard/pending/*/journal")
    with journal.open("r+b") as stream:
        stream.truncate(length)
    return journal


def choose_lengths(crashed_repo: Path, step: int) -> list[int]:
    (journal,) = crashed_repo.glob(".git/docyard/pending/*/journal")
    size = journal.stat().st_size
    return sorted({*range(0, size, step), size - 1, size})


@pytest.mark.guarantee
@parametrize_step(sample_step=96, slow_step=6)
def test_torn_journal_is_cleaned_up_and_next_write_commits(
    server: ForkServer,
    templates_by_kind: dict[str, RepoTemplate],
    crashed_repo: Path,
    copy_path: Path,
    report_line: ReportLine,
    step: int,
) -> None:
    lengths = choose_lengths(crashed_repo, step)
    for length in lengths:
        copy_with_torn_journal(crashed_repo, copy_path, length)
        server.run("recover", copy_path)
        assert not templates_by_kind["checked-out"].check(Repo(copy_path)), f"{length} bytes"
        if length % 8 == 0:  # only some lengths, because a write takes longer than a recovery
            assert server.run("write", copy_path).is_committed, f"{length} bytes"
            assert templates_by_kind["checked-out"].check(Repo(copy_path)), f"{length} bytes"
    report_line(f"the truncated journal: {len(lengths)} lengths")


@pytest.mark.guarantee
@parametrize_step(sample_step=96, slow_step=6)
def test_lock_of_another_program_is_not_removed(
    server: ForkServer, crashed_repo: Path, copy_path: Path, step: int
) -> None:
    for length in choose_lengths(crashed_repo, 3 * step)[:-1]:
        copy_with_torn_journal(crashed_repo, copy_path, length)
        *own_locks, foreign_lock = (copy_path / lock for lock in LOCKS)
        foreign_lock.unlink()
        foreign_lock.write_text("another's")
        assert server.run("recover", copy_path).response.get("error") is None
        assert not any(lock.exists() for lock in own_locks), f"{length} bytes"
        assert foreign_lock.read_text() == "another's", f"{length} bytes"


def test_foreign_lock_with_whole_journal_raises_locked(
    server: ForkServer, templates_by_kind: dict[str, RepoTemplate], crashed_repo: Path, copy_path: Path
) -> None:
    journal = copy_with_torn_journal(crashed_repo, copy_path, choose_lengths(crashed_repo, 1)[-1])
    foreign_lock = copy_path / LOCKS[2]
    foreign_lock.unlink()
    foreign_lock.write_text("another's")
    child_result = server.run("recover", copy_path)
    assert child_result.response["error"] == "LOCKED"
    assert LOCKS[2] in child_result.response["message"]
    assert str(copy_path) not in child_result.response["message"] + child_result.response["fix"]
    assert foreign_lock.read_text() == "another's"
    assert journal.exists()
    foreign_lock.unlink()
    server.run("recover", copy_path)
    assert not templates_by_kind["checked-out"].check(Repo(copy_path))
