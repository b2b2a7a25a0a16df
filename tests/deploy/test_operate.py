"""The commands of docs/operate.md succeed, with other folders and ports, and without a service manager."""

from __future__ import annotations

import json
import re
import shlex
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.acceptance.server import build_user_environment
from tests.repositories import create_repository
from tests.stdio_client import ROOT

pytestmark = pytest.mark.process

PAGE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
HOST = "docs.acme.example"
TIMEOUT_S = 60.0
# Commands that need another user, a service manager, or a network.
_OMITTED = ("useradd", "systemctl", "pip wheel", "pip install", "venv", "chmod 700", "podman")


def find_blocks(heading: str) -> list[str]:
    """Return the scripts of a section, without their indentation."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^( *)```sh\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
    assert blocks
    return [re.sub(rf"^{indent}", "", script, flags=re.MULTILINE) for indent, script in blocks]


class Machine:
    """A folder in place of the root folder, and the commands of the page in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "var/lib/docyard"
        self.backups = folder / "backups"
        for path in (self.state, self.backups, folder / "etc/caddy", folder / "etc/systemd/system"):
            path.mkdir(parents=True)
        program = folder / "opt/docyard/bin/docyard"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m docyard "$@"\n')
        program.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free_socket:
            self.port = free_socket.getsockname()[1]
        handbook = create_repository(folder / "handbook", {"guide.md": "# Guide\n\nMove the cursor.\n"})
        self.variables = {
            **build_user_environment(self.state),
            "HANDBOOK": str(handbook.path),
            "HOST_NAME": HOST,
            "BACKUPS": str(self.backups),
        }

    def replace_paths(self, text: str) -> str:
        """Return a text for the folders and the port of this machine."""
        text = re.sub(r"(?<![\w.])/(etc|var/lib|opt)/", rf"{self.folder}/\1/", text)
        return text.replace("127.0.0.1:8000", f"127.0.0.1:{self.port}")

    def run(self, script: str) -> str:
        """Run a script of the page, except the omitted commands, and return its output."""
        script = script.replace("\\\n", " ")
        lines = [line for line in script.splitlines() if not any(word in line for word in _OMITTED)]
        text = "\n".join(lines).replace("sudo -u docyard ", "").replace("sudo ", "")
        process = subprocess.run(
            ["sh", "-eu", "-c", self.replace_paths(text)],
            cwd=ROOT,
            env=self.variables,
            capture_output=True,
            text=True,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        for file in (self.folder / "etc").rglob("*"):
            if file.suffix in (".toml", ".service") and str(self.folder) not in (old := file.read_text()):
                file.write_text(self.replace_paths(old))
        return process.stdout

    @contextmanager
    def run_service(self, name: str) -> Iterator[str]:
        """Run the installed unit as the service manager would, and yield the URL of its server."""
        unit = (self.folder / "etc/systemd/system" / f"{name}.service").read_text()
        [command] = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        with (
            (self.folder / f"{name}.log").open("wb") as log,
            subprocess.Popen(
                shlex.split(command), env=self.variables, cwd=self.state, stdout=log, stderr=log
            ) as process,
        ):
            try:
                url = f"http://127.0.0.1:{self.port}"
                deadline = time.monotonic() + TIMEOUT_S
                while True:
                    assert process.poll() is None, (self.folder / f"{name}.log").read_text()
                    try:
                        if httpx2.get(f"{url}/readyz").status_code == 200:
                            break
                    except httpx2.TransportError:
                        pass
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
                yield url
            finally:
                process.terminate()
                process.wait(TIMEOUT_S)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "machine")
    for script in find_blocks("Install"):
        machine.run(script)
    return machine


def test_public_server_of_the_guide_answers_everyone(machine: Machine) -> None:
    *preparation, check = find_blocks("A public read-only server")
    for script in preparation:
        machine.run(script)
    with machine.run_service("docyard"):
        output = machine.run(check)
        assert '{"ready":true,"status":"ok"}' in output
        assert "Move the cursor." in output
    assert HOST in (machine.folder / "etc/caddy/Caddyfile").read_text()
    machine.run(find_blocks("Upgrade")[0])


def test_team_server_of_the_guide_survives_a_restore(machine: Machine) -> None:
    for script in find_blocks("A public read-only server")[:3]:
        machine.run(script)
    outputs = [machine.run(script) for script in find_blocks("A private server of a team")]
    secret = re.search(r"docyard_ana_[0-9a-f]{48}", "".join(outputs))
    assert secret is not None
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "create_document", "arguments": {"title": "New", "doc_type": "document"}},
    }
    headers = {"Host": HOST, "Authorization": f"Bearer {secret[0]}", "Accept": "application/json"}
    with machine.run_service("docyard-team") as url:
        assert httpx2.post(f"{url}/mcp", json=call, headers={"Host": HOST}).status_code == 401
        answer = httpx2.post(f"{url}/mcp", json=call, headers=headers).json()
        assert answer["result"]["structuredContent"].get("commit"), json.dumps(answer)
        back_up, restore = find_blocks("Back up and restore")
        machine.run(back_up)
    assert {path.name for path in machine.backups.iterdir()} == {
        "server.sqlite",
        "team.bundle",
        "keys.tar.gz",
    }
    assert stat.S_IMODE((machine.backups / "server.sqlite").stat().st_mode) == 0o600
    machine.state.rename(machine.folder / "lost")
    (machine.folder / "etc/docyard").rename(machine.folder / "lost-etc")
    machine.state.mkdir()
    machine.run(restore)
    # The token of the server is not part of a backup; those of people are.
    [create_tokens] = [script for script in find_blocks("A private server of a team") if "umask" in script]
    machine.run(create_tokens.splitlines()[0])
    assert stat.S_IMODE((machine.state / "team/docyard").stat().st_mode) == 0o700
    with machine.run_service("docyard-team") as url:
        page = httpx2.get(f"{url}/doc/new.md", headers={**headers, "Accept": "text/html"})
        assert page.status_code == 200, page.text
    process = subprocess.run(
        [sys.executable, "-m", "docyard", "doctor", "-C", str(machine.state / "team")],
        env=machine.variables,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert (machine.folder / "etc/docyard/server.toml").is_file()
