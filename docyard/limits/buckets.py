"""Token buckets. Several are charged together, or none.

A bucket of a rate of N per minute contains N tokens. It refills evenly, so that a client which was quiet can
use N at once, and N per minute afterwards. A charge of more than N needs a full bucket, and leaves a debt.

All numbers are integers: a token is 60 billion units, and a rate of N refills N units in a nanosecond.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from workspace.lru_cache import LRUCache

MAX_BUCKETS = 65_536
"""The maximum number of buckets, about 15 MB; beyond it the least recently charged one is forgotten."""

_UNITS = 60_000_000_000  # of a token; also the nanoseconds of a minute
_NANOSECONDS = 1_000_000_000

BucketKey = tuple[str, ...]


class Charge(NamedTuple):
    """A number of tokens of one bucket, and the tokens per minute of this bucket."""

    key: BucketKey
    rate: int
    cost: int = 1


class EmptyBucket(NamedTuple):
    """The number of the first charge that its bucket cannot pay, and the seconds until it can, at least 1."""

    position: int
    retry_after_s: int


class Level(NamedTuple):
    """The units that are missing from a bucket at a time."""

    missing: int
    time_ns: int


class Levels(Protocol):
    """A store of the levels of buckets. `lock` is held while levels are read and changed."""

    def lock(self) -> AbstractContextManager[object]: ...

    def find(self, key: BucketKey) -> Level | None: ...

    def put(self, key: BucketKey, value: Level) -> None: ...


class MemoryLevels:
    """The levels of one process, at most `capacity`: the least recently used one is removed first."""

    def __init__(self, capacity: int = MAX_BUCKETS) -> None:
        self._levels: LRUCache[BucketKey, Level] = LRUCache(capacity)
        self._lock = threading.Lock()
        self.find, self.put = self._levels.find, self._levels.put

    def lock(self) -> AbstractContextManager[object]:
        """Return the lock of all threads."""
        return self._lock

    def __len__(self) -> int:
        return len(self._levels)


class Buckets:
    """Token buckets. Thread-safe. `levels` is None for those of one process."""

    def __init__(self, levels: Levels | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._levels = MemoryLevels() if levels is None else levels
        self._clock = clock

    def charge(self, charges: Sequence[Charge]) -> EmptyBucket | None:
        """Take the tokens of all charges. Return the bucket that is waited for longest if any is empty.

        Then nothing is taken. No two charges may have the same key.
        """
        if not charges:
            return None
        with self._levels.lock():
            now = self._clock()
            levels = [self._read_missing_units(charge, now) for charge in charges]
            empty = [
                EmptyBucket(position, _compute_wait_s(charge, missing))
                for position, (charge, missing) in enumerate(zip(charges, levels, strict=True))
                if _compute_shortage(charge, missing) > 0
            ]
            if empty:
                return max(empty, key=lambda item: item.retry_after_s)
            for charge, missing in zip(charges, levels, strict=True):
                self._levels.put(charge.key, Level(missing + charge.cost * _UNITS, now))
        return None

    def add_debt(self, charges: Iterable[Charge]) -> None:
        """Take the tokens of all charges, also from empty buckets: the work has been done already."""
        with self._levels.lock():
            now = self._clock()
            for charge in charges:
                missing = self._read_missing_units(charge, now)
                self._levels.put(charge.key, Level(missing + charge.cost * _UNITS, now))

    def _read_missing_units(self, charge: Charge, now: int) -> int:
        level = self._levels.find(charge.key)
        if level is None:
            return 0
        return max(0, level.missing - max(0, now - level.time_ns) * charge.rate)


def _compute_shortage(charge: Charge, missing: int) -> int:
    """Return the units by which a bucket is too empty for a charge; not positive if it can pay."""
    return min(charge.cost, charge.rate) * _UNITS + missing - charge.rate * _UNITS


def _compute_wait_s(charge: Charge, missing: int) -> int:
    shortage = _compute_shortage(charge, missing)
    return max(1, -(-shortage // (charge.rate * _NANOSECONDS)))
