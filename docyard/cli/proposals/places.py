"""Which place of a proposal a person means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.proposals import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_LEAST = 7  # characters of a commit's id that are taken for it


def snapshot_of(workspace: Workspace, one: Proposal) -> Snapshot:
    """The proposal's documents: at its tip, else as the target took them in, else the target's own."""
    taken_in = one.landing.tip if one.landing is not None else None
    return workspace.snapshot(one.tip or taken_in)


def place_in(
    workspace: Workspace, one: Proposal, place: str | None, folder: Path
) -> tuple[str | None, str | None]:
    """The path and the section's address of a place, whose path may count from a folder; None for neither."""
    if place is None:
        return None, None
    from docyard.cli.addresses import from_root
    from workspace.document.addresses import split_address
    from workspace.texts.files import Files

    snapshot = snapshot_of(workspace, one)
    return split_address(from_root(place, workspace, snapshot, folder), Files(snapshot))


def full_commit(one: Proposal, commit: str | None) -> str | None:
    """The proposal's tip where that is what someone has typed the beginning of; else what was typed."""
    tip = one.tip or ""
    typed = (commit or "").lower()
    return tip if len(typed) >= _LEAST and tip.startswith(typed) else commit
