"""The review gate: no tool, command or race changes a protected path without review."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.storage.keys import _load_user_key
from tests.acceptance.gate.attempts import ATTEMPTS
from tests.acceptance.gate.random_walk import Walk


@pytest.fixture(autouse=True)
def use_temporary_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    _load_user_key.cache_clear()


def run_walk(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, step_count: int) -> Walk:
    """Run a permitted merge, then each known attempt to bypass the gate, then random steps."""
    walk = Walk(folder, monkeypatch, seed)
    edit = {"operation": "append_content", "file": "specs/api.md", "slug": "calls", "content": "Listed."}
    response = walk.call("edit_document", **edit)
    id = str(response.data["proposal"])
    walk.model.check()
    assert walk.model.checked_commit == walk.model.first_commit
    assert walk.merge(id, "bea") != 0
    walk.model.check()
    walk.approve(id, "cyd")
    assert walk.merge(id, "bea") == 0
    walk.model.check()
    assert walk.model.counts == {"proposed": 1, "merged": 1}
    for attempt in ATTEMPTS:
        attempt(walk, "cyd", "bea")
        walk.model.check()
    assert walk.model.counts["merged"] == 1, "an attempt was merged, and the model did not report it"
    for _ in range(step_count):
        walk.step()
    assert walk.repo.fsck() == ""
    assert walk.repo.status() == ""
    return walk


@pytest.mark.guarantee
@pytest.mark.gate
def test_random_walk_changes_no_protected_path_without_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run_walk(tmp_path, monkeypatch, 20240229, 30)


@pytest.mark.gate
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_long_random_walk_changes_no_protected_path_without_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], seed: int
) -> None:
    walk = run_walk(tmp_path, monkeypatch, seed, 300)
    assert min(walk.model.counts["proposed"], walk.model.counts["merged"]) > 5
