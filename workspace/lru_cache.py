"""A least-recently-used cache with a capacity.

`cachetools.LRUCache` is not used: the lock, the creation and the removal of values would need as much code,
and a hit takes twice the time (1.1 us).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Key = TypeVar("Key")
Value = TypeVar("Value")
P = ParamSpec("P")


def _weigh_equally(value: object) -> int:
    return 1


class LRUCache(Generic[Key, Value]):
    """A cache of values by key. The sum of their weights is at most `capacity`.

    `weigh` returns the weight of a value, by default 1. A value that exceeds the capacity is not cached.
    Thread-safe; two threads may compute the same value at the same time.
    """

    def __init__(self, capacity: int, weigh: Callable[[Value], int] = _weigh_equally) -> None:
        self._capacity, self._weigh = capacity, weigh
        self._total_weight = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[P, Value], *args: P.args, **kwargs: P.kwargs) -> Value:
        """Return the value of a key, computed by `make` from the arguments if it is not cached."""
        values = self._values
        with self._lock:
            try:
                values.move_to_end(key)
                return values[key]
            except KeyError:
                pass
        value = make(*args, **kwargs)
        self.put(key, value)
        return value

    def find(self, key: Key) -> Value | None:
        """Return the cached value of a key, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        """Cache a value; replace the earlier value of its key."""
        weight = self._weigh(value)
        with self._lock:
            if key in self._values:
                self._total_weight -= self._weigh(self._values.pop(key))
            if weight > self._capacity:
                return
            self._values[key] = value
            self._total_weight += weight
            while self._total_weight > self._capacity:
                self._total_weight -= self._weigh(self._values.popitem(last=False)[1])

    def retain(self, must_keep: Callable[[Key], bool]) -> None:
        """Remove the values of all keys for which `must_keep` returns False."""
        with self._lock:
            for key in [key for key in self._values if not must_keep(key)]:
                self._total_weight -= self._weigh(self._values.pop(key))

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    @property
    def total_weight(self) -> int:
        """The total weight of the cached values."""
        return self._total_weight
