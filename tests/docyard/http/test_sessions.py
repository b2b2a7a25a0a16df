"""Sessions end by themselves, are few, and each has forms of its own; failed tries hold up nobody else."""

from __future__ import annotations

import anyio
import pytest

from docyard.http import authentication
from docyard.http.authentication import (
    MAX_DELAYED,
    MAX_IDLE_S,
    MAX_SESSION_S,
    FailedLoginThrottle,
    Sessions,
    TokenOwner,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_lasts_as_long_as_it_is_used() -> None:
    clock = Clock()
    kept = Sessions(clock)
    value = kept.start(TokenOwner())
    while clock.now <= MAX_SESSION_S:
        assert kept.find(value) is not None
        clock.now += MAX_IDLE_S
    clock.now = MAX_SESSION_S + 1  # a moment after it was used
    assert kept.find(value) is None
    idle = kept.start(TokenOwner())
    clock.now += MAX_IDLE_S + 1
    assert kept.find(idle) is None


def test_one_that_was_ended_or_never_begun_is_none() -> None:
    kept = Sessions()
    value = kept.start(TokenOwner())
    kept.end(value)
    for other in (value, "", "x", "é", value[:-1]):
        assert kept.find(other) is None
        kept.end(other)


def test_there_are_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_SESSIONS", 3)
    kept = Sessions()
    first, second, third = (kept.start(TokenOwner()) for _ in range(3))
    assert kept.find(first)
    fourth = kept.start(TokenOwner())
    assert kept.find(second) is None
    assert all(kept.find(value) for value in (first, third, fourth))


def test_forms_belong_to_one_session_of_one_server() -> None:
    kept = Sessions()
    found = [kept.find(kept.start(TokenOwner())) for _ in range(2)]
    assert len({session.csrf for session in found if session}) == 2
    assert kept.csrf(b"x") == kept.csrf(b"x") != Sessions().csrf(b"x")


@pytest.mark.anyio
async def test_too_many_failures_are_turned_away_at_once() -> None:
    failures = FailedLoginThrottle(pause=60)
    with anyio.move_on_after(30) as patience:
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_DELAYED):
                tasks.start_soon(failures.delay)
            await anyio.wait_all_tasks_blocked()
            assert await failures.delay() is False
            tasks.cancel_scope.cancel()
    assert not patience.cancelled_caught
    assert await FailedLoginThrottle(pause=0).delay()
