"""Actions that a forked child runs in a repository after the shim is armed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from templates import builtin_types
from tests import repositories
from tests.faults.support.event_actions import append_events
from tests.faults.support.merge_actions import diverge, merge
from tests.faults.support.proposal_actions import make_proposal_repository, run_proposal_action
from tests.faults.support.sync_actions import make_diverged_clones, sync
from workspace.edits.documents import CreateDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.text import AppendContent, UpdateContent
from workspace.errors import WorkspaceError
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyedRequest
from workspace.writing.plan import BatchMode

OLD_WORDS, NEW_WORDS = "The old words.", "The new words."

FILES: Mapping[str, str] = {
    "README.md": "# Example\n\nText.\n",
    "person.md": "# Person\n\nText.\n",
    "staged.md": "# Staged\n\nText.\n",
    "guides/nested/setup.md": f"# Setup\n\nSteps.\n\n## Install\n\n{OLD_WORDS}\n\n## Use\n\nMore.\n",
    "guides/nested/other.md": "# Other\n",
    "attic/old/gone.md": "# Gone\n\nFarewell.\n",
}
"""The files that are committed before the batch."""

CREATED_PATH = "fresh/folder/new-page.md"

Arm = Callable[[], None]
"""Arms the shim: calls are counted and the fault is injected from then on."""


def make_operations() -> Sequence[Operation]:
    """Return a batch that edits a section, creates a document in a new folder and removes a document."""
    return [
        UpdateContent(file="guides/nested/setup.md", slug="install", content=NEW_WORDS),
        CreateDocument(
            type=builtin_types()["document"],
            title="New page",
            content="Fresh words.",
            folder="fresh/folder",
        ),
        RemoveDocument(path="attic/old/gone.md"),
    ]


BATCHES: Mapping[str, Callable[[], Sequence[Operation]]] = {
    "three files": make_operations,
    "one section": lambda: make_operations()[:1],
    "another": lambda: [AppendContent(file="README.md", slug="_preamble", content="Other words.")],
}


def write(
    path: Path,
    arm: Arm,
    *,
    durable: bool = False,
    batch: str = "three files",
    base: str | None = None,
    branch: str | None = None,
) -> Mapping[str, object]:
    """Write a batch on `base` (default: the tip), and return the response to a client.

    The name of the batch is its idempotency key.
    """
    workspace = Workspace.open(path, durable=durable, branch=branch)
    base = base or workspace.tip()
    request = KeyedRequest(
        batch.replace(" ", "-"), hashlib.sha256(batch.encode()).hexdigest(), lambda plan: {"key": batch}
    )
    chosen_operations = BATCHES[batch]()
    arm()
    try:
        write_result = workspace.write(
            chosen_operations,
            mode=BatchMode.EACH,
            tool="edit_document",
            client="faults",
            base_commit=base,
            keyed_request=request,
        )
    except WorkspaceError as error:
        return _describe_error(error)
    if write_result.recorded_request is not None:
        assert write_result.recorded_request.result == {"key": batch}
    return {
        "committed": write_result.is_committed,
        "commit": write_result.commit,
        "repeated": write_result.recorded_request is not None,
    }


def recover(path: Path, arm: Arm) -> Mapping[str, object]:
    """Recover after a crash, as a server does at its start."""
    workspace = Workspace.open(path)
    arm()
    try:
        workspace.recover()
    except WorkspaceError as error:
        return _describe_error(error)
    return {}


ACTIONS: Mapping[str, Callable[..., Mapping[str, object]]] = {
    "write": write,
    "recover": recover,
    "append events": append_events,
    "merge": merge,
    "proposal action": run_proposal_action,
    "sync": sync,
}


def run_all_actions(folder: Path) -> None:
    """Run every action once, so that a child does not import modules."""
    repo = repositories.create_repository(folder / "repo", FILES)
    for durable in (True, False):
        write(repo.path, lambda: None, durable=durable)
    recover(repo.path, lambda: None)
    append_events(repo.path, lambda: None)
    repo = repositories.create_repository(folder / "diverged", {})
    merge(repo.path, lambda: None, theirs=diverge(repo), durable=True)
    run_proposal_action(
        make_proposal_repository(folder / "proposal", "merge").path, lambda: None, action_name="merge"
    )
    make_diverged_clones(folder / "diverged-clones")
    sync(folder / "diverged-clones" / "clone", lambda: None)


def _describe_error(error: WorkspaceError) -> Mapping[str, object]:
    return {"committed": False, "error": error.code, "message": error.message, "fix": error.fix}
