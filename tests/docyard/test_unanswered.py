"""Which requests wait for an answer: a server whose client has closed its end waits for these alone."""

from __future__ import annotations

import anyio
import pytest
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from docyard.protocol.unanswered import Unanswered

pytestmark = pytest.mark.anyio


def asked(identity: RequestId) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=identity, method="tools/call")


def answered(identity: RequestId) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=identity, result={})


def cancelled(identity: object) -> JSONRPCNotification:
    params = {"requestId": identity}
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)


def acknowledged(identity: RequestId) -> JSONRPCNotification:
    params = {"_meta": {SUBSCRIPTION_ID_META_KEY: identity}, "notifications": {}}
    return JSONRPCNotification(
        jsonrpc="2.0", method="notifications/subscriptions/acknowledged", params=params
    )


async def is_settled(unanswered: Unanswered) -> bool:
    """Whether who waits for that has nothing to wait for."""
    settled = False

    async def wait() -> None:
        nonlocal settled
        await unanswered.settled()
        settled = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return settled


async def test_each_of_several_requests_with_one_id_is_waited_for() -> None:
    unanswered = Unanswered()
    assert await is_settled(unanswered)
    for identity in (1, 1, "a"):
        unanswered.read(asked(identity))
    for identity in (1, "a"):
        unanswered.written(answered(identity))
        assert not await is_settled(unanswered)
    unanswered.written(answered(1))
    assert await is_settled(unanswered)


async def test_an_answer_that_comes_later_ends_the_wait() -> None:
    unanswered = Unanswered()
    unanswered.read(asked(1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(unanswered.settled)
        await anyio.wait_all_tasks_blocked()
        unanswered.written(answered(1))
    assert await is_settled(unanswered)


async def test_several_may_wait() -> None:
    unanswered = Unanswered()
    unanswered.read(asked(1))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(unanswered.settled)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(unanswered.settled)
            await anyio.wait_all_tasks_blocked()
            unanswered.written(answered(1))


@pytest.mark.parametrize("name", [1, "1", "01", " 1 "])
async def test_what_is_cancelled_is_not_waited_for(name: RequestId) -> None:
    unanswered = Unanswered()
    unanswered.read(asked(1))
    unanswered.read(cancelled(name))
    assert await is_settled(unanswered)
    unanswered.written(answered(1))  # it was on its way already
    assert await is_settled(unanswered)
    unanswered.read(asked(1))
    assert not await is_settled(unanswered)


@pytest.mark.parametrize("name", [1, "1", "listen-1"])
async def test_a_client_that_listens_is_waited_for_until_that_is_acknowledged(name: RequestId) -> None:
    unanswered = Unanswered()
    unanswered.read(asked(name))
    unanswered.read(asked(2))
    unanswered.written(acknowledged(name))
    assert not await is_settled(unanswered)
    unanswered.written(answered(2))
    assert await is_settled(unanswered)
    unanswered.written(answered(name))  # the listening ended
    assert await is_settled(unanswered)


async def test_what_says_nothing_of_a_request_changes_nothing() -> None:
    unanswered = Unanswered()
    unanswered.read(asked(1))
    for odd in (True, None, 1.5, [1], {}):
        unanswered.read(cancelled(odd))
    unanswered.read(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled"))
    unanswered.written(JSONRPCNotification(jsonrpc="2.0", method="notifications/progress"))
    unanswered.written(answered(2))
    unanswered.written(
        JSONRPCError.model_validate(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "No JSON"}}
        )
    )
    assert not await is_settled(unanswered)
