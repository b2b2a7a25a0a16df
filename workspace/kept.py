"""Values that are kept within bounds: the least recently used goes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Key = TypeVar("Key", bound="Hashable")
Value = TypeVar("Value")


def _one(value: object) -> int:
    return 1


class Kept(Generic[Key, Value]):
    """Values by key, of at most `most` in all: their number, or what `weigh` tells of each.

    One that weighs more by itself is not kept. Safe in several threads; two may make one value at once.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int] = _one) -> None:
        self._most, self._weigh = most, weigh
        self._held = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made where it is not kept. What `make` raises is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        weight = self._weigh(value)
        with self._lock:
            if key not in self._values and weight <= self._most:
                self._values[key] = value
                self._held += weight
            while self._held > self._most:
                _, dropped = self._values.popitem(last=False)
                self._held -= self._weigh(dropped)
        return value
