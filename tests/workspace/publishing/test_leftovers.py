"""Leftovers of a process that died during a publication are found, and files of other programs are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import repositories
from tests.loops import loop_over
from workspace.git.store import GitStore
from workspace.publishing.batch import Batch
from workspace.publishing.locks import docyard_lock
from workspace.publishing.publish import publish
from workspace.publishing.recovery import Leftovers, RecoveryResult, find_leftovers, recover

# This script publishes a change, and exits at the n-th call of a function of `os`.
DYING_WRITER_SCRIPT = """
import os, sys
from pathlib import Path
from tests.repositories import make_signature
from workspace.git.store import GitStore
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish
repository, base, call, number = sys.argv[1:]
original, remaining_calls = getattr(os, call), int(number)
def die(*arguments, **options):
    global remaining_calls
    remaining_calls -= 1
    if not remaining_calls:
        os._exit(9)
    return original(*arguments, **options)
setattr(os, call, die)
changes = {"README.md": b"# Changed\\n", "new.md": b"# New\\n"}
publish(GitStore(Path(repository)), Batch("main", base, changes, "Agent", make_signature()), durable=False)
"""

LOCKS = ("index.lock", "HEAD.lock", "refs/heads/main.lock")


@pytest.mark.process
@loop_over(
    ("call", "number", "locks", "is_committed"),
    [
        ("link", 1, (), False),
        ("link", 2, ("index.lock",), False),
        ("link", 3, ("index.lock", "HEAD.lock"), False),
        ("link", 4, LOCKS, False),
        ("rename", 2, LOCKS, False),
        ("rename", 3, LOCKS, False),
        ("write", 2, LOCKS, True),
    ],
)
def test_leftovers_of_killed_writer_are_found_and_recovered(
    tmp_path: Path, call: str, number: int, locks: tuple[str, ...], is_committed: bool
) -> None:
    repo = repositories.create_repository(tmp_path)
    base = repo.head()
    process = subprocess.run(
        (sys.executable, "-c", DYING_WRITER_SCRIPT, str(tmp_path), base, call, str(number)),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 9, process.stderr
    common_dir = tmp_path / ".git"
    leftovers = find_leftovers(common_dir)
    assert len(leftovers.folders) == 1
    assert leftovers.locks == locks
    assert (repo.head() != base) == is_committed
    assert recover(GitStore(tmp_path)) == RecoveryResult(
        rolled_back_count=not is_committed, rolled_forward_count=is_committed
    )
    assert find_leftovers(common_dir) == Leftovers((), ())
    assert (repo.head() != base) == is_committed
    assert repo.status() == ""
    assert repo.git("reflog", "-1", "--format=%H").strip() == repo.head()
    batch = Batch("main", repo.head(), {"README.md": b"# Again\n"}, "Agent", repositories.make_signature())
    publish(GitStore(tmp_path), batch, durable=False)
    assert repo.status() == ""
    assert repo.fsck() == ""


def test_active_writer_and_foreign_locks_are_not_leftovers(tmp_path: Path) -> None:
    repositories.create_repository(tmp_path)
    common_dir = tmp_path / ".git"
    pending_folder = common_dir / "docyard" / "pending" / "0123456789abcdef"
    pending_folder.mkdir(parents=True)
    (pending_folder / "index").write_bytes(b"")
    (common_dir / "index.lock").write_bytes(b"")
    assert find_leftovers(common_dir).locks == ()
    (common_dir / "index.lock").unlink()
    os.link(pending_folder / "index", common_dir / "index.lock")
    assert find_leftovers(common_dir).locks == ("index.lock",)
    with docyard_lock(common_dir):
        assert find_leftovers(common_dir).folders == find_leftovers(common_dir).locks == ()
