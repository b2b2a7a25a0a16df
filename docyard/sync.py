"""Synchronisation while serving: on a schedule, and after commits, as the tip's `docyard.toml` configures.

It runs in its own thread, so that no response waits for the network. An error is logged once, until another
error or a success follows; meanwhile every response reports it (`tools.caveats`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.rounds import ForgeRounds
    from workspace.config.tables import RemoteSettings
    from workspace.git.remotes.credentials import Access
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")

_GATHERED = 0.05  # seconds in which several commits become one push
_FIRST = 1.0  # seconds until the first exchange of a schedule
_LOOK = 10.0  # seconds between two looks at the settings while nothing else happens
_RETRY, _RETRY_MOST = 5.0, 300.0  # seconds until a push that failed is tried again, doubled each time
_LAST_PUSH = 5.0  # seconds for the push of the last commits when the server ends

Unpushed = frozenset[tuple[str, str]]
"""Branches whose tips the remote does not have, each with its commit."""


class Synchronizer:
    """Exchanges with the remote of a served branch, from `start` to `close`.

    `access` returns the user's credentials and is called for each exchange. `rounds` follows pull requests
    after each fetch.
    """

    def __init__(
        self, workspace: Workspace, access: Callable[[], Access], rounds: ForgeRounds | None = None
    ) -> None:
        self._workspace = workspace
        self._access = access
        self._rounds = rounds
        self._asked = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="docyard-sync", daemon=True)
        self._next: float | None = None  # when the schedule asks for an exchange
        self._retry_at, self._retry = 0.0, _RETRY
        self._tried: Unpushed = frozenset()

    def start(self) -> None:
        """Start the thread. It reads the settings first."""
        self._thread.start()

    def notify_commit(self) -> None:
        """Report a possible new commit. Return at once."""
        self._asked.set()

    def close(self) -> None:
        """Stop the thread. A push of the last commits has a few seconds to finish."""
        self._closing.set()
        self._asked.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_PUSH)

    def _run(self) -> None:
        while True:
            is_last = self._closing.is_set()
            self._asked.clear()
            try:
                self._look(is_last=is_last)
            except WorkspaceError as error:
                log.debug("the settings of the remote cannot be read: %s", error.message)
            except Exception:
                log.exception("synchronising failed")
                return
            if is_last:
                return
            self._asked.wait(self._pause())
            if not self._closing.is_set():
                time.sleep(_GATHERED)

    def _pause(self) -> float:
        """Return the seconds until the next exchange, or until the settings are read again."""
        now = time.monotonic()
        times = [_LOOK]
        if self._next is not None:
            times.append(self._next - now)
        if self._retry_at > now:
            times.append(self._retry_at - now)
        return max(0.0, min(times))

    def _look(self, *, is_last: bool) -> None:
        """Run an exchange if the schedule or a commit requires it."""
        settings, now = self._workspace.snapshot().config.remote, time.monotonic()
        if settings.every is None:
            self._next = None
        elif self._next is None or self._next - now > settings.every:
            self._next = now + min(_FIRST, settings.every)  # it has begun, or became denser
        is_due = self._next is not None and now >= self._next and not is_last
        if is_due:
            self._exchange(settings, fetch=True)
        elif settings.push == "commit" and self._has_news(news := self._news(), now, is_last=is_last):
            self._exchange(settings, fetch=False, news=news)

    def _has_news(self, news: Unpushed, now: float, *, is_last: bool) -> bool:
        """Return True if a commit is to be pushed for the first time, or is due for a retry."""
        if not news or (now < self._retry_at and not is_last):
            return False
        return bool(self._retry_at) or not news <= self._tried

    def _news(self) -> Unpushed:
        """Return the synced branches, with their tips, that the remote was not seen to have."""
        from workspace.sync.branches import list_branches_to_sync, tracking_ref

        git, served = self._workspace.git, self._workspace.branch
        remote = self._workspace.standing().remote()
        if served is None or remote is None:
            return frozenset()
        tips = [
            (branch, git.tip(branch)) for branch in (served, *list_branches_to_sync(git.branches(), served))
        ]
        return frozenset(
            (branch, tip)
            for branch, tip in tips
            if tip is not None and tip != git.commit_at(tracking_ref(remote, branch))
        )

    def _exchange(self, settings: RemoteSettings, *, fetch: bool, news: Unpushed = frozenset()) -> None:
        self._tried = news
        try:
            found = self._synced(fetch=fetch)
            followed = self._rounds.follow(found) if self._rounds is not None and fetch else None
            self._failure_of(found, followed.error if followed is not None else None)
        except (WorkspaceError, OSError) as error:
            self._failed(error)
        if settings.every is not None and fetch:
            self._next = time.monotonic() + settings.every

    def _synced(self, *, fetch: bool) -> SyncResult:
        # Imported here because a server that is not asked for it never speaks with a remote.
        from workspace.git.remotes.remote import RemoteMoved
        from workspace.sync.branches import SyncState
        from workspace.sync.sync import sync

        try:
            found = sync(self._workspace, self._access(), fetch=fetch, restore=False)
        except RemoteMoved:
            if fetch:
                raise
            return sync(self._workspace, self._access())
        is_apart = found.state is SyncState.DIVERGED or any(
            isinstance(one.error, RemoteMoved) or one.state is SyncState.DIVERGED for one in found.beside
        )
        return sync(self._workspace, self._access()) if is_apart and not fetch else found

    def _failure_of(self, found: SyncResult, following: WorkspaceError | None = None) -> None:
        """Record the result of an exchange. A branch that could not be synced is a failure too.

        `following` is the reason why pull requests were not followed.
        """
        errors = [one.error for one in found.beside if one.error is not None]
        if any(one.is_discussion and one.needs_someone for one in found.beside):
            errors.append(
                WorkspaceError(
                    "the remote has no longer words of proposals that it had, and ours wait",
                    fix="docyard sync says what can be done.",
                )
            )
        errors += [following] if following is not None else []
        if errors:
            self._failed(errors[0])
        else:
            self._worked()

    def _failed(self, error: WorkspaceError | OSError) -> None:
        from workspace.sync.status import ExchangeFailure

        if not isinstance(error, WorkspaceError):
            error = WorkspaceError(f"the exchange could not be begun: {error.strerror}")
        standing = self._workspace.standing()
        last = standing.failure
        if last is None or last.error.message != error.message:
            log.warning("the remote is not in step: %s. %s", error.message, error.fix)
        since = last.since if last is not None else datetime.now(UTC)
        standing.failure = ExchangeFailure(error, since)
        self._retry_at = time.monotonic() + self._retry
        self._retry = min(2 * self._retry, _RETRY_MOST)

    def _worked(self) -> None:
        standing = self._workspace.standing()
        if standing.failure is not None:
            log.warning("the remote is in step again")
        standing.failure = None
        self._retry_at, self._retry = 0.0, _RETRY
