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
from collections.abc import Iterator, Mapping
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
_OMITTED = (
    *("useradd", "runuser", "chown", "install -d -m 700", "systemctl"),
    *("pip wheel", "pip install", "venv", "chmod 700", "podman"),
)


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
        # The check reads folders that the installed files name, which are replaced after the installation.
        installation, check, rest = script.partition("sudo -u docyard /opt/docyard/bin/docyard config check")
        if installation and check:
            return self.run(installation) + self.run(check + rest)
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


def find_block(heading: str, text: str) -> str:
    """Return the script of a section that contains a text."""
    [script] = [script for script in find_blocks(heading) if text in script]
    return script


TEAM = "A private server of a team"
RESTORE = "Back up and restore"
DOCTOR = "/opt/docyard/bin/docyard doctor -C /var/lib/docyard/team"


def lose_files(machine: Machine) -> None:
    """Move everything that a backup must bring back out of the way."""
    machine.state.rename(machine.folder / "lost")
    (machine.folder / "etc/docyard").rename(machine.folder / "lost-etc")
    machine.state.mkdir(mode=0o700)


def set_up_team(machine: Machine) -> Mapping[str, str]:
    """Run the commands of a private server without a configuration file; return the headers of Ana."""
    scripts = [
        find_block(TEAM, text) for text in ("clone --quiet --bare", "tokens add", "docyard-team.service /etc")
    ]
    output = "".join(map(machine.run, scripts))
    secret = re.search(r"docyard_ana_[0-9a-f]{48}", output)
    assert secret is not None
    assert stat.S_IMODE((machine.state / "token").stat().st_mode) == 0o600
    return {"Host": HOST, "Authorization": f"Bearer {secret[0]}", "Accept": "application/json"}


def test_public_server_of_the_guide_is_restored(machine: Machine) -> None:
    clone, *scripts = find_blocks("A public read-only server")[:3]
    for script in (clone, *scripts, find_block("A public read-only server", "docyard.service")):
        machine.run(script)
    machine.run(find_block(RESTORE, 'backup "$BACKUPS/server.sqlite'))
    machine.run(find_block(RESTORE, "--create"))
    lose_files(machine)
    for script in (
        clone,
        find_block(RESTORE, 'cp "$BACKUPS/server.sqlite'),
        find_block(RESTORE, "--extract"),
    ):
        machine.run(script)
    with machine.run_service("docyard"):
        assert "Move the cursor." in machine.run(find_blocks("A public read-only server")[-1])


def test_team_server_of_the_guide_survives_a_restore(machine: Machine) -> None:
    """A private server without a configuration file and without a public server is restored."""
    headers = set_up_team(machine)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "create_document", "arguments": {"title": "New", "doc_type": "document"}},
    }
    with machine.run_service("docyard-team") as url:
        assert httpx2.post(f"{url}/mcp", json=call, headers={"Host": HOST}).status_code == 401
        answer = httpx2.post(f"{url}/mcp", json=call, headers=headers).json()
        assert answer["result"]["structuredContent"].get("commit"), json.dumps(answer)
        machine.run(find_block(RESTORE, "bundle create"))
        machine.run(find_block(RESTORE, "--create"))
    assert {path.name for path in machine.backups.iterdir()} == {"team.bundle", "keys.tar.gz"}
    server_token = (machine.state / "token").read_text()
    lose_files(machine)
    clone = find_block(RESTORE, "--mirror")
    machine.run(clone)
    assert "the remote 'origin' is a bundle" in machine.run(f"{DOCTOR} || true")
    machine.run(find_block(RESTORE, "--extract"))
    assert (machine.state / "token").read_text() == server_token
    assert stat.S_IMODE((machine.state / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE((machine.state / "team/docyard").stat().st_mode) == 0o700
    remote = "git -C /var/lib/docyard/team config --get-regexp remote.origin"
    assert machine.run(remote) == f"remote.origin.url {machine.variables['HANDBOOK']}\n"
    with machine.run_service("docyard-team") as url:
        page = httpx2.get(f"{url}/doc/new.md", headers={**headers, "Accept": "text/html"})
        assert page.status_code == 200, page.text
    assert "a bundle" not in machine.run(DOCTOR)
    machine.run(f"URL=https://git.acme.example/handbook\n{find_block(RESTORE, 'remove-section')}")
    assert "git.acme.example" in machine.run(remote)


def test_team_server_of_the_guide_with_a_configuration_file_has_its_database_in_the_state_folder(
    machine: Machine,
) -> None:
    headers = set_up_team(machine)
    machine.run(find_block(TEAM, "team.toml <<"))
    with machine.run_service("docyard-team") as url:
        assert httpx2.get(f"{url}/", headers={**headers, "Accept": "text/html"}).status_code == 200
    assert {path.name for path in (machine.folder / "etc/docyard").iterdir()} == {"team.toml"}
    machine.run(find_block(RESTORE, 'backup "$BACKUPS/team.sqlite'))
    assert stat.S_IMODE((machine.backups / "team.sqlite").stat().st_mode) == 0o600
    (machine.state / "team.sqlite").unlink()
    machine.run(find_block(RESTORE, 'cp "$BACKUPS/team.sqlite'))
    with machine.run_service("docyard-team"):
        pass


APPROVERS = [
    # The token of the caller, and the error of an approval by Ana.
    ("server", None),
    ("ana-agent", "OWN_PROPOSAL"),
    ("other-address", None),
    ("ana", "OWN_PROPOSAL"),
]


def test_ana_approves_the_work_of_an_agent_unless_its_token_has_her_address(machine: Machine) -> None:
    headers = set_up_team(machine)
    rule = '[[protect]]\npaths = ["specs/**"]\n'
    add_token = "/opt/docyard/bin/docyard tokens add NAME --email EMAIL --name A -C /var/lib/docyard/team"
    script = (
        f"git clone -q /var/lib/docyard/team c; cd c; printf '{rule}' > docyard.toml; git add docyard.toml; "
    )
    machine.run(f"cd /var/lib/docyard; {script} git commit -qm Rule; git push -q")
    secrets = {"server": (machine.state / "token").read_text().strip(), "ana": headers["Authorization"][7:]}
    for name, email in (("ana-agent", "ana@example.org"), ("other-address", "ana-agent@example.org")):
        command = add_token.replace("NAME", f"x-{name}").replace("EMAIL", email)
        secrets[name] = machine.run(f"{command} --scope docs:read --scope docs:write").split()[0]
    with machine.run_service("docyard-team") as url:

        def call(caller: str, name: str, **arguments: str) -> dict[str, str]:
            params = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            authorization = {"Authorization": f"Bearer {secrets[caller]}"}
            answer = httpx2.post(f"{url}/mcp", json=message, headers={**headers, **authorization}).json()
            content: dict[str, str] = answer["result"]["structuredContent"]
            return content

        for caller, error in APPROVERS:
            path = f"specs/{caller}.md"
            proposal = call(caller, "create_document", title=caller, doc_type="document", path=path)[
                "proposal"
            ]
            call(caller, "update_proposal", proposal=proposal, action="submit")
            answer = call("ana", "update_proposal", proposal=proposal, action="approve")
            assert answer.get("code") == error, (caller, answer)
