"""A protected path cannot be changed without review, by any tool, command or race."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.storage.keys import load_user_key
from tests.acceptance.gate import Walk
from tests.acceptance.gate_attempts import ATTEMPTS


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    load_user_key.cache_clear()


def walk_through(folder: Path, environment: pytest.MonkeyPatch, seed: int, steps: int) -> Walk:
    """First what must work, then each way around the gate that is known, and then whatever chance brings."""
    walk = Walk(folder, environment, seed)
    edit = {"operation": "append_content", "file": "specs/api.md", "slug": "calls", "content": "Listed."}
    became = walk.call("edit_document", **edit)
    id = str(became.data["proposal"])
    walk.model.check()
    assert walk.model.checked == walk.model.started
    assert walk.merge(id, "bea") != 0
    walk.model.check()
    walk.approve(id, "cyd")
    assert walk.merge(id, "bea") == 0
    walk.model.check()
    assert walk.model.seen == {"became": 1, "landed": 1}
    for attempt in ATTEMPTS:
        attempt(walk, "cyd", "bea")
        walk.model.check()
    assert walk.model.seen["landed"] == 1, "one of the ways led around the gate, by what the model cannot see"
    for _ in range(steps):
        walk.step()
    assert walk.repo.fsck() == ""
    assert walk.repo.status() == ""
    return walk


@pytest.mark.promise
@pytest.mark.gate
def test_nothing_that_is_protected_changes_without_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    walk_through(tmp_path, monkeypatch, 20240229, 30)


@pytest.mark.gate
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nor_in_a_long_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    walk = walk_through(tmp_path, monkeypatch, seed, 300)
    assert min(walk.model.seen["became"], walk.model.seen["landed"]) > 5
