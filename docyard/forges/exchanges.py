"""Exchanges with the remote that webhooks request: a fetch, and a check of the named pull requests.

A separate thread runs them, one at a time. Requests that arrive during an exchange share the next exchange,
so each request is answered by an exchange that began after it. The content of a webhook is not trusted: only
its branch or number is read.

event                   GitHub, Gitea                           GitLab
a branch moved          push, create, delete                    Push Hook
a pull request changed  pull_request, …                         Merge Request Hook
a review, or a comment  pull_request_review, …, issue_comment   Note Hook
a test of the webhook   ping
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.pull_request_sync import ForgeRound
    from docyard.forges.rounds import ForgeRounds
    from workspace.git.remotes.credentials import Access
    from workspace.sync.sync import SyncResult
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")


class ExchangeResult(NamedTuple):
    """The result of an exchange: the fetch and the round on the forge; `error` is the reason of a failure."""

    sync_result: SyncResult | None = None
    forge_round: ForgeRound | None = None
    error: WorkspaceError | None = None

    @property
    def is_applied(self) -> bool:
        """Return True if the served branch has the remote's commits, and the round on the forge succeeded."""
        from workspace.sync.branches import SyncState

        if self.error is not None or self.sync_result is None:
            return False
        is_behind = self.sync_result.state in (SyncState.DIVERGED, SyncState.FORCE_PUSHED, SyncState.BEHIND)
        return not is_behind and (self.forge_round is None or self.forge_round.error is None)


class _PendingExchange:
    """The next exchange, before it begins: its scopes, and the future of its result."""

    def __init__(self) -> None:
        self.branches: set[str] = set()
        self.numbers: set[int] = set()
        self.future: Future[ExchangeResult] = Future()


class ExchangeQueue:
    """Fetches of a served branch, each with a check of the requested pull requests.

    `on_write` is called after each exchange.
    """

    def __init__(
        self,
        workspace: Workspace,
        access: Callable[[], Access],
        rounds: ForgeRounds,
        on_write: Callable[[], object] = lambda: None,
    ) -> None:
        self._workspace = workspace
        self._access = access
        self._rounds = rounds
        self._on_write = on_write
        self._lock = threading.Lock()
        self._next_exchange: _PendingExchange | None = None
        self._is_running = False

    def request(self, scope: EventScope) -> Future[ExchangeResult]:
        """Request an exchange that begins after this call. Does not block; the future never fails."""
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
            forge_round = None
            if exchange.branches or exchange.numbers:
                forge_round = self._rounds.follow(
                    sync_result, branches=exchange.branches, numbers=exchange.numbers
                )
            self._on_write()
            return ExchangeResult(sync_result, forge_round)
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


_EVENT_HEADERS = {
    "github": ("x-github-event",),
    "gitea": ("x-gitea-event", "x-forgejo-event", "x-github-event"),
    "gitlab": ("x-gitlab-event",),
}

_PUSH_EVENTS = ("push", "create", "delete", "Push Hook")
_REQUEST_EVENTS = ("Merge Request Hook", "Note Hook")
_MAX_VALUE_CHARS = 1_000


class EventScope(NamedTuple):
    """The pull requests to check, by branches or numbers; neither for a push alone."""

    branches: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


PING = EventScope()
"""The scope of a test: a forge checks the address."""


def read_event_name(forge: str, headers: Mapping[str, str]) -> str:
    """Return the name of a webhook's event; empty without one."""
    return next((headers[name] for name in _EVENT_HEADERS[forge] if headers.get(name)), "")[:_MAX_VALUE_CHARS]


def read_repository(forge: str, data: Mapping[str, Any]) -> str | None:
    """Return the path of a webhook's repository, such as `owner/name`."""
    if forge == "gitlab":
        path = _get_object(data, "project").get("path_with_namespace")
    else:
        path = _get_object(data, "repository").get("full_name")
    return path if isinstance(path, str) and 0 < len(path) <= _MAX_VALUE_CHARS else None


def parse_event(forge: str, event: str, data: Mapping[str, Any]) -> EventScope | None:
    """Return the scope of an event; None for an event that needs no exchange."""
    if event == "ping":
        return PING
    if event in _PUSH_EVENTS:
        return EventScope()
    if forge == "gitlab":
        if event not in _REQUEST_EVENTS:
            return None
        request = _get_object(data, "object_attributes" if event == "Merge Request Hook" else "merge_request")
        return _build_scope(request.get("source_branch"), request.get("iid"))
    if event.startswith("pull_request"):
        request = _get_object(data, "pull_request")
        return _build_scope(
            _get_object(request, "head").get("ref"), request.get("number") or data.get("number")
        )
    if event == "issue_comment":
        issue = _get_object(data, "issue")
        is_request = isinstance(issue.get("pull_request"), dict) or data.get("is_pull") is True
        return _build_scope(None, issue.get("number")) if is_request else None
    return None


def _build_scope(branch: object, number: object) -> EventScope | None:
    if isinstance(branch, str) and 0 < len(branch) <= _MAX_VALUE_CHARS:
        return EventScope(branches=(branch,))
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10**12:
        return EventScope(numbers=(number,))
    return None


def _get_object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}
