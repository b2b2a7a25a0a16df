"""Which requests wait for an answer, so that a client who asks no more, but still listens, gets them all."""

from __future__ import annotations

from collections import Counter

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)


class Unanswered:
    """The requests that were read and are not answered yet, by their ids.

    The SDK answers every request but those that the client cancels, and which those are is read as the SDK
    reads it (1, "1" and "01" are one id to it): a request that stays here for ever would keep the server.
    So a request to listen counts as answered when it is acknowledged; its result only ends the listening.
    """

    def __init__(self) -> None:
        self._counts: Counter[RequestId] = Counter()
        self._none_left = anyio.Event()
        self.first = anyio.Event()
        """Set when something was answered."""

    def read(self, message: JSONRPCMessage) -> None:
        """Note a message of the client's."""
        match message:
            case JSONRPCRequest(id=identity):
                self._counts[coerce_request_id(identity)] += 1
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                if (cancelled := cancelled_request_id_from_params(params)) is not None:
                    self._counts.pop(coerce_request_id(cancelled), None)
                    self._tell()

    def written(self, message: JSONRPCMessage) -> None:
        """Note a message of the server's."""
        self.first.set()
        match message:
            case JSONRPCResponse(id=identity) | JSONRPCError(id=identity) if identity is not None:
                self._answered(identity)
            case JSONRPCNotification(
                method="notifications/subscriptions/acknowledged", params={"_meta": dict(meta)}
            ):
                self._answered(meta[SUBSCRIPTION_ID_META_KEY])

    def forget(self) -> None:
        """Wait for no answer any more: there is nobody to get them."""
        self._counts.clear()
        self._tell()

    async def settled(self) -> None:
        """Return when nothing waits for an answer; several may wait for that."""
        while self._counts:
            self._none_left = self._none_left if not self._none_left.is_set() else anyio.Event()
            await self._none_left.wait()

    def _answered(self, identity: RequestId) -> None:
        identity = coerce_request_id(identity)
        self._counts[identity] -= 1
        if self._counts[identity] <= 0:
            del self._counts[identity]
        self._tell()

    def _tell(self) -> None:
        if not self._counts:
            self._none_left.set()
