"""`docyard build`: its output, its errors, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from index.artifacts.build import LOCK_FILE
from index.storage.locking import hold_lock
from tests import fork_server
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def output_folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run_build(*arguments: object) -> int:
    return main(["build", *map(str, arguments)])


def run_build_json(capsys: Capture, *arguments: object) -> dict[str, Any]:
    """Build with `--json`, which must succeed, and return the output."""
    assert run_build(*arguments, "--json") == 0
    return dict(json.loads(capsys.readouterr().out))


def read_metadata(output_folder: Path) -> dict[str, Any]:
    return dict(json.loads((output_folder / "metadata.json").read_bytes()))


def read_error(capsys: Capture) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_build_reads_head_and_reports_uncommitted_files(
    repo: Path, git: Git, output_folder: Path, capsys: Capture
) -> None:
    (repo / "guide.md").write_text("# Guide\n\nNot committed.\n")
    (repo / "new.md").write_text("# New\n")
    (repo / "other.txt").write_text("No document.\n")
    report = run_build_json(capsys, repo, "--out", output_folder)
    assert (
        report["commit"] == read_metadata(output_folder)["stats"]["source_commit"] == git("rev-parse", "HEAD")
    )
    assert (report["documents"], report["indexed"], report["sealed"]) == (1, 1, False)
    assert report["warnings"] == ["uncommitted changes are not in the artifact: guide.md, new.md"]


def test_artifact_of_folder_outside_git_has_no_commit(
    tmp_path: Path, output_folder: Path, capsys: Capture
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.md").write_text("# Page\n")
    assert run_build_json(capsys, tmp_path / "site", "--out", output_folder)["commit"] is None
    assert read_metadata(output_folder)["stats"]["source_commit"] is None
    assert read_metadata(output_folder)["corpus_description"] == "documentation of site"


def test_folder_in_repository_and_globs_select_documents(
    repo: Path, git: Git, output_folder: Path, capsys: Capture
) -> None:
    (repo / "docs").mkdir()
    (repo / "docs" / "page.md").write_text("# Page\n")
    git("add", ".")
    git("commit", "-q", "-m", "Add")
    assert run_build_json(capsys, "docs", "-C", repo, "--out", output_folder)["documents"] == 1
    assert run_build_json(capsys, repo, "--out", output_folder, "--include", "docs")["documents"] == 1
    assert run_build_json(capsys, repo, "--out", output_folder, "--exclude", "docs/*")["documents"] == 1
    assert run_build_json(capsys, repo, "--out", output_folder)["documents"] == 2


@pytest.mark.parametrize("name", ["v1", "older", "annotated", "refs/tags/v1", "{commit}", "{short}"])
def test_branch_tag_or_commit_is_built(
    repo: Path, git: Git, output_folder: Path, name: str, capsys: Capture
) -> None:
    commit = git("rev-parse", "HEAD")
    git("tag", "v1")
    git("tag", "-a", "annotated", "-m", "A tag", "v1")
    git("branch", "older")
    (repo / "more.md").write_text("# More\n")
    git("add", ".")
    git("commit", "-q", "-m", "More")
    report = run_build_json(
        capsys, repo, "--out", output_folder, "--ref", name.format(commit=commit, short=commit[:9])
    )
    assert (report["commit"], report["documents"], report["warnings"]) == (commit, 1, [])


def test_bare_repository_is_built(
    repo: Path, git: Git, output_folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "site.git"))
    assert run_build_json(capsys, tmp_path / "site.git", "--out", output_folder)["documents"] == 1
    assert read_metadata(output_folder)["corpus_description"] == "documentation of site"


def test_options_are_written_to_metadata(repo: Path, output_folder: Path, capsys: Capture) -> None:
    taxonomy_options = ["--taxonomy", "type=Kind of page", "--taxonomy", "area", "--taxonomy", "tags = a = b"]
    run_build_json(capsys, repo, "--out", output_folder, "--description", "Acme's guides", *taxonomy_options)
    assert read_metadata(output_folder)["corpus_description"] == "Acme's guides"
    assert read_metadata(output_folder)["taxonomy"] == {
        "type": {"description": "Kind of page", "values": ["runbook"]},
        "area": {"values": []},
        "tags": {"description": "a = b", "values": ["backend"]},
    }


def test_summary_has_the_documents_and_the_embedding(
    repo: Path, output_folder: Path, capsys: Capture
) -> None:
    assert run_build(repo, "--out", output_folder) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Built an artifact from commit ")
    assert captured.out.endswith(
        ": 1 document, 2 sections. Indexed 1 document and copied 0.\nEmbedding: none.\n"
    )
    assert captured.err == ""


def test_key_file_is_created_once_and_is_private(
    repo: Path, output_folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    key = tmp_path / "keys" / "site.key"
    assert run_build(repo, "--out", output_folder, "--key", key) == 0
    assert "Created a new key" in capsys.readouterr().err
    key_bytes = key.read_bytes()
    assert len(key_bytes) == 32
    assert key.stat().st_mode & 0o077 == 0
    report = run_build_json(capsys, repo, "--out", output_folder, "--key", key)
    assert (report["sealed"], report["indexed"]) == (True, 0)
    assert key.read_bytes() == key_bytes


def test_key_in_artifact_folder_is_refused(repo: Path, output_folder: Path, capsys: Capture) -> None:
    assert run_build(repo, "--out", output_folder, "--key", output_folder / "site.key") == 2
    assert "would be published" in read_error(capsys)
    assert not output_folder.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_as_key_is_refused_without_blocking(
    repo: Path, output_folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    assert run_build(repo, "--out", output_folder, "--key", tmp_path / "key") == 3
    assert "32 bytes" in read_error(capsys)


@pytest.mark.parametrize(("size", "mode"), [(31, 0o600), (33, 0o600), (32, 0o644), (0, 0o600)])
def test_invalid_key_is_refused(
    repo: Path, output_folder: Path, tmp_path: Path, size: int, mode: int, capsys: Capture
) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(size))
    key.chmod(mode)
    assert run_build(repo, "--out", output_folder, "--key", key) == 3
    assert "32 bytes" in read_error(capsys)
    assert not output_folder.exists()


def test_folder_without_markdown_is_refused(tmp_path: Path, output_folder: Path, capsys: Capture) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.txt").write_text("Text.")
    assert run_build(tmp_path / "site", "--out", output_folder) == 3
    assert read_error(capsys).startswith("error: there is no Markdown to build from\n  fix: ")
    assert not output_folder.exists()


def test_repository_without_commit_is_refused(
    tmp_path: Path, git: Git, output_folder: Path, capsys: Capture
) -> None:
    (tmp_path / "specs").mkdir()
    git("init", "-q")
    (tmp_path / "specs" / "page.md").write_text("# Page\n")
    assert run_build(tmp_path / "specs", "--out", output_folder) == 3
    assert "no commit yet" in read_error(capsys)


def test_invalid_manifest_error_names_file_line_and_key(
    repo: Path, git: Git, output_folder: Path, capsys: Capture
) -> None:
    (repo / ".taxonomy.toml").write_text(
        '[metadata]\ntype = "guide"\n\n[[override]]\nmatch = "a[b"\nmetadata = { type = "x" }\n'
    )
    git("add", ".")
    git("commit", "-q", "-m", "Manifest")
    assert run_build(repo, "--out", output_folder) == 3
    message = read_error(capsys)
    assert all(part in message for part in (".taxonomy.toml", "line 5", "match"))
    (repo / ".taxonomy.toml").write_text('[metadata]\nlangage = "go"\n')
    git("commit", "-q", "-a", "-m", "Manifest")
    assert run_build(repo, "--out", output_folder) == 3
    message = read_error(capsys)
    assert all(part in message for part in (".taxonomy.toml", "line 2", "langage"))
    assert not output_folder.exists()


def test_invalid_source_settings_are_refused(
    repo: Path, git: Git, output_folder: Path, capsys: Capture
) -> None:
    (repo / "docyard.toml").write_text("[taxonomy.limit]\n")
    git("add", ".")
    git("commit", "-q", "-m", "Settings")
    assert run_build(repo, "--out", output_folder) == 3
    assert "taxonomy.limit" in read_error(capsys)


@loop_over(
    ("arguments", "expected"),
    [
        (["--taxonomy", "limit"], "--taxonomy"),
        (["--taxonomy", "a b"], "--taxonomy"),
        (["--taxonomy", "=words"], "--taxonomy"),
        ([part for number in range(65) for part in ("--taxonomy", f"k{number}")], "at most 64 keys"),
        (["--description", "x" * 501], "--description"),
        (["--include", "a[b"], "--include"),
        (["--exclude", "../up"], "--exclude"),
        (["--exclude", ""], "--exclude"),
    ],
)
def test_wrong_usage_exits_with_2(
    repo: Path, output_folder: Path, arguments: list[str], expected: str, capsys: Capture
) -> None:
    assert run_build(repo, "--out", output_folder, *arguments) == 2
    assert expected in read_error(capsys)
    assert not output_folder.exists()


def test_missing_out_option_or_folder_exits_with_2(
    repo: Path, output_folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert run_build(repo) == 2
    assert "--out" in read_error(capsys)
    assert run_build(tmp_path / "missing", "--out", output_folder) == 2
    assert "folder does not exist" in read_error(capsys)
    (tmp_path / "plain").mkdir()
    assert run_build(tmp_path / "plain", "--out", output_folder, "--ref", "main") == 2
    assert "--ref" in read_error(capsys)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nonsense", "names no branch, tag or commit"),
        ("HEAD^{tree}", "names a file or folder of a commit"),
        ("", "is not a valid ref"),
        ("0" * 40, "names no branch, tag or commit"),
        ("@{2001-01-01}", "is before the history"),
    ],
)
def test_invalid_ref_is_refused(
    repo: Path, output_folder: Path, name: str, expected: str, capsys: Capture
) -> None:
    assert run_build(repo, "--out", output_folder, "--ref", name) == 3
    assert expected in read_error(capsys)


def test_output_folder_with_other_files_is_refused(repo: Path, output_folder: Path, capsys: Capture) -> None:
    assert run_build(repo, "--out", repo) == 3
    assert "files that do not belong to an artifact" in read_error(capsys)
    output_folder.write_text("A file.")
    assert run_build(repo, "--out", output_folder) == 3
    assert "must be a folder" in read_error(capsys)
    output_folder.unlink()
    output_folder.symlink_to(output_folder)
    assert run_build(repo, "--out", output_folder) == 3
    assert "must be a folder" in read_error(capsys)
    assert run_build(repo, "--out", repo / ".git" / "site") == 3
    assert "inside a Git directory" in read_error(capsys)


def test_concurrent_build_in_same_folder_is_refused(repo: Path, output_folder: Path, capsys: Capture) -> None:
    output_folder.mkdir()
    with hold_lock(output_folder / LOCK_FILE, 0):
        assert run_build(repo, "--out", output_folder) == 3
    assert "another process is building into this folder" in read_error(capsys)


@pytest.mark.process
def test_two_processes_at_once_leave_usable_artifact(repo: Path, output_folder: Path, tmp_path: Path) -> None:
    command = [
        *fork_server.build_python_command(),
        "-m",
        "docyard",
        "build",
        str(repo),
        "--out",
        str(output_folder),
    ]
    processes = [
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(2)
    ]
    errors = [process.communicate()[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes in ([0, 0], [0, 3])
    assert all("Traceback" not in text for text in errors)
    assert codes == [0, 0] or any("another process is building" in text for text in errors)
    assert run_build(repo, "--out", output_folder) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_returns_error(tmp_path: Path, output_folder: Path, capsys: Capture) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.md").write_text("# Page\n")
    (tmp_path / "site" / "page.md").chmod(0)
    assert run_build(tmp_path / "site", "--out", output_folder) == 3
    assert "page.md cannot be read: Permission denied" in read_error(capsys)


def test_missing_object_returns_error(repo: Path, git: Git, output_folder: Path, capsys: Capture) -> None:
    blob = git("rev-parse", "HEAD:guide.md")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert run_build(repo, "--out", output_folder) == 3
    message = read_error(capsys)
    assert "guide.md cannot be read" in message
    assert str(repo) not in message
