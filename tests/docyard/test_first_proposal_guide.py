"""The commands of docs/first-proposal.md succeed for each host; a client starts what the host's file says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from docyard.cli.hosts.configurations import PROJECT_HOSTS, SERVER_NAME, find_project_host
from tests import fork_server
from tests.acceptance.server import Server, build_user_environment
from tests.loops import loop_over
from tests.stdio_client import ROOT, connect

GUIDE = (ROOT / "docs" / "first-proposal.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.docs, pytest.mark.skipif(os.name == "nt", reason="the guide is for a shell")]


def find_block(heading: str, language: str = "sh") -> str:
    """Return the code block below a heading."""
    section = re.split(r"^#+ ", GUIDE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return str(block)


class Reader:
    """A reader with an empty home, a name in Git's settings, and `docyard` on PATH once it is installed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.workspace = self.home / "specs"
        programs = folder / "bin"
        for path in (self.home, programs):
            path.mkdir()
        (self.home / ".gitconfig").write_text("[user]\nname = Ana Li\nemail = ana@example.org\n")
        for name, line in (
            ("docyard", f'exec {shlex.join(fork_server.build_python_command())} -m docyard "$@"'),
            ("pipx", "exit 0"),
        ):
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        path_variable = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.variables: Mapping[str, str] = {**build_user_environment(self.home), "PATH": path_variable}

    def run(self, script: str, folder: Path) -> str:
        """Run a script, which must succeed, and return its output."""
        process = subprocess.run(
            ["sh", "-eu", "-c", script], cwd=folder, env=self.variables, capture_output=True, text=True
        )
        assert process.returncode == 0, script + process.stdout + process.stderr
        return process.stdout

    def read_command(self, option: str) -> list[str]:
        """Return the command in the file of a host, with the host's names of folders replaced."""
        host, project = find_project_host(option)
        text = (self.workspace / project.path).read_text(encoding="utf-8")
        data: Any = tomllib.loads(text) if project.path.endswith(".toml") else json.loads(text)
        server = data[host.table][SERVER_NAME]
        folder = str(self.workspace)
        replaced = [
            argument.replace("${workspaceFolder}", folder).replace("${CLAUDE_PROJECT_DIR:-.}", folder)
            for argument in server["args"]
        ]
        assert not any("$" in argument for argument in replaced)
        return [server["command"], *replaced]


def make_calls(server: Server) -> None:
    """Make the agent's calls of the guide, with the id of the proposal that the first one makes."""
    create, submit = map(json.loads, find_block("4. Ask the agent", "json").splitlines())
    answer = server.call(create["tool"], **create["arguments"])
    assert not answer.is_error, answer.text
    arguments = {**submit["arguments"], "proposal": answer.data["proposal"]}
    assert not server.call(submit["tool"], **arguments).is_error


HEADINGS = {"claude": "Claude Code", "vscode": "VS Code", "cursor": "Cursor", "zed": "Zed", "codex": "Codex"}


def test_guide_has_a_section_for_each_host_with_its_files() -> None:
    assert HEADINGS.keys() == set(PROJECT_HOSTS)
    for option, heading in HEADINGS.items():
        _, project = find_project_host(option)
        script = find_block(heading)
        assert f"--host {option} --write" in script
        assert f"git add {project.path} {project.instructions}\n" in script


@pytest.mark.slow  # starts about ten processes for each host
@loop_over("option", PROJECT_HOSTS)
def test_reader_merges_the_proposal_of_an_agent(tmp_path: Path, option: str) -> None:
    folder = tmp_path / option
    folder.mkdir()
    reader = Reader(folder)
    reader.run(find_block("1. Install, and create a workspace"), ROOT)
    reader.run(find_block("2. Protect a folder"), reader.workspace)
    reader.run(find_block(HEADINGS[option]), reader.workspace)
    assert reader.run("git status --short", reader.workspace) == ""
    command = reader.read_command(option)
    program = reader.variables["PATH"].partition(os.pathsep)[0] + f"/{command[0]}"
    connection = connect(
        [program, *command[1:]], name=option, variables=reader.variables, folder=reader.workspace
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connection) as client:
        make_calls(Server(portal, client))
    output = reader.run(find_block("5. Review and merge"), reader.workspace)
    assert "Merge proposal" in output
    assert "specs/retries.md#" in output
    assert (reader.workspace / "specs/retries.md").is_file()
