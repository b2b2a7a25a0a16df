"""Telling a client that the list of tools says something else by now, in both eras of the protocol.

The values of the taxonomy stand in a schema, and a commit may bring new ones. A client of the handshake era
is sent a notification; one of the stateless era hears of it where it listens (`subscriptions/listen`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
from mcp.server.session import ServerSession
from mcp.server.subscriptions import SubscriptionBus
from mcp.shared.subscriptions import ToolsListChanged

from docyard.mcp_server.workers import Workers

log = logging.getLogger("docyard")

_GATHERED = 0.05  # seconds in which several calls are looked at once


class Announcer:
    """Compares the list that the client was told last with what it would be told now.

    `definitions` gives that list; it runs in a worker, and never holds up an answer. `bus` carries what the
    stateless era listens to. Where several clients share a server, there is only the bus: whichever list was
    told first is compared, until another was announced to all who listen.
    """

    def __init__(
        self,
        definitions: Callable[[], object],
        workers: Workers,
        bus: SubscriptionBus,
        *,
        is_shared: bool = False,
    ) -> None:
        self._definitions = definitions
        self._is_shared = is_shared
        self._workers = workers
        self._bus = bus
        self._told: object = None
        self._session: ServerSession | None = None
        self._asked = anyio.Event()

    def told(self, definitions: object, session: ServerSession) -> None:
        """Note which list a client was given. One that was given none is told of no change."""
        if not self._is_shared:
            self._told = definitions
            self._session = session
        elif self._told is None:
            self._told = definitions
        self.ask()  # it may have changed while it was on its way

    def ask(self) -> None:
        """See to it that the list is compared soon: something may have changed."""
        self._asked.set()

    async def run(self) -> None:
        """Announce changes as long as the server runs."""
        while True:
            await self._asked.wait()
            await anyio.sleep(_GATHERED)
            self._asked = anyio.Event()
            try:
                await self._compare()
            except Exception:  # whoever asks for the list will be told
                log.debug("a change of the tools could not be announced", exc_info=True)

    async def _compare(self) -> None:
        if self._told is None:
            return
        now = await self._workers.run(self._definitions)
        if now == self._told:
            return
        self._told = now
        # The SDK sends the first to clients of the handshake era alone, and only the others can listen.
        if self._session is not None:
            await self._session.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())
