"""The merge action of a forked child, and the two branches that it merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.repositories import Repo
from workspace.errors import WorkspaceError
from workspace.merge.commits import commit_merge
from workspace.workspace import Workspace

GUIDE = "# Guide\n\n## Install\n\nThe old words.\n\n## Use\n\nMore.\n"
BASE: Mapping[str, str] = {
    "guides/guide.md": GUIDE,
    "guides/other.md": "# Other\n\nIts words.\n",
    "person.md": "# Person\n\nText.\n",
    "run.md": "# Run\n\nText.\n",
    "attic/old/gone.md": "# Gone\n\nFarewell.\n",
}


def diverge(repo: Repo) -> str:
    """Commit on the branches `theirs` and `main`, and return the commit of `theirs` for a merge.

    Both change one document; `theirs` also adds, removes and moves files, and makes a file executable.
    """
    repo.commit(BASE, "Base")
    repo.git("checkout", "-q", "-b", "theirs")
    for path in ("attic/old/gone.md", "guides/other.md"):
        (repo.path / path).unlink()
    (repo.path / "run.md").chmod(0o755)
    theirs = repo.commit(
        {
            "guides/guide.md": GUIDE.replace("More.", "Much more."),
            "moved/here/other.md": BASE["guides/other.md"],
            "fresh/page.md": "# New page\n",
            "image.png": b"PNG\x00",
        },
        "Theirs",
    )
    repo.git("checkout", "-q", "main")
    repo.commit({"guides/guide.md": GUIDE.replace("The old words.", "The new words.")}, "Ours")
    return theirs


def merge(path: Path, arm: Callable[[], None], *, theirs: str, durable: bool = False) -> Mapping[str, object]:
    """Merge a commit into the served branch, and return the response to a client."""
    workspace = Workspace.open(path, durable=durable)
    branch = workspace.branch or ""
    arm()
    try:
        merge_result = commit_merge(
            workspace, branch, theirs, build_message=lambda merge: "Merge the other commit\n"
        )
    except WorkspaceError as error:
        return {"committed": False, "error": error.code, "message": error.message, "fix": error.fix}
    return {"committed": merge_result.is_new, "commit": merge_result.commit}
