"""A slow token bucket with exact fractions, against which `docyard.limits.buckets` is tested."""

from __future__ import annotations

from fractions import Fraction

from docyard.limits.buckets import BucketKey, Charge

MINUTE_NS = 60_000_000_000


class ReferenceBuckets:
    """Token buckets whose content is computed from the list of all their charges."""

    def __init__(self) -> None:
        self._charges: dict[BucketKey, list[tuple[int, int]]] = {}

    def read_tokens(self, charge: Charge, now: int) -> Fraction:
        """Return the tokens in a bucket, by replaying its charges."""
        tokens, time = Fraction(charge.rate), 0
        for charge_time, cost in self._charges.get(charge.key, []):
            tokens = min(
                Fraction(charge.rate), tokens + Fraction((charge_time - time) * charge.rate, MINUTE_NS)
            )
            tokens, time = tokens - cost, charge_time
        return min(Fraction(charge.rate), tokens + Fraction((now - time) * charge.rate, MINUTE_NS))

    def is_sufficient(self, charge: Charge, now: int) -> bool:
        """Return True if a bucket can pay a charge; a charge above the rate needs a full bucket."""
        return self.read_tokens(charge, now) >= min(charge.cost, charge.rate)

    def charge(self, charges: list[Charge], now: int) -> bool:
        """Take the tokens of all charges, or of none."""
        if not all(self.is_sufficient(charge, now) for charge in charges):
            return False
        self.add_debt(charges, now)
        return True

    def add_debt(self, charges: list[Charge], now: int) -> None:
        """Take the tokens of all charges in any case."""
        for charge in charges:
            self._charges.setdefault(charge.key, []).append((now, charge.cost))
