"""Tests that run the steps of docs/proposals.md: the agent's calls with the tools, the rest in a shell."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from docyard.cli.main import main
from index.service import SearchIndex
from tests import fork_server
from tests.repositories import Repo, create_repository
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "proposals.md").read_text(encoding="utf-8")
RETRIES = "# Retries\n\n## Backoff\n\nA client comes back at once.\n"

pytestmark = [pytest.mark.docs, pytest.mark.skipif(os.name == "nt", reason="the guide is for a shell")]


class Reader:
    """A reader who follows the guide in a repository, and also makes the agent's calls."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self._repo = repo
        self._program_folder = folder / "bin"
        self._program_folder.mkdir()
        command = self._program_folder / "docyard"
        command.write_text(
            f'#!/bin/sh\nexec {shlex.join(fork_server.build_python_command())} -m docyard "$@"\n'
        )
        command.chmod(0o755)
        workspace = Workspace.open(repo.path, durable=False)
        self._dispatcher = ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False)
        self._seen_texts = SeenTexts()
        self.proposal_id = ""

    def run_script(self, script: str) -> str:
        """Run a script, which must succeed, and return its output."""
        path = f"{self._program_folder}{os.pathsep}{os.environ['PATH']}"
        completed = subprocess.run(
            ["sh", "-eu", "-c", script],
            cwd=self._repo.path,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == 0, script + completed.stdout + completed.stderr
        return completed.stdout

    def make_calls(self, lines: str) -> None:
        """Make an agent's calls, one per line, with the id of the first proposal in place of `k7m2q9xa`."""
        for line in lines.splitlines():
            call = json.loads(line.replace("k7m2q9xa", self.proposal_id))
            response = self._dispatcher.call(
                call["tool"], call["arguments"], client="agent", seen_texts=self._seen_texts
            )
            assert not response.is_error, response.data
            self.proposal_id = self.proposal_id or str(response.data["proposal"])


@pytest.mark.slow  # starts about twenty processes
def test_each_step_of_guide_succeeds(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repo", {"guides/retries.md": RETRIES})
    reader = Reader(repo, tmp_path)
    outputs = []
    for language, text in re.findall(r"^```(json|sh)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL):
        if language == "json":
            reader.make_calls(text)
        else:
            outputs.append(reader.run_script(text))
    _, diff_output, merge_output, reopen_output, list_output, conflict_output = outputs
    assert "    ~ A client comes back [-at once.-]{+after a second.+}\n" in diff_output
    assert f" git switch proposals/{reader.proposal_id}-" in diff_output
    assert "  guides/retries.md#backoff  " in merge_output  # the quoted words still exist
    assert "requested changes at" in merge_output
    graph = [line.partition("* ")[2] for line in merge_output.splitlines() if re.match(r"[|\\ ]*\* ", line)]
    assert graph[0].endswith(f"Merge proposal {reader.proposal_id}: Say how retries back off")
    assert "after a second, then two, then four" in repo.git("show", "main:guides/retries.md")
    assert "Reopened" in reopen_output
    assert f"{reader.proposal_id}\tmerged\t" in list_output
    assert "has no conflict with main." in conflict_output
    assert repo.status() == ""
    clone = tmp_path / "clone"
    repo.git("clone", "-q", ".", str(clone))
    assert main(["proposals", "list", "--state", "all", "-C", str(clone)]) == 0


def test_guide_lists_all_states() -> None:
    from workspace.proposals.proposal import ProposalState

    assert re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE) == [
        *("draft", "open", "changes_requested", "approved", "merged", "closed", "gone")
    ]
    assert {*re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)} == {*ProposalState}
