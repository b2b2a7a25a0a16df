"""Which requests wait for an answer: what a client has asked that no longer sends, but may still listen."""

from __future__ import annotations

from collections import Counter

import anyio
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse


class Unanswered:
    """The requests that were read and are not answered yet, by their ids.

    The SDK takes the ids 1 and "1" for the same when it cancels, so they are counted as one here. It answers
    every request but those that the client cancels.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._changed = anyio.Event()

    def read(self, message: JSONRPCMessage) -> None:
        """Note a message of the client's."""
        match message:
            case JSONRPCRequest(id=identity):
                self._counts[str(identity)] += 1
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": identity}):
                self._settle(str(identity), whole=True)

    def written(self, message: JSONRPCMessage) -> None:
        """Note a message of the server's."""
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settle(str(message.id), whole=False)

    async def settled(self) -> None:
        """Return when nothing waits for an answer."""
        while self._counts:
            self._changed = anyio.Event()
            await self._changed.wait()

    def _settle(self, identity: str, *, whole: bool) -> None:
        if whole or self._counts[identity] <= 1:
            del self._counts[identity]
        else:
            self._counts[identity] -= 1
        self._changed.set()
