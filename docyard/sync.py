"""Synchronization of a served branch with its remote, on a schedule and after commits.

The schedule is a setting of `docyard.toml` at the tip of the branch.

The synchronization runs in its own thread, so that no response waits for the network. An error is logged
once, until another error or a success follows; meanwhile every response reports it (`tools.caveats`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.git.store import GitStore

if TYPE_CHECKING:
    from docyard.forges.forge_checker import ForgeChecker
    from workspace.config.tables import RemoteSettings
    from workspace.git.remotes.credentials import Access
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")

_COLLECTION_TIME_S = 0.05  # commits within this time are pushed together
_FIRST_EXCHANGE_DELAY_S = 1.0  # the delay of the first exchange of a schedule
_NODE_INTERVAL_S = 10.0  # the longest time between two fetches if other nodes write the repository too
_REQUEST_INTERVAL_S = 1.0  # the shortest time between two requested exchanges
_SETTINGS_INTERVAL_S = 10.0  # the longest time between two reads of the settings
_RETRY_DELAY_S, _MAX_RETRY_DELAY_S = 5.0, 300.0  # the delay of a retry of a failed push, doubled each time
_LAST_PUSH_TIMEOUT_S = 5.0  # when the server ends, it waits at most this long for the last push

UnpushedTips = frozenset[tuple[str, str]]
"""Branches whose tips the remote does not have, each with its commit."""


class Synchronizer:
    """The synchronization of the served branch with its remote, from `start` to `close`.

    `access` returns the user's credentials and is called for each exchange. `forge_checker` imports the
    changes of pull requests after each fetch.
    """

    def __init__(
        self, workspace: Workspace, access: Callable[[], Access], forge_checker: ForgeChecker | None = None
    ) -> None:
        self._workspace = workspace
        self._access = access
        self._forge_checker = forge_checker
        self._schedule_changed = threading.Event()
        self._close_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="docyard-sync", daemon=True)
        self._next_exchange_at: float | None = None  # monotonic seconds
        self._retry_at, self._retry_delay_s = 0.0, _RETRY_DELAY_S
        self._tried_tips: UnpushedTips = frozenset()
        self._is_fetch_requested = False
        self._last_exchange_at = -_REQUEST_INTERVAL_S

    def start(self) -> None:
        """Start the thread, which reads the settings first."""
        self._thread.start()

    def notify_commit(self) -> None:
        """Schedule a push for a possible new commit, and return at once."""
        self._schedule_changed.set()

    def request_fetch(self) -> None:
        """Schedule an exchange at once, if there is a schedule of fetches, and return at once.

        Of the requests of a second, one causes an exchange.
        """
        self._is_fetch_requested = True
        self._schedule_changed.set()

    def close(self) -> None:
        """Stop the thread, after a last push with a limit of 5 seconds."""
        self._close_requested.set()
        self._schedule_changed.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_PUSH_TIMEOUT_S)

    def _run(self) -> None:
        while True:
            is_last = self._close_requested.is_set()
            self._schedule_changed.clear()
            try:
                self._exchange_if_due(is_last=is_last)
            except WorkspaceError as error:
                log.debug("the settings of the remote cannot be read: %s", error.message)
            except Exception:  # an error of this program must not end the synchronization for good
                log.exception("synchronization failed")
                self._close_requested.wait(_SETTINGS_INTERVAL_S)
            if is_last:
                return
            self._schedule_changed.wait(self._compute_wait_s())
            if not self._close_requested.is_set():
                time.sleep(_COLLECTION_TIME_S)

    def _compute_wait_s(self) -> float:
        """Return the seconds until the next exchange, or until the settings are read again."""
        now = time.monotonic()
        delays_s = [_SETTINGS_INTERVAL_S]
        if self._next_exchange_at is not None:
            delays_s.append(self._next_exchange_at - now)
        if self._retry_at > now:
            delays_s.append(self._retry_at - now)
        return max(0.0, min(delays_s))

    def _exchange_if_due(self, *, is_last: bool) -> None:
        """Run an exchange if the schedule or a commit requires it."""
        settings, now = self._workspace.snapshot().config.remote, time.monotonic()
        interval_s = self._find_interval(settings)
        if interval_s is None:
            self._next_exchange_at = None
        elif self._next_exchange_at is None or self._next_exchange_at - now > interval_s:
            # The schedule is new, or its interval became shorter.
            self._next_exchange_at = now + min(_FIRST_EXCHANGE_DELAY_S, interval_s)
        if self._is_fetch_requested and self._next_exchange_at is not None:
            earliest = max(now, self._last_exchange_at + _REQUEST_INTERVAL_S)
            self._next_exchange_at = min(self._next_exchange_at, earliest)
        is_due = self._next_exchange_at is not None and now >= self._next_exchange_at and not is_last
        if is_due:
            self._exchange(settings, fetch=True)
        elif self._pushes_after_commits(settings) and self._is_push_due(
            unpushed_tips := self._list_unpushed(), now, is_last=is_last
        ):
            self._exchange(settings, fetch=False, unpushed_tips=unpushed_tips)

    @property
    def _is_node(self) -> bool:
        """True if other nodes write the repository too: each write has then pushed its commit."""
        git = self._workspace.git
        return isinstance(git, GitStore) and git.upstream is not None

    def _find_interval(self, settings: RemoteSettings) -> float | None:
        """Return the seconds between two exchanges of the schedule; None without a schedule."""
        if self._is_node:
            return min(settings.every or _NODE_INTERVAL_S, _NODE_INTERVAL_S)
        return settings.every

    def _pushes_after_commits(self, settings: RemoteSettings) -> bool:
        return settings.push == "commit" and not self._is_node

    def _is_push_due(self, unpushed_tips: UnpushedTips, now: float, *, is_last: bool) -> bool:
        """Return True if a commit is to be pushed for the first time, or is due for a retry."""
        if not unpushed_tips or (now < self._retry_at and not is_last):
            return False
        return bool(self._retry_at) or not unpushed_tips <= self._tried_tips

    def _list_unpushed(self) -> UnpushedTips:
        """Return the synchronized branches whose tips differ from the last known tips on the remote."""
        from workspace.sync.branches import format_tracking_ref, list_branches_to_sync

        git, served_branch = self._workspace.git, self._workspace.branch
        remote = self._workspace.sync_status().find_remote()
        if served_branch is None or remote is None:
            return frozenset()
        tips = [
            (branch, git.tip(branch))
            for branch in (served_branch, *list_branches_to_sync(git.branches(), served_branch))
        ]
        return frozenset(
            (branch, tip)
            for branch, tip in tips
            if tip is not None and tip != git.commit_at(format_tracking_ref(remote, branch))
        )

    def _exchange(
        self, settings: RemoteSettings, *, fetch: bool, unpushed_tips: UnpushedTips = frozenset()
    ) -> None:
        self._tried_tips = unpushed_tips
        if fetch:
            self._is_fetch_requested, self._last_exchange_at = False, time.monotonic()
        try:
            result = self._sync(fetch=fetch)
            check_result = (
                self._forge_checker.import_changes(result)
                if self._forge_checker is not None and fetch
                else None
            )
            for unreviewed in result.unreviewed_commits:
                log.warning("pushed: %s", unreviewed.message)
            self._record_result(result, check_result.error if check_result is not None else None)
        except (WorkspaceError, OSError) as error:
            self._record_failure(error)
        interval_s = self._find_interval(settings)
        if interval_s is not None and fetch:
            self._next_exchange_at = time.monotonic() + interval_s

    def _sync(self, *, fetch: bool) -> SyncResult:
        # Imported here because most servers never exchange with a remote.
        from workspace.git.remotes.remote import RemoteMoved
        from workspace.sync.branches import SyncState
        from workspace.sync.sync import sync

        try:
            result = sync(self._workspace, self._access(), fetch=fetch, restore=False)
        except RemoteMoved:
            if fetch:
                raise
            return sync(self._workspace, self._access())
        has_diverged = result.state is SyncState.DIVERGED or any(
            isinstance(branch.error, RemoteMoved) or branch.state is SyncState.DIVERGED
            for branch in result.other_branches
        )
        return sync(self._workspace, self._access()) if has_diverged and not fetch else result

    def _record_result(self, result: SyncResult, forge_error: WorkspaceError | None = None) -> None:
        """Record the result of an exchange; a branch that could not be synchronized is a failure too.

        `forge_error` is the error of the import from pull requests.
        """
        errors = [branch.error for branch in result.other_branches if branch.error is not None]
        if any(branch.is_discussion and branch.needs_resolution for branch in result.other_branches):
            errors.append(
                WorkspaceError(
                    "the remote removed events of the discussion; this repository has them and does not "
                    "push them",
                    fix="Run docyard sync; it lists the possible actions.",
                )
            )
        errors += [forge_error] if forge_error is not None else []
        if errors:
            self._record_failure(errors[0])
        else:
            self._record_success()

    def _record_failure(self, error: WorkspaceError | OSError) -> None:
        from workspace.sync.status import ExchangeFailure

        if not isinstance(error, WorkspaceError):
            error = WorkspaceError(f"the exchange with the remote could not start: {error.strerror}")
        status = self._workspace.sync_status()
        last_failure = status.failure
        if last_failure is None or last_failure.error.message != error.message:
            log.warning("synchronization with the remote failed: %s", error)
        since = last_failure.since if last_failure is not None else datetime.now(UTC)
        status.failure = ExchangeFailure(error, since)
        self._retry_at = time.monotonic() + self._retry_delay_s
        self._retry_delay_s = min(2 * self._retry_delay_s, _MAX_RETRY_DELAY_S)

    def _record_success(self) -> None:
        status = self._workspace.sync_status()
        if status.failure is not None:
            log.warning("synchronization with the remote works again")
        status.failure = None
        self._retry_at, self._retry_delay_s = 0.0, _RETRY_DELAY_S
