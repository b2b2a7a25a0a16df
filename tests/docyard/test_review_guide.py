"""Tests that run the shell commands and agent calls of docs/review.md, and check its pictures."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests import fork_server
from tests.browser.page_server import start_page_server
from tests.repositories import Repo

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.docs, pytest.mark.skipif(os.name == "nt", reason="the guide is for a shell")]


def run_script(script: str, folder: Path) -> str:
    """Run a script, which must succeed, and return its output."""
    command = folder / "bin" / "docyard"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {shlex.join(fork_server.build_python_command())} -m docyard "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    completed = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, script + completed.stdout + completed.stderr
    return completed.stdout


@pytest.mark.slow  # starts a dozen processes and a server
def test_each_step_of_guide_succeeds(tmp_path: Path) -> None:
    setup_script, rules_script, list_script = re.findall(
        r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL
    )
    run_script(setup_script + rules_script, tmp_path)
    assert (tmp_path / "ana.token").read_text().startswith("docyard_ana_")
    repo = Repo(tmp_path / "specs")
    with start_page_server(repo, tmp_path / "home") as server, server.connect_agent() as agent:
        proposal_id = ""
        for calls in re.findall(r"^```json\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL):
            for line in calls.splitlines():
                call = json.loads(line.replace("k7m2q9xa", proposal_id))
                proposal_id = proposal_id or agent.call(call["tool"], **call["arguments"])["proposal"]
                if call["tool"] != "create_proposal":
                    agent.call(call["tool"], **call["arguments"])
    list_output = run_script(list_script, repo.path)
    assert "Say how retries back off" in list_output
    assert f"proposals/{proposal_id}" in list_output
    branch = repo.git("branch", "--list", f"proposals/{proposal_id}*", "--format=%(refname:short)").strip()
    assert "waits a second, then two, then four." in repo.git("show", f"{branch}:guides/retries.md")


def test_each_picture_of_guide_exists_with_alternative_text() -> None:
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", GUIDE)
    assert len(pictures) >= 10
    assert all(alternative_text and (ROOT / "docs" / file).is_file() for alternative_text, file in pictures)
