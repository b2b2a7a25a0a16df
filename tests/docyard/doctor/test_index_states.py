"""The states of the index that `docyard index` and `docyard doctor` report, and their fixes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.doctor.finding import Finding, Severity
from docyard.doctor.index import check_index
from index.storage.keys import _load_user_key
from index.storage.locking import hold_lock
from tests.docyard.conftest import Git
from workspace.workspace import Workspace

RunJson = Callable[..., dict[str, object]]


@pytest.fixture(autouse=True)
def clear_cached_user_key() -> None:
    _load_user_key.cache_clear()


@pytest.fixture
def run_json(repo: Path, capsys: pytest.CaptureFixture[str]) -> RunJson:
    """Return a function that runs a command with --json, checks its exit code, and parses its output."""

    def run(*command: str, code: int = 0) -> dict[str, object]:
        capsys.readouterr()
        assert main([*command, "--json", "-C", str(repo)]) == code
        data: dict[str, object] = json.loads(capsys.readouterr().out)
        return data

    return run


def find_index_folder(repo: Path) -> Path:
    [folder] = (repo / ".git" / "docyard" / "index").iterdir()
    return folder


def find_current_index(repo: Path) -> Path:
    return find_index_folder(repo) / str(
        json.loads((find_index_folder(repo) / "current").read_text())["index"]
    )


def list_findings(repo: Path) -> list[Finding]:
    return list(check_index(Workspace.open(repo, read_only=True)))


def test_damaged_index_is_reported_and_rebuilt(repo: Path, run_json: RunJson) -> None:
    run_json("index", "rebuild")
    [segment] = find_current_index(repo).glob("*.flat")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    assert run_json("index", "status", code=1)["state"] == "damaged"
    [finding] = list_findings(repo)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("the index is damaged")
    assert finding.apply_fix is not None
    assert finding.apply_fix() == "rebuilt the index"
    assert run_json("index", "status")["state"] == "current"
    assert list_findings(repo) == []


def test_leftover_index_files_are_reported_and_removed(repo: Path, run_json: RunJson) -> None:
    run_json("index", "rebuild")
    (find_index_folder(repo) / "0123456789abcdef").mkdir()
    (find_current_index(repo) / "MAIN_9.flat").write_bytes(b"half")
    assert run_json("index", "status")["leftovers"] == 2
    with hold_lock(find_index_folder(repo) / "lock", 0):
        data = run_json("index", "status")
        assert (data["writing"], data["leftovers"]) == (True, 0)
        assert [finding.message for finding in list_findings(repo)] == ["a process is writing the index"]
    [finding] = list_findings(repo)
    assert finding.severity is Severity.NOTE
    assert "left 2 files" in finding.message
    assert finding.apply_fix is not None
    assert finding.apply_fix() is not None
    assert run_json("index", "status")["leftovers"] == 0
    assert finding.apply_fix() is None


def test_index_of_deleted_branch_is_removed_unless_locked(repo: Path, git: Git, run_json: RunJson) -> None:
    git("branch", "old")
    run_json("index", "rebuild", "--branch", "old")
    [folder] = (repo / ".git" / "docyard" / "index").iterdir()
    run_json("index", "rebuild")
    git("branch", "--delete", "--quiet", "old")
    [finding] = list_findings(repo)
    assert finding.apply_fix is not None
    with hold_lock(folder / "lock", 0):
        assert finding.apply_fix() is None
    assert finding.apply_fix() == "removed 1 unused index folder"
    assert not folder.exists()
    assert run_json("index", "status")["state"] == "current"


def test_unreadable_documents_are_listed(repo: Path, git: Git, run_json: RunJson) -> None:
    (repo / "other.md").write_text("# Other\n\nA backoff.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Other")
    blob = git("rev-parse", "HEAD:other.md")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert run_json("index", "rebuild", code=1)["unreadable"] == ["other.md"]
    data = run_json("index", "status")
    assert (data["state"], data["unreadable"], data["documents"]) == ("current", ["other.md"], 2)
    page = run_json("search", "backoff")
    assert (page["unreadable"], page["stale"]) == (["other.md"], False)
    assert main(["search", "backoff", "-C", str(repo)]) == 0
    assert main(["index", "status", "-C", str(repo)]) == 0
    git("hash-object", "-w", "other.md")
    assert len(run_json("search", "backoff")["hits"]) == 2  # type: ignore[arg-type]
    assert run_json("index", "status")["unreadable"] == []


def test_search_works_with_unusable_index_folder(repo: Path, run_json: RunJson) -> None:
    run_json("index", "rebuild")
    (find_index_folder(repo) / "lock").unlink()
    (find_index_folder(repo) / "lock").mkdir()
    assert run_json("search", "backoff")["hits"]
    [finding] = list_findings(repo)
    assert finding.severity is Severity.ERROR
    assert "searches use another index" in finding.message
