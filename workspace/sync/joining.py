"""A branch that diverged is brought together with the remote's by a structural merge.

What each side changed under a rule has passed that side's own gate. Two things have passed none: new content
by which a conflict is decided, and text that the merge brings under a rule from where no rule governed it.
Both are refused like a direct write, unless the branch is that of a proposal. A commit with new content says
that a person decided it, so that this person does not approve it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import CONFIG_PATH
from workspace.git.messages import commit_message
from workspace.git.trees import Whole
from workspace.merge.committing import MergeConflict, Merged, commit_merge
from workspace.merge.conflict import Choice, Conflict, InvalidResolution
from workspace.merge.trees_package import WHOLE, FileConflict, Room, file_at, merge_commits
from workspace.policy.protection import Protected, named
from workspace.publishing import Busy, WorktreeBusy
from workspace.writing.write import HAND, is_for_proposal

if TYPE_CHECKING:
    from workspace.git import Entry, GitReader
    from workspace.merge.conflict import Resolution, UnitId
    from workspace.merge.trees_package import Merge, Resolutions
    from workspace.policy.unreviewed import Unreviewed
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""Decides conflicts, or some of them; it is given all that were found so far."""

_LISTED = 20
_ROUNDS = 10  # a conflict that was decided may uncover others


class _Versions(NamedTuple):
    """The files of both sides that a decision is about: where each side has them."""

    ours: Entry | None
    theirs: Entry | None


class _Kept(NamedTuple):
    """The side whose file is taken as it is, and the versions that the choice was made between."""

    choice: Choice
    versions: _Versions


class UnreviewedMerge(Protected):
    """A merge would bring text under a rule that nobody has reviewed for it, so nothing is merged.

    `conflicts` are the files, each as a whole: a person may keep the version of the side that was reviewed.
    `versions` are those files, by path.
    """

    def __init__(
        self,
        unreviewed: Sequence[Unreviewed],
        conflicts: Sequence[FileConflict],
        versions: Mapping[str, _Versions],
    ) -> None:
        first = unreviewed[0]
        paths = list(dict.fromkeys(one.path for one in unreviewed))
        side, kept = ("here", "--theirs") if first.is_ours else ("in the remote", "--ours")
        where = f" to {first.source}" if first.source != first.path else ""
        super().__init__(
            paths,
            message=f"{named(paths)} is protected by rule {first.number} of {CONFIG_PATH}, and a merge with "
            f"the remote would bring changes into it that were made {side}{where} and that nobody reviewed",
            fix=f"Run docyard sync {kept} {shlex.quote(first.path)} to keep the reviewed text, and propose "
            "the change; or read the changes, and merge with git pull.",
        )
        self.details["unreviewed"] = [_unreviewed_data(one) for one in unreviewed[:_LISTED]]
        self.conflicts = tuple(conflicts)
        self.versions = versions


def _unreviewed_data(one: Unreviewed) -> dict[str, object]:
    side = "ours" if one.is_ours else "theirs"
    return {"path": one.path, "source": one.source, "rule": one.number, "side": side}


def join(workspace: Workspace, branch: str, theirs: str, remote: str, choose: Choose | None = None) -> Merged:
    """Merge the remote's commit into a branch: first parent ours, second theirs.

    Raises MergeConflict with what is undecided, UnreviewedMerge, Protected, WorktreeBusy, and what
    `commit_merge` raises.
    """
    seen: dict[tuple[str, UnitId], FileConflict] = {}
    decided: dict[str, dict[UnitId, Resolution]] = {}
    kept: dict[str, _Kept] = {}
    versions: dict[str, _Versions] = {}  # of what is decided, by path: those that were shown

    def check(merge: Merge) -> None:
        check_attributes(workspace.git, branch, merge.changes, "merge @{upstream}")
        if any(_at(merge.ours, merge.theirs, path) != shown for path, shown in versions.items()):
            raise Busy("a file was written to while its conflict was decided; nothing was merged")
        if not is_for_proposal(branch):
            _check_content(merge, decided)
            _check_reviewed(merge)

    def merged() -> Merged:
        return commit_merge(
            workspace,
            branch,
            theirs,
            message=lambda _: _message(branch, remote, is_decided=bool(decided)),
            resolutions=decided,
            adjust=lambda merge: _with_one_side(merge, kept),
            check=check,
        )

    for _ in range(_ROUNDS):
        try:
            return merged()
        except MergeConflict as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            if not any(found.conflict.unit in new.get(found.path, {}) for found in error.conflicts):
                raise
            for path, units in new.items():
                decided.setdefault(path, {}).update(units)
                if error.tip is not None:
                    versions[path] = _at(workspace.snapshot(error.tip), workspace.snapshot(theirs), path)
        except UnreviewedMerge as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            sides = {
                path: _Kept(new[path][WHOLE].choice, error.versions[path])
                for path in error.versions
                if WHOLE in new.get(path, {})
            }
            is_new = not sides.items() <= kept.items()
            if not is_new or any(one.choice is Choice.CONTENT for one in sides.values()):
                raise
            kept.update(sides)
    return merged()


def check_reviewed(workspace: Workspace, theirs: str) -> None:
    """Raise UnreviewedMerge where a merge of the remote's commit would be refused for that; merge nothing.

    Conflicts come first: while there are any, nothing is known of what they are decided for.
    """
    merge = merge_commits(workspace.snapshot(), workspace.snapshot(theirs))
    if not merge.conflicts:
        _check_reviewed(merge)


def check_attributes(git: GitReader, branch: str, paths: Collection[str], command: str) -> None:
    """Raises WorktreeBusy where the rules of checkout change under a checkout of the branch.

    libgit2 would check the other files out by the rules that stand in the work tree now.
    """
    rules = next((path for path in paths if path.rpartition("/")[2] == ".gitattributes"), None)
    if rules is not None and git.worktrees_of(branch):
        raise WorktreeBusy(
            f"`{rules}` changes, and with it how files are checked out", fix=f"Run git {command} there."
        )


def _check_reviewed(merge: Merge) -> None:
    """Raise UnreviewedMerge where the merge brings text under a rule that did not govern it before."""
    # Imported here because a server answers its first questions without reading rules.
    from workspace.policy.unreviewed import find_unreviewed_of_both

    unreviewed = find_unreviewed_of_both(merge)
    if unreviewed:
        paths = dict.fromkeys(one.path for one in unreviewed)
        raise UnreviewedMerge(
            unreviewed,
            [_conflict(merge, path) for path in paths],
            {path: _versions(merge, path) for path in paths},
        )


def _conflict(merge: Merge, path: str) -> FileConflict:
    """Return both sides' files at a path as a conflict; a side that moved the file has none there."""
    versions = (file_at(side, path) for side in (merge.ours, merge.theirs))
    ours, theirs = (merge.ours.git.blob(entry.id) if entry and entry.is_blob else None for entry in versions)
    return FileConflict(path, Conflict(WHOLE, None, ours, theirs))


def _at(ours: Snapshot, theirs: Snapshot, path: str) -> _Versions:
    return _Versions(file_at(ours, path), file_at(theirs, path))


def _versions(merge: Merge, path: str) -> _Versions:
    sides = (merge.ours, merge.theirs)
    return _Versions(*(file_at(side, merge.source(path, side)) for side in sides))


def _with_one_side(merge: Merge, kept: Mapping[str, _Kept]) -> Merge:
    """Return a merge that has one side's files of some paths, each where that side has it.

    A choice between other versions than those of this merge is left out. Raises InvalidResolution.
    """
    chosen: dict[str, Whole] = {}
    for path, one in kept.items():
        if one.versions == _versions(merge, path):
            side = merge.ours if one.choice is Choice.OURS else merge.theirs
            for place in (path, merge.source(path, side)):
                chosen[place] = Whole(file_at(side, place))
    if not chosen:
        return merge
    made = {**merge.changes, **chosen}
    leaving = {path for path, change in made.items() if change == Whole(None)}
    room = Room(merge.ours, merge.theirs, leaving)
    for path, change in chosen.items():
        is_new = change != Whole(None) and file_at(merge.ours, path) is None
        taken = room.taken(path) if is_new else None
        if taken is not None:
            raise InvalidResolution(
                f"'{path}' cannot be kept, because '{taken}' is in its place",
                fix=f"Rename or remove '{taken}' first.",
            )
    return merge._replace(changes=dict(sorted(made.items())))


def _check_content(merge: Merge, decided: Resolutions) -> None:
    """Raises Protected for new content that may only come with a proposal."""
    new = {
        place
        for path, units in decided.items()
        if any(how.choice is Choice.CONTENT for how in units.values())
        for place in (path, merge.moved.get(path, path))
    }
    made = {path: merge.changes[path] for path in new if path in merge.changes}
    if made:
        from workspace.policy.protection import check_direct

        for side in (merge.ours, merge.theirs):
            check_direct(side, made)


def _message(branch: str, remote: str, *, is_decided: bool) -> str:
    words = f"Merge '{branch}' of {remote}"
    trailers = {HAND: "git"} if is_decided else None
    return commit_message([words], paths=[], message=None, tool="sync", client="docyard", trailers=trailers)
