"""The lease of a repository's writer, in PostgreSQL: one node writes at a time.

    docyard_writer_leases    repository → fencing token, holder, its URL and secret, time of expiry

The token grows by one with each acquisition, and all times are those of the database. A lease lasts 10
seconds. Its holder renews it each second while it has written lately, and gives it back when it is idle, when
another node waits for it, and at its end. The holder checks and renews it right before each push, in one
statement: a node that was stopped past its lease fails there. It also compares with its own clock, so that an
answer of the database that arrives late does not count.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from index.port import EngineUnavailable
from index.postgres.heads import run_with_tables
from workspace.errors import WorkspaceError
from workspace.git.remotes.url import parse_remote_url
from workspace.publishing.locks import Busy

if TYPE_CHECKING:
    from index.postgres.database import Connection, Database

log = logging.getLogger("docyard")

T = TypeVar("T")

LEASE_S = 10.0
"""The seconds for which a lease lasts after its last renewal."""

_LEAST_PART = 0.8
"""The part of its time that a lease must last when a push begins: 8 seconds, more than a push may take."""

_RENEWAL_INTERVAL_S = 1.0
_IDLE_S = 30.0  # after the last write, the lease is given back
_WAIT_S = 20.0  # the longest time for which a write waits for the lease
_POLL_INTERVAL_S = 0.2
_REQUEST_S = 2.0  # how long a request for the lease counts after its last repetition
_STEP_BACK_S = 1.0  # a node that has given the lease to another one leaves it this time to take it

_TABLE = """
    CREATE TABLE IF NOT EXISTS docyard_writer_leases (
        repository text PRIMARY KEY,
        token bigint NOT NULL,
        holder text NOT NULL,
        url text,
        secret text NOT NULL,
        expires_at timestamptz NOT NULL,
        requested_until timestamptz
    )
"""

_ACQUIRE = """
    INSERT INTO docyard_writer_leases AS lease (repository, token, holder, url, secret, expires_at)
    VALUES (%(repository)s, 1, %(holder)s, %(url)s, %(secret)s,
            clock_timestamp() + %(lease_s)s * interval '1 second')
    ON CONFLICT (repository) DO UPDATE
    SET token = lease.token + 1, holder = excluded.holder, url = excluded.url, secret = excluded.secret,
        expires_at = clock_timestamp() + %(lease_s)s * interval '1 second', requested_until = NULL
    WHERE lease.expires_at <= clock_timestamp()
    RETURNING token
"""

_REQUEST = """
    UPDATE docyard_writer_leases
    SET requested_until = clock_timestamp() + %(request_s)s * interval '1 second'
    WHERE repository = %(repository)s AND expires_at > clock_timestamp()
"""

_RENEW = """
    UPDATE docyard_writer_leases
    SET expires_at = clock_timestamp() + %(lease_s)s * interval '1 second'
    WHERE repository = %(repository)s AND holder = %(holder)s AND token = %(token)s
        AND expires_at > clock_timestamp()
    RETURNING coalesce(requested_until > clock_timestamp(), false)
"""

_RELEASE = """
    UPDATE docyard_writer_leases SET expires_at = clock_timestamp(), requested_until = NULL
    WHERE repository = %(repository)s AND holder = %(holder)s AND token = %(token)s
"""

_FIND_HOLDER = """
    SELECT holder, url, secret, token FROM docyard_writer_leases
    WHERE repository = %(repository)s AND holder <> %(holder)s AND expires_at > clock_timestamp()
"""


class Holder(NamedTuple):
    """Another node that has the lease: its id, URL and secret, and the fencing token.

    `url` is None if it accepts no calls of other nodes.
    """

    id: str
    url: str | None
    secret: str
    token: int


def build_repository_key(url: str) -> str:
    """Return the key of a repository on all nodes: a digest of its remote's URL without a password.

    Raises UnsupportedRemote.
    """
    name = parse_remote_url(url).url.removesuffix("/").removesuffix(".git")
    return hashlib.sha256(name.encode()).hexdigest()


class WriterLease:
    """The lease of one repository for this node. Thread-safe; `close` gives it back.

    `url` is the URL at which other nodes reach this one. `secret` authenticates their calls.
    """

    def __init__(
        self, database: Database, repository: str, url: str | None = None, *, lease_s: float = LEASE_S
    ) -> None:
        self.secret = secrets.token_hex(32)
        self._database = database
        self._lease_s = lease_s
        self._parameters: dict[str, Any] = {
            "repository": repository,
            "holder": secrets.token_hex(8),
            "url": url,
            "secret": self.secret,
            "lease_s": lease_s,
            "request_s": _REQUEST_S,
        }
        self._condition = threading.Condition()
        self._acquisition_lock = threading.Lock()
        self._thread_state = threading.local()
        self._token: int | None = None
        self._deadline = 0.0  # of the lease, in monotonic seconds
        self._use_count = 0
        self._last_use = 0.0
        self._is_requested = False
        self._step_back_until = 0.0
        self._is_closed = False

    @property
    def is_held(self) -> bool:
        """True if this node has the lease, and no other node waits for it."""
        with self._condition:
            return self._is_valid() and not self._is_requested

    @property
    def is_used_here(self) -> bool:
        """True inside a block of `use` of this thread."""
        return self._get_depth() > 0

    def find_holder(self) -> Holder | None:
        """Return the other node that has the lease; None if no other has it. Raises EngineUnavailable."""

        def read(connection: Connection) -> Holder | None:
            row = connection.execute(_FIND_HOLDER, self._parameters).fetchone()
            return None if row is None else Holder(*row)

        return self._run(read)

    @contextmanager
    def use(self) -> Iterator[int]:
        """Acquire the lease for a block, unless this node has it, and yield its fencing token.

        Another node is asked for it. Raises Busy if it does not give it back in 20 seconds, and
        EngineUnavailable.
        """
        token = self._begin_use()
        self._thread_state.depth = self._get_depth() + 1
        try:
            yield token
        finally:
            self._thread_state.depth -= 1
            with self._condition:
                self._use_count -= 1
                self._last_use = time.monotonic()
                self._condition.notify_all()

    def check(self) -> bool:
        """Renew the lease; return True if this node has it, and it lasts for at least 8 seconds.

        Raises EngineUnavailable.
        """
        with self._condition:
            token = self._token if self._is_valid() else None
        if token is None or not self._renew(token):
            return False
        with self._condition:
            remaining_s = self._deadline - time.monotonic()
            return self._token == token and remaining_s >= _LEAST_PART * self._lease_s

    def close(self) -> None:
        """Give the lease back."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        with suppress(WorkspaceError):  # the lease expires by itself
            self._release()

    def _begin_use(self) -> int:
        """Acquire the lease, and count a use. Raises Busy, EngineUnavailable."""
        deadline = time.monotonic() + _WAIT_S
        is_nested = self._get_depth() > 0
        while True:
            with self._condition:
                # New writes wait while another node waits, so that the running ones can end.
                if self._is_valid() and (is_nested or not self._is_requested):
                    assert self._token is not None
                    self._use_count += 1
                    return self._token
            if self._acquire(deadline, requests=True):
                continue
            if time.monotonic() >= deadline or self._is_closed:
                raise Busy("another node is writing to the repository")
            with self._condition:
                self._condition.wait(_POLL_INTERVAL_S)

    def acquire_if_free(self) -> bool:
        """Acquire the lease if it is free; return True if this node has it. Raises EngineUnavailable."""
        return self._acquire(time.monotonic() + _WAIT_S, requests=False)

    def _acquire(self, deadline: float, *, requests: bool) -> bool:
        """Acquire the lease if it is free, and return True if this node has it now.

        If it is not free, and with `requests`, ask its holder for it.
        """

        def acquire(connection: Connection) -> int | None:
            row = connection.execute(_ACQUIRE, self._parameters).fetchone()
            if row is None and requests:
                connection.execute(_REQUEST, self._parameters)
            return None if row is None else int(row[0])

        if not self._acquisition_lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return False
        try:
            with self._condition:
                if self._is_valid():
                    return not self._is_requested
                if self._is_closed or time.monotonic() < self._step_back_until:
                    return False
            start = time.monotonic()
            token = self._run(acquire)
            if token is None:
                return False
            with self._condition:
                self._token, self._deadline = token, start + self._lease_s
                self._is_requested, self._last_use = False, time.monotonic()
            log.info("this node writes now (fencing token %d)", token)
            threading.Thread(target=self._keep, args=(token,), name="docyard-lease", daemon=True).start()
            return True
        finally:
            self._acquisition_lock.release()

    def _keep(self, token: int) -> None:
        """Renew the lease until it is lost, idle or requested, and then give it back."""
        while True:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._token != token or self._is_closed or self._must_give_back(),
                    _RENEWAL_INTERVAL_S,
                )
                if self._token != token or self._is_closed:
                    return
                gives_back = self._must_give_back()
                if gives_back and self._is_requested:
                    self._step_back_until = time.monotonic() + _STEP_BACK_S
            try:
                if gives_back:
                    self._release()
                    return
                if not self._renew(token):
                    return
            except EngineUnavailable as error:
                log.warning("the lease to write cannot be renewed: %s", error)
                with self._condition:
                    if not self._is_valid():
                        self._forget(token)
                        return

    def _must_give_back(self) -> bool:
        is_idle = time.monotonic() - self._last_use >= _IDLE_S
        return self._use_count == 0 and (self._is_requested or is_idle)

    def _renew(self, token: int) -> bool:
        """Renew the lease; return False if it is lost. Raises EngineUnavailable."""
        start = time.monotonic()
        row = self._run(
            lambda connection: connection.execute(_RENEW, {**self._parameters, "token": token}).fetchone()
        )
        with self._condition:
            if row is None:
                self._forget(token)
                return False
            if self._token == token:
                self._deadline = max(self._deadline, start + self._lease_s)
                self._is_requested = bool(row[0])
            return self._token == token

    def _release(self) -> None:
        """Give the lease back. Raises EngineUnavailable; the lease then expires by itself."""
        with self._condition:
            token = self._token
            if token is None:
                return
            self._forget(token)
        self._run(lambda connection: connection.execute(_RELEASE, {**self._parameters, "token": token}))

    def _forget(self, token: int) -> None:
        if self._token == token:
            self._token, self._is_requested = None, False
            self._condition.notify_all()

    def _is_valid(self) -> bool:
        return self._token is not None and time.monotonic() < self._deadline

    def _get_depth(self) -> int:
        return getattr(self._thread_state, "depth", 0)

    def _run(self, work: Callable[[Connection], T]) -> T:
        """Run work in the database; create the table if it is missing. Raises EngineUnavailable."""
        return self._database.run(lambda connection: run_with_tables(connection, [_TABLE], work))
