"""Failed tries with a token: slowed down, each by itself, so that a right one never waits."""

from __future__ import annotations

import anyio

PAUSE = 0.5  # seconds
MOST = 32
"""Tries that may wait at once; further ones are told to come back later."""


class Failures:
    """The failed tries of one server."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._waiting = 0

    async def slow(self) -> bool:
        """Wait, after a try that failed. False at once if too many are waiting."""
        if self._waiting >= MOST:
            return False
        self._waiting += 1
        try:
            await anyio.sleep(self._pause)
        finally:
            self._waiting -= 1
        return True
