"""Token buckets against the slow reference, in bounded memory, and with many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from docyard.limits.buckets import Buckets, Charge, EmptyBucket
from tests.docyard.limits.reference import MINUTE_NS, ReferenceBuckets

SECOND_NS = 1_000_000_000
RATES = {"a": 1, "b": 7, "c": 60}
STEPS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 3 * SECOND_NS), st.integers(0, 2 * MINUTE_NS)),
        st.dictionaries(st.sampled_from(sorted(RATES)), st.integers(1, 12), min_size=1),
        st.booleans(),
    ),
    max_size=25,
)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@given(steps=STEPS)
def test_buckets_admit_what_the_reference_admits(steps: list[tuple[int, dict[str, int], bool]]) -> None:
    clock, reference = Clock(), ReferenceBuckets()
    buckets = Buckets(clock=clock)
    for elapsed, costs, is_debt in steps:
        clock.now += elapsed
        charges = [Charge((name,), RATES[name], cost) for name, cost in costs.items()]
        if is_debt:
            buckets.add_debt(charges)
            reference.add_debt(charges, clock.now)
            continue
        empty = buckets.charge(charges)
        assert (empty is None) == reference.charge(charges, clock.now)
        if empty is not None:
            later = clock.now + empty.retry_after_s * SECOND_NS
            assert reference.is_sufficient(charges[empty.position], later)
            assert all(reference.is_sufficient(charge, later) for charge in charges)
            earlier = later - SECOND_NS
            assert empty.retry_after_s == 1 or not reference.is_sufficient(charges[empty.position], earlier)


def test_quiet_client_gets_its_rate_at_once_and_then_evenly() -> None:
    clock = Clock()
    buckets = Buckets(clock=clock)
    charges = [Charge(("client",), 60)]
    assert [buckets.charge(charges) for _ in range(60)] == [None] * 60
    assert buckets.charge(charges) == EmptyBucket(0, 1)
    clock.now += SECOND_NS
    assert buckets.charge(charges) is None
    assert buckets.charge(charges) == EmptyBucket(0, 1)


def test_charge_above_the_rate_needs_a_full_bucket_and_leaves_a_debt() -> None:
    clock = Clock()
    buckets = Buckets(clock=clock)
    assert buckets.charge([Charge(("client",), 10, 25)]) is None
    assert buckets.charge([Charge(("client",), 10)]) == EmptyBucket(0, 96)
    clock.now += 96 * SECOND_NS
    assert buckets.charge([Charge(("client",), 10)]) is None


def test_clock_that_goes_back_gives_no_tokens() -> None:
    clock = Clock()
    clock.now = MINUTE_NS
    buckets = Buckets(clock=clock)
    assert buckets.charge([Charge(("client",), 1)]) is None
    clock.now = 0
    assert buckets.charge([Charge(("client",), 1)]) == EmptyBucket(0, 60)


def test_memory_is_bounded_and_the_oldest_bucket_is_forgotten() -> None:
    clock = Clock()
    buckets = Buckets(capacity=3, clock=clock)
    for name in "abcd":
        assert buckets.charge([Charge((name,), 1)]) is None
    assert len(buckets) == 3
    assert buckets.charge([Charge(("d",), 1)]) is not None
    assert buckets.charge([Charge(("a",), 1)]) is None


def test_threads_get_no_more_than_the_bucket_contains() -> None:
    clock = Clock()
    buckets = Buckets(clock=clock)
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: buckets.charge([Charge(("a",), 100), Charge(("b",), 300)]), range(400))
        )
    assert answers.count(None) == 100
