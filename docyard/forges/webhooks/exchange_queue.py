"""Exchanges with the remote that webhooks request: a fetch, and a check of the named pull requests.

A separate thread runs the exchanges, one at a time. Requests that arrive during an exchange share the next
exchange, so each request gets the result of an exchange that began after it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.forge_checker import ForgeChecker
    from docyard.forges.pull_request_sync import ForgeCheckResult
    from docyard.forges.webhooks.events import EventScope
    from workspace.git.remotes.credentials import Access
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")


class ExchangeResult(NamedTuple):
    """The result of an exchange: the results of the fetch and of the check of the forge, or the error."""

    sync_result: SyncResult | None = None
    check_result: ForgeCheckResult | None = None
    error: WorkspaceError | None = None

    @property
    def is_applied(self) -> bool:
        """Return True if the served branch has the remote's commits, and the check of the forge succeeded."""
        from workspace.sync.branches import SyncState

        if self.error is not None or self.sync_result is None:
            return False
        is_behind = self.sync_result.state in (SyncState.DIVERGED, SyncState.FORCE_PUSHED, SyncState.BEHIND)
        return not is_behind and (self.check_result is None or self.check_result.error is None)


class _PendingExchange:
    """The next exchange, before it begins: the pull requests to check, and the future of the result.

    The pull requests are given by their branches or their numbers.
    """

    def __init__(self) -> None:
        self.branches: set[str] = set()
        self.numbers: set[int] = set()
        self.future: Future[ExchangeResult] = Future()


class ExchangeQueue:
    """A queue of fetches of a served branch, each with a check of the requested pull requests.

    `on_write` is called after each exchange without an error.
    """

    def __init__(
        self,
        workspace: Workspace,
        access: Callable[[], Access],
        forge_checker: ForgeChecker,
        on_write: Callable[[], object] = lambda: None,
    ) -> None:
        self._workspace = workspace
        self._access = access
        self._forge_checker = forge_checker
        self._on_write = on_write
        self._lock = threading.Lock()
        self._next_exchange: _PendingExchange | None = None
        self._is_running = False

    def request(self, scope: EventScope) -> Future[ExchangeResult]:
        """Request an exchange that begins after this call, without blocking.

        The future never raises: its result contains the error.
        """
        with self._lock:
            if self._next_exchange is None:
                self._next_exchange = _PendingExchange()
            self._next_exchange.branches.update(scope.branches)
            self._next_exchange.numbers.update(scope.numbers)
            future = self._next_exchange.future
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="docyard-hooks", daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                exchange, self._next_exchange = self._next_exchange, None
                if exchange is None:
                    self._is_running = False
                    return
            exchange.future.set_result(self._run_exchange(exchange))

    def _run_exchange(self, exchange: _PendingExchange) -> ExchangeResult:
        from workspace.sync.sync import sync

        try:
            sync_result = sync(self._workspace, self._access(), fetch=True, push=False)
            check_result = None
            if exchange.branches or exchange.numbers:
                check_result = self._forge_checker.import_changes(
                    sync_result, branches=exchange.branches, numbers=exchange.numbers
                )
            self._on_write()
            return ExchangeResult(sync_result, check_result)
        except WorkspaceError as error:
            return ExchangeResult(error=error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            failure = WorkspaceError(f"the exchange cannot begin: {reason}", fix="Fix the reported problem.")
            return ExchangeResult(error=failure)
        except Exception:
            # A bug must neither leave requests without a result, nor end the thread.
            log.exception("an exchange that a webhook requested failed")
            return ExchangeResult(
                error=WorkspaceError("the exchange failed; the server's log has the details")
            )
