"""The steps of docs/proposals.md are run as they are written: the agent's by the tools, others in a shell."""

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
from tests import warm
from tests.repositories import Repo, normal
from tools.registry import Toolbox
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace
from workspace.writing.read_before_write import SeenTexts

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "proposals.md").read_text(encoding="utf-8")
RETRIES = "# Retries\n\n## Backoff\n\nA client comes back at once.\n"

pytestmark = [pytest.mark.docs, pytest.mark.skipif(os.name == "nt", reason="the guide is for a shell")]


class Reader:
    """Somebody who follows the guide in a repository, and runs the agent's calls too."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self._repo = repo
        self._bin = folder / "bin"
        self._bin.mkdir()
        command = self._bin / "docyard"
        command.write_text(f'#!/bin/sh\nexec {shlex.join(warm.python())} -m docyard "$@"\n')
        command.chmod(0o755)
        workspace = Workspace.open(repo.path, durable=False)
        self._toolbox = Toolbox(workspace, SearchIndex(workspace), TOOLSETS, False)
        self._seen_texts = SeenTexts()
        self.id = ""

    def types(self, script: str) -> str:
        """Runs a script, which must succeed; gives what it printed."""
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-eu", "-c", script],
            cwd=self._repo.path,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, script + done.stdout + done.stderr
        return done.stdout

    def calls(self, lines: str) -> None:
        """Makes an agent's calls, one to a line; the id in them stands for that of the first proposal."""
        for line in lines.splitlines():
            call = json.loads(line.replace("k7m2q9xa", self.id))
            answer = self._toolbox.call(
                call["tool"], call["arguments"], client="agent", seen_texts=self._seen_texts
            )
            assert not answer.is_error, answer.data
            self.id = self.id or str(answer.data["proposal"])


@pytest.mark.slow  # some twenty processes
def test_the_guide_works_step_by_step(tmp_path: Path) -> None:
    repo = normal(tmp_path / "repo", {"guides/retries.md": RETRIES})
    reader = Reader(repo, tmp_path)
    shown = []
    for language, text in re.findall(r"^```(json|sh)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL):
        if language == "json":
            reader.calls(text)
        else:
            shown.append(reader.types(text))
    _, looked, merged, proposed, refreshed = shown
    assert "    ~ A client comes back [-at once.-]{+after a second.+}\n" in looked
    assert f"  next: git switch proposals/{reader.id}-" in looked
    assert "  guides/retries.md#backoff  " in merged  # the words that were quoted are still there
    assert "asked for changes at" in merged
    graph = [line.partition("* ")[2] for line in merged.splitlines() if re.match(r"[|\\ ]*\* ", line)]
    assert graph[0].endswith(f"Merge proposal {reader.id}: Say how retries back off")
    assert "after a second, then two, then four" in repo.git("show", "main:guides/retries.md")
    assert "Reopened" in proposed
    assert "has no conflict with main." in refreshed
    assert repo.status() == ""
    clone = tmp_path / "clone"
    repo.git("clone", "-q", ".", str(clone))
    assert main(["proposals", "list", "--state", "all", "-C", str(clone)]) == 0


def test_what_the_guide_says_of_states_is_what_there_is() -> None:
    from workspace.proposals.proposal import ProposalState

    assert re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE) == [
        *("draft", "open", "changes_requested", "approved", "merged", "closed", "gone")
    ]
    assert {*re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)} == {*ProposalState}
