"""Exchanges that webhooks ask for: many at once make one or two, and each is answered by one begun after it.

A thread of its own does them, one after the other. Whoever asks while one is going on shares the next.

What a webhook asks for: a fetch, or a look at a pull request too. Nothing else of it is believed.

event                          GitHub, Gitea                    GitLab
the branch moved               push, create, delete             Push Hook
a pull request                 pull_request, …                  Merge Request Hook
a review, or a comment on one  pull_request_review, …, issue_comment   Note Hook
it is only tried out           ping
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
    """The result of an exchange: what was fetched and followed; `error` is the reason if not."""

    synced: SyncResult | None = None
    forge_round: ForgeRound | None = None
    error: WorkspaceError | None = None

    @property
    def is_applied(self) -> bool:
        """Return True if the served branch has the remote's commits, and pull requests were followed."""
        from workspace.sync.branches import SyncState

        if self.error is not None or self.synced is None:
            return False
        is_apart = self.synced.state in (SyncState.DIVERGED, SyncState.FORCE_PUSHED, SyncState.BEHIND)
        return not is_apart and (self.forge_round is None or self.forge_round.error is None)


class _PendingExchange:
    """The exchange that has not begun: its scopes, and the futures that wait for it."""

    def __init__(self) -> None:
        self.branches: set[str] = set()
        self.numbers: set[int] = set()
        self.future: Future[ExchangeResult] = Future()


class ExchangeQueue:
    """Fetches of a served branch, each with a check of the requested pull requests.

    `written` is called after each exchange that has changed something.
    """

    def __init__(
        self,
        workspace: Workspace,
        access: Callable[[], Access],
        rounds: ForgeRounds,
        on_written: Callable[[], object] = lambda: None,
    ) -> None:
        self._workspace = workspace
        self._access = access
        self._rounds = rounds
        self._on_written = on_written
        self._lock = threading.Lock()
        self._waiting: _PendingExchange | None = None
        self._is_running = False

    def request(self, asked: EventScope) -> Future[ExchangeResult]:
        """Request an exchange that has not begun yet. Never blocks; the future does not fail."""
        with self._lock:
            if self._waiting is None:
                self._waiting = _PendingExchange()
            self._waiting.branches.update(asked.branches)
            self._waiting.numbers.update(asked.numbers)
            future = self._waiting.future
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="docyard-hooks", daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, None
                if waiting is None:
                    self._is_running = False
                    return
            waiting.future.set_result(self._exchanged(waiting))

    def _exchanged(self, waiting: _PendingExchange) -> ExchangeResult:
        from workspace.sync.sync import sync

        try:
            synced = sync(self._workspace, self._access(), fetch=True, push=False)
            followed = None
            if waiting.branches or waiting.numbers:
                followed = self._rounds.follow(synced, branches=waiting.branches, numbers=waiting.numbers)
            self._on_written()
            return ExchangeResult(synced, followed)
        except WorkspaceError as error:
            return ExchangeResult(error=error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            wrong = WorkspaceError(f"the exchange could not be begun: {reason}", fix="Mend what it says.")
            return ExchangeResult(error=wrong)
        except Exception:
            # A bug must not leave those unanswered who wait, nor end the thread for those who come.
            log.exception("an exchange that a webhook asked for failed")
            return ExchangeResult(error=WorkspaceError("the exchange failed; the log says how"))


_EVENTS = {
    "github": ("x-github-event",),
    "gitea": ("x-gitea-event", "x-forgejo-event", "x-github-event"),
    "gitlab": ("x-gitlab-event",),
}

_PUSHES = ("push", "create", "delete", "Push Hook")
_REQUESTS = ("Merge Request Hook", "Note Hook")
_MOST = 1_000


class EventScope(NamedTuple):
    """The pull requests to check, by branches or numbers; neither for a push alone."""

    branches: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


PING = EventScope()
"""An empty scope: a forge tests the address."""


def read_event_name(forge: str, headers: Mapping[str, str]) -> str:
    """Return the name of a webhook's event; empty without one."""
    return next((headers[name] for name in _EVENTS[forge] if headers.get(name)), "")[:_MOST]


def read_repository(forge: str, data: Mapping[str, Any]) -> str | None:
    """Return the path of a webhook's repository, such as `owner/name`."""
    if forge == "gitlab":
        found = _object(data, "project").get("path_with_namespace")
    else:
        found = _object(data, "repository").get("full_name")
    return found if isinstance(found, str) and 0 < len(found) <= _MOST else None


def parse_event(forge: str, event: str, data: Mapping[str, Any]) -> EventScope | None:
    """Return the scope of an event; None for an event that needs no exchange."""
    if event == "ping":
        return PING
    if event in _PUSHES:
        return EventScope()
    if forge == "gitlab":
        if event not in _REQUESTS:
            return None
        own = _object(data, "object_attributes" if event == "Merge Request Hook" else "merge_request")
        return _named(own.get("source_branch"), own.get("iid"))
    if event.startswith("pull_request"):
        own = _object(data, "pull_request")
        return _named(_object(own, "head").get("ref"), own.get("number") or data.get("number"))
    if event == "issue_comment":
        issue = _object(data, "issue")
        is_request = isinstance(issue.get("pull_request"), dict) or data.get("is_pull") is True
        return _named(None, issue.get("number")) if is_request else None
    return None


def _named(branch: object, number: object) -> EventScope | None:
    if isinstance(branch, str) and 0 < len(branch) <= _MOST:
        return EventScope(branches=(branch,))
    if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10**12:
        return EventScope(numbers=(number,))
    return None


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}
