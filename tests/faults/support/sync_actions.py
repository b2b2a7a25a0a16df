"""The synchronization action of a forked child, with a remote in a folder next to the repository."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests import repositories
from tests.faults.support.merge_actions import diverge
from tests.repositories import Repo
from workspace.errors import WorkspaceError
from workspace.git.remotes import process as remote_process
from workspace.git.remotes.credentials import Access
from workspace.git.remotes.exchange import Peer, Progress
from workspace.git.remotes.process import RemoteProcess
from workspace.git.store import GitStore
from workspace.proposal_ids import BRANCH as DISCUSSION
from workspace.proposals.actions.repository import build_branch_name
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, KnownBy, Opened
from workspace.sync.sync import sync as synchronise
from workspace.workspace import Workspace

ID = "k7m2q9xa"
PROPOSAL = build_branch_name(ID, "Say more")
BRANCHES = ("main", DISCUSSION, PROPOSAL)
ADA = Author("Ada", "ada@example.org", KnownBy.GIT)


def make_diverged_clones(folder: Path) -> None:
    """Make `here` and `there.git` in a folder: each of `BRANCHES` has diverged, without a conflict."""
    here, there = repositories.create_repository(folder / "here", {}), folder / "there.git"
    theirs = diverge(here)
    here.git("branch", PROPOSAL, "main^")
    _append(here, Opened("Say more", "", "main", PROPOSAL, here.head()))
    here.git("clone", "-q", "--bare", ".", str(there))
    here.git("remote", "add", "origin", "../there.git")
    here.git("fetch", "-q")
    _advance(here, "ours.md")
    ours = {branch: here.git("rev-parse", branch).strip() for branch in (DISCUSSION, PROPOSAL)}
    for branch in ours:
        here.git("update-ref", f"refs/heads/{branch}", f"origin/{branch}")
    _advance(here, "theirs.md")
    here.git("push", "-q", "origin", DISCUSSION, PROPOSAL, f"+{theirs}:refs/heads/main")
    # The remote-tracking refs are those of a clone that has not fetched since.
    for branch, commit in ours.items():
        here.git("update-ref", f"refs/remotes/origin/{branch}", f"{branch}^")
        here.git("update-ref", f"refs/heads/{branch}", commit)
    here.git("update-ref", "refs/remotes/origin/main", "main^")
    here.git("branch", "-q", "-D", "theirs")
    for logs in (here.path / ".git/logs/refs/remotes", there / "hooks", here.path / ".git/hooks"):
        shutil.rmtree(logs, ignore_errors=True)


def sync(
    path: Path, arm: Callable[[], None], *, push: bool = True, durable: bool = False
) -> Mapping[str, object]:
    """Synchronize, and return the response to a user. The exchanges run in this process."""
    RemoteProcess.run = _run  # type: ignore[assignment,method-assign]
    workspace = Workspace.open(path, durable=durable)
    arm()
    try:
        report = synchronise(workspace, Access(), push=push)
    except WorkspaceError as error:
        return {"committed": False, "errors": [error.message], "fix": error.fix}
    except OSError as error:
        return {"committed": False, "errors": [type(error).__name__]}
    errors = [
        other_branch.error.message for other_branch in report.other_branches if other_branch.error is not None
    ]
    return {"committed": not errors, "state": report.state.value, "errors": errors}


def _run(process: Any, peer: Peer, call: Any, progress: Progress | None = None) -> Any:
    """Replace `RemoteProcess.run` in this process, so that faults also hit the calls of the exchange."""
    ended = remote_process._run_call(process._repository, peer, call, partial(_silent))
    if isinstance(ended, remote_process._CallFailure):
        raise ended.error
    return ended.result


def _silent(done: float, total: float | None, message: str | None) -> None:
    """Ignore progress."""


def _append(repo: Repo, *words: Opened | Commented) -> None:
    EventLog(GitStore(repo.path), durable=False).append(ID, words, ADA, tool="test", client="test")


def _advance(repo: Repo, name: str) -> None:
    _append(repo, Commented(name))
    repo.git("checkout", "-q", PROPOSAL)
    repo.commit({name: f"# {name}\n"})
    repo.git("checkout", "-q", "main")
