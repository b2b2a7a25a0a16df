"""Which two commits `docyard diff` compares, and what differs between them at a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.exits import CannotError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


class Ends(NamedTuple):
    """The commits that are compared; `old` holds no document where there is nothing before the other."""

    old: Snapshot
    new: Snapshot


def ends(workspace: Workspace, refs: Sequence[str]) -> Ends:
    """Return what is meant by at most two refs, or by one such as `A..B` or `A...B`.

    Without a ref the tip is compared with the commit before it, and one ref with the tip. Three dots begin
    where both sides part, as in a pull request; a side that is left out is the tip.
    Raises CannotError for sides with nothing in common, and what `Workspace.at` raises.
    """
    if len(refs) == 1 and ".." in refs[0]:
        first, dots, second = _sides(refs[0])
    else:
        first, dots, second = (*refs, "", "")[0], "..", (*refs, "", "")[1]
    new = workspace.at(second)
    if new.commit is None:
        raise CannotError("the branch has no commit yet", fix="Commit a document first.")
    if not refs:
        return Ends(_before(new), new)
    old = workspace.at(first)
    return Ends(_parting(old, new) if dots == "..." else old, new)


def differences(workspace: Workspace, between: Ends, place: str | None, folder: Path) -> CommitChanges:
    """Return what differs, all of it or at a place whose path may count from a folder. Raises CannotError."""
    from docyard.cli.addresses import from_root
    from docyard.cli.proposals.changes import narrowed
    from workspace.document.addresses import split_address
    from workspace.proposals.review.changes import compare_commits
    from workspace.texts.text_file import LazyFilePaths

    changes = compare_commits(*between)
    if place is None:
        return changes
    for snapshot in (between.new, between.old):
        path, slug = split_address(from_root(place, workspace, snapshot, folder), LazyFilePaths(snapshot))
        if path in changes.paths:
            break
    return narrowed(changes, path, slug, of="what was committed between them")


def _sides(words: str) -> tuple[str, str, str]:
    """Two refs and what stands between them: no name holds two dots in a row (git-check-ref-format)."""
    dots = "..." if "..." in words else ".."
    first, _, second = words.partition(dots)
    return first, dots, second


def _before(new: Snapshot) -> Snapshot:
    """Return the first parent of a commit; nothing at all, of one that has none."""
    from workspace.snapshot.snapshot import Snapshot

    parents = new.git.commit(new.commit or "").parents
    if parents and not new.git.has(parents[0]):
        raise CannotError(
            "the commit before is not in this clone, which is shallow",
            fix="Fetch more of the history (git fetch --unshallow, in CI fetch-depth: 0).",
        )
    return new.at(parents[0]) if parents else Snapshot(new.git, None)


def _parting(old: Snapshot, new: Snapshot) -> Snapshot:
    """Return where two commits part: of several such places, the one that shows least of the first's own."""
    from workspace.git.ancestry import Graph
    from workspace.proposals.review.changes import MergeBases

    base = MergeBases(new.git, Graph(new.git)).find(old.commit or "", new.commit or "")
    if base is None:
        raise CannotError(
            "the two have no commit in common, so there is no place where they part",
            fix="Compare them as they are, with two dots: A..B.",
        )
    return new.at(base)
