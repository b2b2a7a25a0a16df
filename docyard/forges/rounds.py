"""One check of the forge after each exchange with the remote, one at a time.

Imports are late: only a workspace with `[forge]` in its settings needs them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.forge_repository import ForgeAccess
    from docyard.forges.pull_request_sync import ForgeRound, PullRequestFollower
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace

_DEFAULT_RETRY_DELAY_S = 60.0
"""The delay after a rate limit without a retry time."""


class ForgeRounds:
    """The checks of the forge of a served branch. Safe in several threads.

    `access` returns the forge settings of the environment; it is called again for each round.
    """

    def __init__(
        self,
        workspace: Workspace,
        access: Callable[[], ForgeAccess],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workspace = workspace
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._follower: PullRequestFollower | None = None
        self._retry_time_and_round: tuple[float, ForgeRound] | None = None

    def follow(
        self,
        sync_result: SyncResult,
        *,
        branches: Collection[str] | None = None,
        numbers: Collection[int] = (),
    ) -> ForgeRound | None:
        """Import the changes on the forge after a fetch; return None without a forge.

        After a rate limit the forge is not called until its retry time; the last round is returned. Errors of
        the forge are not raised: they are in the round.
        """
        try:
            if self.workspace.snapshot().config.forge is None:
                return None
        except WorkspaceError:
            return None  # other calls report invalid settings
        with self._lock:
            if self._retry_time_and_round is not None and self._clock() < self._retry_time_and_round[0]:
                return self._retry_time_and_round[1]
            return self._run_round(sync_result, branches, numbers)

    def _run_round(
        self, sync_result: SyncResult, branches: Collection[str] | None, numbers: Collection[int]
    ) -> ForgeRound | None:
        from docyard.forges.choice import open_forge
        from docyard.forges.errors import ForgeLimited
        from docyard.forges.pull_request_sync import ForgeRound, PullRequestFollower

        try:
            forge = open_forge(self.workspace, self._access())
        except WorkspaceError as error:
            settings = self.workspace.snapshot().config.forge
            return ForgeRound((settings.kind if settings else None) or "forge", (), error)
        if forge is None:
            return None
        if self._follower is None:
            self._follower = PullRequestFollower(self.workspace)
        try:
            forge_round = self._follower.follow(
                forge,
                sync_result.remote,
                was_pushed=sync_result.pushed_count > 0,
                branches=branches,
                numbers=numbers,
            )
        finally:
            forge.close_connections()
        self._retry_time_and_round = None
        if isinstance(forge_round.error, ForgeLimited):
            retry_after = forge_round.error.retry_after
            self._retry_time_and_round = (
                self._clock() + (_DEFAULT_RETRY_DELAY_S if retry_after is None else retry_after),
                forge_round,
            )
        return forge_round
