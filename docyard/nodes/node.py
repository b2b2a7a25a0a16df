"""One node of several that write a repository: its lease, its clone, and its part in calls that write."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from docyard.nodes.client import AnswerLost, NotForwarded, OtherBranch, OtherForm, forward
from docyard.nodes.lease import WriterLease, build_repository_key
from docyard.telemetry.logs import StateText
from tools.dispatcher import WriteCall
from workspace.errors import WorkspaceError
from workspace.git.store import require_writable
from workspace.publishing.after_commit import note_commit, run_with_caveat
from workspace.publishing.locks import Busy
from workspace.sync.branches import select_remote
from workspace.sync.upstream import RemoteUpstream, ResultUnknown

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from docyard.nodes.lease import Holder
    from index.postgres.database import Database
    from tools.dispatcher import Dispatcher
    from tools.tool import Answer
    from workspace.git.remotes.credentials import Access
    from workspace.workspace import Workspace

log = logging.getLogger("docyard")

_FORWARD_TIME_S = 20.0  # in which a call is sent to the node that writes, or executed here
_RETRY_INTERVAL_S = 0.2


class Node:
    """A process that serves a clone. Calls that write are executed by the node that has the lease.

    `url` is the URL at which other nodes reach this one; None if it answers none of their calls.
    Raises ReadOnly, NoRemote, UnknownRemote, UnsupportedRemote.
    """

    def __init__(
        self, workspace: Workspace, access: Callable[[], Access], database: Database, url: str | None
    ) -> None:
        store = require_writable(workspace.git)
        self._workspace = workspace
        self._lease = WriterLease(database, build_repository_key(select_remote(workspace).url), url)
        self._upstream = RemoteUpstream(workspace, access, self._lease)
        store.upstream = self._upstream

    def close(self) -> None:
        """Give the lease back, and end the exchanges with the remote."""
        self._lease.close()
        self._upstream.close()

    def wrap(self, app: ASGIApp, dispatcher: Dispatcher) -> ASGIApp:
        """Return an application that also answers the calls that other nodes forward to this one."""
        from docyard.nodes.endpoint import NodeEndpoint

        return NodeEndpoint(app, dispatcher, self._lease, lambda: self._workspace.branch)

    def route(self, call: WriteCall, run: Callable[[], Answer]) -> Answer:
        """Return the answer to a call that writes: of `run`, or of the node that has the lease.

        A call that may have been executed is sent again only if it has an idempotency key. Raises Busy,
        ResultUnknown, and the errors of `RemoteUpstream.hold`.
        """
        deadline = time.monotonic() + _FORWARD_TIME_S
        while True:
            holder = self._find_other_holder()
            try:
                if holder is not None:
                    return self._forward(holder, call)
            except OtherBranch:
                holder = None
            except OtherForm:
                # It gives the lease back when it is asked for it, as in an upgrade of the nodes.
                log.warning("the node that writes does not read a call of this version; it is executed here")
                holder = None
            except NotForwarded:
                if time.monotonic() > deadline:
                    url = StateText(holder.url) if holder is not None else None
                    log.warning("the node that writes takes no calls; can its node_url be reached, %s?", url)
                    raise Busy("another node writes to the repository, and does not answer") from None
            except AnswerLost:
                if not call.has_key or time.monotonic() > deadline:
                    cause = "the node that writes has received the call and does not answer"
                    raise ResultUnknown(cause) from None
            if holder is None:
                with self._upstream.hold():
                    return run()
            time.sleep(_RETRY_INTERVAL_S)

    def _find_other_holder(self) -> Holder | None:
        """Return the other node that writes; None if this one has the lease, or is to wait for it."""
        lease = self._lease
        if lease.is_used_here or lease.is_held or lease.acquire_if_free():
            return None
        holder = lease.find_holder()
        return None if holder is None or holder.url is None else holder

    def _forward(self, holder: Holder, call: WriteCall) -> Answer:
        """Send a call to the holder, and bring this clone to its commit. Raises NotForwarded, AnswerLost."""

        def is_still_holder() -> bool:
            try:
                current = self._lease.find_holder()
            except WorkspaceError:  # the database cannot be reached, which says nothing of the holder
                return True
            return current is not None and current.token == holder.token

        answer, commit, proposal = forward(holder, self._workspace.branch, call, is_still_holder)
        if commit is not None:
            note_commit(commit, proposal=proposal)
            caveat = "this node does not have the commit yet"
            run_with_caveat(partial(self._upstream.follow_to, commit), None, caveat)
        return answer
