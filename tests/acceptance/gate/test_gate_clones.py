"""The review gate of clones: no merge or synchronization adds an unseen word to a protected path."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.storage.keys import _load_user_key
from tests.acceptance.gate.clones import Clones


@pytest.fixture(autouse=True)
def use_temporary_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    _load_user_key.cache_clear()


def run_walk(folder: Path, seed: int, step_count: int) -> Clones:
    clones = Clones(folder, seed)
    for _ in range(step_count):
        clones.step()
    for clone in clones.clones:
        assert clone.repo.fsck() == ""
    return clones


@pytest.mark.guarantee
@pytest.mark.gate
def test_random_walk_of_clones_adds_no_unreviewed_word(tmp_path: Path) -> None:
    run_walk(tmp_path, 9, 50)


@pytest.mark.gate
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_long_random_walk_of_clones_adds_no_unreviewed_word(tmp_path: Path, seed: int) -> None:
    counts = run_walk(tmp_path, seed, 1_250).counts
    # The gate must have refused some actions and permitted others. The counts differ between runs.
    refusals = ("NEEDS_REFRESH", "sync PROTECTED ours", "sync PROTECTED theirs")
    assert sum(counts[outcome] for outcome in refusals) > 5
    assert counts["merge"] > 20
