"""Handles: opaque tokens that name a walkthrough and the step that its caller received last.

The caller keeps the handle, so a server stores nothing. A MAC of `index.cursors` proves that Docyard issued
the handle. Its key is stored, so a handle is valid after a restart, and on all nodes that share the key.

A handle also contains the commit that the caller read. `resolve_handle` compares this commit with the tip:
the document may have been renamed, and steps may have been added, removed, moved or renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.history.moved_addresses import find_moved_location
from workspace.nearest import find_nearest
from workspace.snapshot.walkthroughs import find_walkthrough, list_walkthroughs

if TYPE_CHECKING:
    from index.storage.keys import SigningKeys
    from workspace.document.walkthrough import Step, Walkthrough
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_KIND = "walkthrough"
_VALUE_COUNT = 7

# A longer key is read from the handle's commit instead, so that the handle stays short.
_MAX_KEY_CHARACTERS = 300

FIX_RESTART = "Call start_walkthrough for a new handle, or search without a handle."


class InvalidHandle(WorkspaceError):
    """The handle is malformed, was changed, or was not issued by this server."""

    code: ClassVar[str] = "INVALID_HANDLE"


class WalkthroughRemoved(WorkspaceError):
    """The walkthrough of a handle was removed, or is no longer a walkthrough.

    `walkthrough` is its former id, and `candidates` are the ids of the most similar walkthroughs.
    """

    code: ClassVar[str] = "WALKTHROUGH_GONE"


@dataclass(frozen=True, slots=True)
class Handle:
    """The values in a handle: a walkthrough of a namespace at a commit, and a step of it.

    `walkthrough` is its id, and `number` the number of the step that the caller received last; 0 before the
    first step. `key` is the key of the step's section; None before the first step, and for a very long key.
    `organization` is the id of the namespace's owner.
    """

    namespace: str
    walkthrough: str
    commit: str | None
    number: int
    key: str | None
    organization: str = ""


@dataclass(frozen=True, slots=True)
class WalkthroughPosition:
    """A position in the current version of a walkthrough.

    `number` counts the steps up to the one that the caller received last. `step` is this step; None before
    the first step, and if the step was removed.
    """

    snapshot: Snapshot
    walkthrough: Walkthrough
    number: int
    step: Step | None

    @property
    def next_step(self) -> Step | None:
        """The step after the current one, or None after the last step."""
        steps = self.walkthrough.steps
        return steps[self.number] if self.number < len(steps) else None

    @property
    def is_done(self) -> bool:
        """Return True if there is no further step."""
        return self.next_step is None


def write_handle(
    keys: SigningKeys,
    *,
    namespace: str,
    walkthrough: Walkthrough,
    commit: str | None,
    number: int,
    organization: str = "",
) -> str:
    """Return the handle for a step of a walkthrough; step 0 is before the first one."""
    from index.cursors import sign_token

    key = walkthrough.steps[number - 1].key if number else None
    if key is not None and len(key) > _MAX_KEY_CHARACTERS:
        key = None
    values = [_KIND, namespace, walkthrough.id, commit, number, key, organization]
    return sign_token(keys.get_signing_key(), values)


def read_handle(keys: SigningKeys, text: str) -> Handle:
    """Return the values in a handle. Raises InvalidHandle."""
    from index.cursors import InvalidCursor, verify_token

    try:
        kind, *values = verify_token(keys.list_verification_keys(), text.strip(), _VALUE_COUNT)
    except InvalidCursor:
        raise InvalidHandle(
            "the handle is malformed, was changed, or was not issued by this server", fix=FIX_RESTART
        ) from None
    if kind != _KIND:
        raise InvalidHandle("the handle belongs to another tool", fix=FIX_RESTART)
    return Handle(*values)


def resolve_handle(workspace: Workspace, handle: Handle) -> WalkthroughPosition:
    """Return the position of a handle in the walkthrough at the tip of its workspace.

    A step is found by its key, else by the moves in the history, else as `estimate_number` describes.
    Raises WalkthroughRemoved, and LfsTextMissing and LimitExceeded for a document that cannot be read.
    """
    snapshot = workspace.snapshot()
    walkthrough = _find_current_walkthrough(workspace, snapshot, handle.walkthrough)
    if walkthrough is None:
        raise _make_removed_error(snapshot, handle.walkthrough)
    if handle.number == 0:
        return WalkthroughPosition(snapshot, walkthrough, 0, None)
    step = walkthrough.find_step(handle.key) if handle.key is not None else None
    if step is not None:
        return WalkthroughPosition(snapshot, walkthrough, step.number, step)
    old_keys = _read_old_keys(workspace, handle)
    key = old_keys[handle.number - 1] if handle.number <= len(old_keys) else handle.key
    step = _find_moved_step(workspace, snapshot, handle, walkthrough, key)
    if step is not None:
        return WalkthroughPosition(snapshot, walkthrough, step.number, step)
    keys = [step.key for step in walkthrough.steps]
    number, is_present = estimate_number(old_keys, handle.number, keys)
    return WalkthroughPosition(
        snapshot, walkthrough, number, walkthrough.steps[number - 1] if is_present else None
    )


def estimate_number(old_keys: Sequence[str], number: int, keys: Sequence[str]) -> tuple[int, bool]:
    """Return the present number of a step whose key is missing in `keys`, and True if the step is present.

    A step with as many steps between its neighbours as before was rewritten. Otherwise it was removed, and
    the number is that of its nearest earlier neighbour, so that no later step is skipped. If no step has its
    old key, the number counts.
    """
    present_numbers = {key: present_number for present_number, key in enumerate(keys, 1)}
    common_steps = [
        (old_number, present_numbers[key])
        for old_number, key in enumerate(old_keys, 1)
        if key in present_numbers
    ]
    if not common_steps:
        return min(number, len(keys)), number <= len(keys)
    pairs = [(0, 0), *common_steps, (len(old_keys) + 1, len(keys) + 1)]
    old_before, before = max(pair for pair in pairs if pair[0] < number)
    old_after, after = min(pair for pair in pairs if pair[0] > number)
    if after - before == old_after - old_before:
        return before + number - old_before, True
    return before, False


def _find_current_walkthrough(workspace: Workspace, snapshot: Snapshot, path: str) -> Walkthrough | None:
    location = find_moved_location(workspace.moves, snapshot, path, None)
    return find_walkthrough(snapshot, location.file if location else path)


def _make_removed_error(snapshot: Snapshot, path: str) -> WalkthroughRemoved:
    ids = [walkthrough.id for walkthrough in list_walkthroughs(snapshot)]
    nearest = find_nearest(path, ids)
    fix = (
        f"Search without a handle, or call start_walkthrough with another id: '{(nearest or ids)[0]}'."
        if ids
        else "Search without a handle: there are no walkthroughs now."
    )
    return WalkthroughRemoved(
        f"'{path}' is no longer a walkthrough"
        if snapshot.entry(path) is not None
        else f"the walkthrough '{path}' was removed",
        fix=fix,
        walkthrough=path,
        candidates=nearest,
    )


def _read_old_keys(workspace: Workspace, handle: Handle) -> tuple[str, ...]:
    """Return the keys of the steps at the handle's commit; empty if this commit cannot be read."""
    try:
        if handle.commit is None or not workspace.has_commit(handle.commit):
            return ()
        walkthrough = find_walkthrough(workspace.snapshot(handle.commit), handle.walkthrough)
    except WorkspaceError:
        return ()
    return tuple(step.key for step in walkthrough.steps) if walkthrough is not None else ()


def _find_moved_step(
    workspace: Workspace, snapshot: Snapshot, handle: Handle, walkthrough: Walkthrough, key: str | None
) -> Step | None:
    """Return the step with this key, or the step that this key named earlier; None if there is none."""
    if key is None:
        return None
    if (step := walkthrough.find_step(key)) is not None:
        return step
    location = find_moved_location(workspace.moves, snapshot, handle.walkthrough, key)
    if location is None or location.file != walkthrough.id or location.slug is None:
        return None
    return walkthrough.find_step(location.slug)
