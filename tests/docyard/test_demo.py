"""`docyard demo`: a full run, and the repository that it creates."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.demo import steps
from docyard.demo.steps import DOCUMENT, STEPS, PersonCommit
from tests import fork_server
from tests.docyard.conftest import Git

ROOT = Path(__file__).resolve().parents[2]


def run_demo(folder: Path, *options: str, **extra_variables: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **extra_variables}
    command = (*fork_server.build_python_command(), "-m", "docyard", "demo", "--keep", str(folder), *options)
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=variables, timeout=60)


@pytest.mark.process
@pytest.mark.guarantee
@pytest.mark.parametrize(
    ("has_git", "shows_calls"),
    [
        pytest.param(True, True, marks=pytest.mark.slow),
        pytest.param(True, False, marks=pytest.mark.slow),
        (False, False),
    ],
)
def test_every_response_of_demo_is_as_expected(
    tmp_path: Path, git: Git, has_git: bool, shows_calls: bool
) -> None:
    folder = tmp_path / "demo"
    options = ["--calls"] if shows_calls else []
    # The demo must ignore variables of the environment that concern other repositories.
    other_variables = {"DOCYARD_READ_ONLY": "1", "GIT_DIR": str(tmp_path / "elsewhere")}
    process = (
        run_demo(folder, *options, **other_variables)
        if has_git
        else run_demo(folder, *options, PATH=str(tmp_path))
    )
    assert process.returncode == 0, process.stdout + process.stderr
    calls = [step for step in STEPS if not isinstance(step, PersonCommit)]
    if shows_calls:
        assert process.stdout.count("✓ as expected") == len(calls)
        assert steps.COMMIT_MESSAGE in process.stdout
    else:
        assert process.stdout.count("✓ ") == len(STEPS)
        assert 60 <= len(process.stdout.splitlines()) <= 100
    assert "✗" not in process.stdout
    document, commit = (folder / DOCUMENT).read_text(), git("rev-parse", "HEAD", cwd=folder)
    assert f"\n{document.rstrip()}\n" in process.stdout
    assert f"\ncommit {commit}\n" in process.stdout
    assert "\n    Docyard-Client: docyard-demo\n" in process.stdout
    assert "\n-The latency is at most 200 ms" in process.stdout
    assert "\n+The latency is at most 120 ms" in process.stdout
    assert " init FOLDER\n" in process.stdout.partition("What to do next")[2]
    assert "All responses were as expected" in process.stdout
    assert git("status", "--porcelain", cwd=folder) == ""
    assert git("fsck", "--strict", cwd=folder) == ""
    # One commit each: settings, create, batch, complete, tag, the person, the last task, and its undo. Then
    # the commit of the proposal, and its merge.
    assert git("rev-list", "--count", "HEAD", cwd=folder) == "10"
    assert git("log", "--format=%an", f"--grep={steps.COMMIT_MESSAGE}", cwd=folder) == steps.PERSON_NAME
    assert "leaky bucket" in (folder / DOCUMENT).read_text()


def test_non_empty_folder_is_refused(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--keep", str(repo)]) == 3
    assert "not empty" in capsys.readouterr().err
