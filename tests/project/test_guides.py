"""The commands in the guide to a read-only server succeed in a small repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from docyard.cli.main import docyard as group
from tests import fork_server
from tests.acceptance.server import build_user_environment, serve_artifact
from tests.repositories import Repo, create_repository

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "artifacts.md").read_text(encoding="utf-8")
GUIDE = PAGE.partition("\n## A read-only server for public documentation\n")[2]

pytestmark = [
    pytest.mark.process,
    pytest.mark.docs,
    pytest.mark.skipif(os.name == "nt", reason="the guide is for a shell"),
]


def find_code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


class Shell:
    """A shell that runs scripts in the repository, with `docyard` on the PATH and an empty home."""

    def __init__(self, folder: Path, repo: Repo) -> None:
        self.home = folder / "home"
        self._repo = repo
        commands = folder / "bin"
        commands.mkdir()
        self.home.mkdir()
        for name, line in (
            ("docyard", f'exec {shlex.join(fork_server.build_python_command())} -m docyard "$@"'),
            ("pipx", "exit 0"),
        ):
            (commands / name).write_text(f"#!/bin/sh\n{line}\n")
            (commands / name).chmod(0o755)
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self._env = {**build_user_environment(self.home), "PATH": path, "RUNNER_TEMP": str(self.home)}

    def run(self, script: str, **env: str) -> str:
        """Run a script that must succeed, and return its output."""
        process = subprocess.run(
            ["sh", "-eu", "-c", script],
            cwd=self._repo.path,
            env={**self._env, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = create_repository(
        tmp_path / "site", {"old.md": "# Retries\n\nA quagga waits, and then tries again.\n"}
    )
    repo.git("mv", "old.md", "retries.md")
    repo.commit({})
    return repo


@pytest.fixture
def shell(tmp_path: Path, repo: Repo) -> Shell:
    return Shell(tmp_path, repo)


def read_steps(text: str) -> list[str]:
    """Return the scripts of a workflow, or of a list of steps."""
    data = yaml.safe_load(text)
    step_list = data["jobs"]["index"]["steps"] if isinstance(data, dict) else data
    return [step["run"] for step in step_list if "run" in step]


def test_every_step_of_the_guide_succeeds(shell: Shell, repo: Repo) -> None:
    manual, trial, serve, replace, seal, serve_sealed = find_code_blocks("sh")
    workflow, with_key = find_code_blocks("yaml")
    shell.run(manual)
    shell.run(trial)
    for step in read_steps(workflow):
        shell.run(step)
    shell.run(serve)
    with serve_artifact(repo.path / "serve" / "current", shell.home) as server:
        page = server.call("search_docs", query="quagga").data
        [hit] = page["hits"]
        assert (hit["filepath"], page["commit"]) == ("retries.md", repo.head())
        assert server.call("get_doc", chunk_id="old.md").data["moved_to"]["chunk_id"].startswith("retries.md")
        repo.commit({"retries.md": "# Retries\n\nAn okapi waits.\n"})
        for step in read_steps(workflow):
            shell.run(step)
        shell.run(replace)
        page = server.call("search_docs", query="okapi").data
        assert (len(page["hits"]), page["commit"]) == (1, repo.head())
    shell.run(seal)
    [step] = read_steps(with_key)
    shell.run(step, SITE_KEY=b64encode((repo.path.parent / "site.key").read_bytes()).decode())
    shell.run(serve_sealed)


def test_command_in_host_configuration_exists() -> None:
    [configuration] = find_code_blocks("json")
    server = json.loads(configuration)["mcpServers"]["acme-docs"]
    assert server["command"] == "docyard"
    command = group.get_command(None, server["args"][0])  # type: ignore[arg-type]
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert {argument for argument in server["args"] if argument.startswith("--")} <= options


def test_documented_tools_match_the_server(shell: Shell, repo: Repo) -> None:
    shell.run("docyard build . --out ../out")
    with serve_artifact(repo.path.parent / "out", shell.home) as server:
        [sentence] = re.findall(r"The host lists (.*?)\. Every", GUIDE, re.DOTALL)
        assert set(server.list_tools()) == set(re.findall(r"`(\w+)`", sentence))
