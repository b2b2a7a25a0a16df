"""Sessions: their timeouts, their maximum number and their CSRF tokens; the throttle of failed logins."""

from __future__ import annotations

import anyio
import pytest

from docyard.http import authentication
from docyard.http.authentication import (
    MAX_DELAYED_ATTEMPTS,
    MAX_IDLE_S,
    MAX_SESSION_S,
    FailedLoginThrottle,
    Sessions,
)
from docyard.identity.verifier import Authenticated


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_session_ends_when_idle_or_too_old() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    value = sessions.start(Authenticated())
    while clock.now <= MAX_SESSION_S:
        assert sessions.find(value) is not None
        clock.now += MAX_IDLE_S
    clock.now = MAX_SESSION_S + 1  # shortly after its last use
    assert sessions.find(value) is None
    idle_session = sessions.start(Authenticated())
    clock.now += MAX_IDLE_S + 1
    assert sessions.find(idle_session) is None


def test_ended_or_unknown_session_is_not_found() -> None:
    sessions = Sessions()
    value = sessions.start(Authenticated())
    sessions.end(value)
    for invalid_value in (value, "", "x", "é", value[:-1]):
        assert sessions.find(invalid_value) is None
        sessions.end(invalid_value)


def test_least_recently_used_session_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_SESSIONS", 3)
    sessions = Sessions()
    first_value, second_value, third_value = (sessions.start(Authenticated()) for _ in range(3))
    assert sessions.find(first_value)
    fourth_value = sessions.start(Authenticated())
    assert sessions.find(second_value) is None
    assert all(sessions.find(value) for value in (first_value, third_value, fourth_value))


def test_csrf_tokens_differ_by_session_and_server() -> None:
    sessions = Sessions()
    stored_sessions = [sessions.find(sessions.start(Authenticated())) for _ in range(2)]
    assert len({session.csrf for session in stored_sessions if session}) == 2
    assert (
        sessions.compute_csrf_token(b"x")
        == sessions.compute_csrf_token(b"x")
        != Sessions().compute_csrf_token(b"x")
    )


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
