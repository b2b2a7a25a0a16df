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
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.actions.repository import build_branch_name
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Author, Commented, IdentitySource, Opened
from workspace.sync.sync import sync as synchronise
from workspace.workspace import Workspace

PROPOSAL_ID = "k7m2q9xa"
PROPOSAL_BRANCH = build_branch_name(PROPOSAL_ID, "Say more")
BRANCHES = ("main", DISCUSSION_BRANCH, PROPOSAL_BRANCH)
ADA = Author("Ada", "ada@example.org", IdentitySource.GIT)


def make_diverged_clones(folder: Path) -> None:
    """Create `clone` and `remote.git` in a folder, with diverged `BRANCHES` that have no conflicts."""
    clone, remote = repositories.create_repository(folder / "clone", {}), folder / "remote.git"
    theirs = diverge(clone)
    clone.git("branch", PROPOSAL_BRANCH, "main^")
    _append(clone, Opened("Say more", "", "main", PROPOSAL_BRANCH, clone.head()))
    clone.git("clone", "-q", "--bare", ".", str(remote))
    clone.git("remote", "add", "origin", "../remote.git")
    clone.git("fetch", "-q")
    _advance(clone, "ours.md")
    ours = {branch: clone.git("rev-parse", branch).strip() for branch in (DISCUSSION_BRANCH, PROPOSAL_BRANCH)}
    for branch in ours:
        clone.git("update-ref", f"refs/heads/{branch}", f"origin/{branch}")
    _advance(clone, "theirs.md")
    clone.git("push", "-q", "origin", DISCUSSION_BRANCH, PROPOSAL_BRANCH, f"+{theirs}:refs/heads/main")
    # The remote-tracking refs are at the commits before these changes, as in a clone that did not fetch.
    for branch, commit in ours.items():
        clone.git("update-ref", f"refs/remotes/origin/{branch}", f"{branch}^")
        clone.git("update-ref", f"refs/heads/{branch}", commit)
    clone.git("update-ref", "refs/remotes/origin/main", "main^")
    clone.git("branch", "-q", "-D", "theirs")
    for unneeded_folder in (
        clone.path / ".git/logs/refs/remotes",
        remote / "hooks",
        clone.path / ".git/hooks",
    ):
        shutil.rmtree(unneeded_folder, ignore_errors=True)


def sync(
    path: Path, arm: Callable[[], None], *, push: bool = True, durable: bool = False
) -> Mapping[str, object]:
    """Synchronize, and return the response to a user. The exchanges run in this process."""
    RemoteProcess.run = _run_call  # type: ignore[assignment,method-assign]
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


def _run_call(process: Any, peer: Peer, call: Any, progress: Progress | None = None) -> Any:
    """Run a call of an exchange in this process, where faults hit it. Replaces `RemoteProcess.run`."""
    call_result = remote_process._run_call(process._repository, peer, call, partial(_ignore_progress))
    if isinstance(call_result, remote_process._CallFailure):
        raise call_result.error
    return call_result.result


def _ignore_progress(done: float, total: float | None, message: str | None) -> None:
    """Ignore progress."""


def _append(repo: Repo, *bodies: Opened | Commented) -> None:
    EventLog(GitStore(repo.path), durable=False).append(PROPOSAL_ID, bodies, ADA, tool="test", client="test")


def _advance(repo: Repo, name: str) -> None:
    _append(repo, Commented(name))
    repo.git("checkout", "-q", PROPOSAL_BRANCH)
    repo.commit({name: f"# {name}\n"})
    repo.git("checkout", "-q", "main")
