"""Token buckets against the slow reference, in bounded memory, and with many threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docyard.limits.buckets import Buckets, Charge, EmptyBucket, Level, Levels, MemoryLevels
from docyard.limits.shared_levels import SharedLevels
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


@pytest.mark.parametrize("is_shared", [False, True])
@given(steps=STEPS)
def test_buckets_admit_what_the_reference_admits(
    is_shared: bool, steps: list[tuple[int, dict[str, int], bool]]
) -> None:
    with TemporaryDirectory() as folder:
        levels = SharedLevels(Path(folder), capacity=64) if is_shared else None
        compare_with_reference(levels, steps)
        if levels is not None:
            levels.close()


def compare_with_reference(levels: Levels | None, steps: list[tuple[int, dict[str, int], bool]]) -> None:
    clock, reference = Clock(), ReferenceBuckets()
    buckets = Buckets(levels, clock)
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
    levels = MemoryLevels(3)
    buckets = Buckets(levels, clock)
    for name in "abcd":
        assert buckets.charge([Charge((name,), 1)]) is None
    assert len(levels) == 3
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


def test_full_set_of_slots_forgets_the_oldest_level(tmp_path: Path) -> None:
    levels = SharedLevels(tmp_path, capacity=8)
    for number in range(9):
        levels.put((str(number),), Level(number, number))
    assert levels.find(("0",)) is None
    assert [levels.find((str(number),)) for number in range(1, 9)] == [Level(n, n) for n in range(1, 9)]
    levels.put(("8",), Level(80, 9))
    assert levels.find(("8",)) == Level(80, 9)
    other = SharedLevels(tmp_path, capacity=8)
    assert other.find(("8",)) == Level(80, 9)
    assert (tmp_path / "limits").stat().st_mode & 0o777 == 0o600
    levels.close()
    other.close()


WORKER = """
import sys
from pathlib import Path
from docyard.limits.buckets import Buckets, Charge
from docyard.limits.shared_levels import SharedLevels
buckets = Buckets(SharedLevels(Path(sys.argv[1])))
sys.stdin.readline()
charges = [Charge(("client",), 500), Charge(("organization",), 100_000)]
print(sum(buckets.charge(charges) is None for _ in range(400)))
"""


@pytest.mark.process
def test_workers_together_get_no_more_than_the_bucket_contains(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    counts = [int(worker.communicate()[0]) for worker in workers]
    # The bucket refills by 8 in a second.
    assert 500 <= sum(counts) <= 500 + 8 * 30
    assert sum(counts) < 3 * 400
