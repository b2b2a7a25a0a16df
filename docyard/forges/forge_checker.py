"""The check of the pull requests on the forge after a fetch; only one check runs at a time.

Modules are imported on demand, because only a workspace with `[forge]` in its settings needs them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.forge_repository import ForgeAccess
    from docyard.forges.pull_request_sync import ForgeCheckResult, PullRequestImporter
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace


_DEFAULT_RETRY_DELAY_S = 60.0  # after a rate limit for which the forge reports no delay


class ForgeChecker:
    """A checker of the pull requests of a served branch on its forge. Thread-safe.

    `access` returns the forge settings of the environment; it is called again for each check.
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
        self._importer: PullRequestImporter | None = None
        # The time from which the forge may be called again, and the result with its rate limit.
        self._rate_limited_result: tuple[float, ForgeCheckResult] | None = None

    def import_changes(
        self,
        sync_result: SyncResult,
        *,
        branches: Collection[str] | None = None,
        numbers: Collection[int] = (),
    ) -> ForgeCheckResult | None:
        """Import the changes on the forge after a fetch; None if the settings have no forge or are invalid.

        After a rate limit, the forge is not called until the retry time; the last result is returned.
        Errors of the forge are not raised: the result contains the first error.
        """
        try:
            if self.workspace.snapshot().config.forge is None:
                return None
        except WorkspaceError:
            return None  # other calls report invalid settings
        with self._lock:
            if self._rate_limited_result is not None and self._clock() < self._rate_limited_result[0]:
                return self._rate_limited_result[1]
            return self._run_check(sync_result, branches, numbers)

    def _run_check(
        self, sync_result: SyncResult, branches: Collection[str] | None, numbers: Collection[int]
    ) -> ForgeCheckResult | None:
        from docyard.forges.errors import ForgeLimited
        from docyard.forges.open_forge import open_forge
        from docyard.forges.pull_request_sync import ForgeCheckResult, PullRequestImporter

        try:
            forge = open_forge(self.workspace, self._access())
        except WorkspaceError as error:
            settings = self.workspace.snapshot().config.forge
            return ForgeCheckResult((settings.kind if settings else None) or "forge", (), error)
        if forge is None:
            return None
        if self._importer is None:
            self._importer = PullRequestImporter(self.workspace)
        try:
            check_result = self._importer.import_changes(
                forge,
                sync_result.remote,
                was_pushed=sync_result.pushed_count > 0,
                branches=branches,
                numbers=numbers,
            )
        finally:
            forge.close_connections()
        self._rate_limited_result = None
        if isinstance(check_result.error, ForgeLimited):
            retry_after = check_result.error.retry_after
            self._rate_limited_result = (
                self._clock() + (_DEFAULT_RETRY_DELAY_S if retry_after is None else retry_after),
                check_result,
            )
        return check_result
