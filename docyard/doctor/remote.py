"""Checks of how the served branch stands to its remote, as that was last seen: nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity
from workspace.errors import WorkspaceError
from workspace.git import ShallowHistory

if TYPE_CHECKING:
    from workspace.sync.status import Seen
    from workspace.workspace import Workspace

AREA = "repository"


def check_remote(workspace: Workspace) -> Iterator[Finding]:
    """What keeps the branch and its remote apart, and what the remote lacks."""
    from workspace.sync.choosing import chosen
    from workspace.sync.states import State

    settings = workspace.snapshot().config.remote
    if settings.is_automatic or settings.name is not None:
        try:
            chosen(workspace, settings.name)
        except WorkspaceError as error:
            yield Finding(
                Severity.ERROR,
                AREA,
                f"docyard.toml asks for an exchange with a remote, and {error.message}",
                error.fix,
            )
            return
    seen = workspace.standing().look()
    if seen is None:
        return
    if seen.stand.state is State.DIVERGED:
        yield _diverged(workspace, seen)
    if seen.stand.state is State.REWOUND:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"'{seen.remote}' no longer has what it had of the branch",
            "docyard sync --push brings it back, if it was not meant to go",
        )
    if (unpushed := seen.unpushed) is not None:
        more = " or more" if unpushed.is_more else ""
        commits = "commit was" if unpushed.commits == 1 and not more else "commits were"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"{unpushed.commits:,}{more} {commits} not pushed to '{seen.remote}' yet, since "
            f"{unpushed.since:%Y-%m-%d %H:%M}",
            "docyard sync",
        )


def _diverged(workspace: Workspace, seen: Seen) -> Finding:
    """Return why the branch and the remote's are apart, as far as that can be found without the remote."""
    from workspace.merge.trees_package import UnrelatedHistories
    from workspace.policy.protection import Protected
    from workspace.sync.joining import check_reviewed

    assert seen.stand.theirs is not None
    try:
        check_reviewed(workspace, seen.stand.theirs)
    except Protected as error:
        return Finding(Severity.ERROR, AREA, error.message, error.fix)
    except (ShallowHistory, UnrelatedHistories) as error:
        return Finding(Severity.WARNING, AREA, error.message, error.fix)
    return Finding(
        Severity.WARNING,
        AREA,
        f"the branch and that of '{seen.remote}' have each gone on",
        "docyard sync joins them, or shows what is in conflict",
    )
