"""The throttle of failed logins."""

from __future__ import annotations

import anyio
import pytest

from docyard.http.authentication import MAX_DELAYED_ATTEMPTS, FailedLoginThrottle


@pytest.mark.anyio
async def test_too_many_failed_logins_are_refused_at_once() -> None:
    throttle = FailedLoginThrottle(delay_s=60)
    with anyio.move_on_after(30) as timeout_scope:
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_DELAYED_ATTEMPTS):
                tasks.start_soon(throttle.delay)
            await anyio.wait_all_tasks_blocked()
            assert await throttle.delay() is False
            tasks.cancel_scope.cancel()
    assert not timeout_scope.cancelled_caught
    assert await FailedLoginThrottle(delay_s=0).delay()
