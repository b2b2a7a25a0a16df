"""The description of each MCP host, and its configuration as text.

A configuration of a user starts the server with an absolute command: this Python, `-m docyard serve`, and the
repository's path, because a desktop host may start a server with a PATH that lacks Python. A configuration of
a project is committed, so it starts the `docyard` on the PATH of each member, in the folder that the host has
opened; or it names the URL of a shared server, and where each member's token comes from.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SERVER_NAME = "docyard"


@dataclass(frozen=True, slots=True)
class ProjectHost:
    """The configuration that a host reads from a project: the values of `--host`, and the files.

    `folder` is the host's notation for the folder of the project. `instructions` is the file with
    instructions for agents. `traces` are the files and folders that a project has if its members use the
    host. `remark` describes a step that each member of the team takes, if there is one.

    `remote` has the fields of a server with a URL, which contain the host's notation for a secret of each
    member; it is None if the host has no such notation. `inputs` are the questions of the host for secrets.
    """

    option: str
    path: str
    folder: str
    instructions: str
    traces: tuple[str, ...]
    remark: str = ""
    remote: Mapping[str, object] | None = None
    inputs: tuple[Mapping[str, object], ...] = ()

    def describe_remote_server(self, url: str) -> dict[str, object]:
        """Return the fields of a server with a URL, which a member's own token authenticates."""
        assert self.remote is not None
        return {name: url if name == "url" else value for name, value in self.remote.items()}


@dataclass(frozen=True, slots=True)
class Host:
    """An MCP host: where its user pastes the configuration, and the shape of the configuration.

    `language` is the language of the user's configuration: json, toml or console. `table` is the key that
    holds all servers; `leading` and `trailing` are the host's own fields of a server.
    """

    name: str
    place: str
    language: str
    table: str
    leading: Mapping[str, object] = field(default_factory=dict)
    trailing: Mapping[str, object] = field(default_factory=dict)
    project: ProjectHost | None = None

    def describe_server(self, command: Sequence[str]) -> dict[str, object]:
        """Return the fields of a server that `command` starts."""
        program, *arguments = command
        return {**self.leading, "command": program, "args": arguments, **self.trailing}


_STDIO: Mapping[str, object] = {"type": "stdio"}
TOKEN_VARIABLE = "DOCYARD_TOKEN"
_TOKEN_INPUT = "docyard-token"


def _build_remote(notation: str, leading: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a server with a URL and a token, in a host's notation for secrets."""
    return {**leading, "url": "", "headers": {"Authorization": f"Bearer {notation}"}}


_HTTP: Mapping[str, object] = {"type": "http"}

HOSTS = (
    Host(
        "Claude Code",
        "a terminal",
        "console",
        "mcpServers",
        project=ProjectHost(
            "claude",
            ".mcp.json",
            "${CLAUDE_PROJECT_DIR:-.}",
            "CLAUDE.md",
            (".claude", ".mcp.json", "CLAUDE.md"),
            "Claude Code asks each member once whether to use the server.",
            _build_remote(f"${{{TOKEN_VARIABLE}}}", _HTTP),
        ),
    ),
    Host("Claude Desktop", "claude_desktop_config.json", "json", "mcpServers"),
    Host(
        "Cursor",
        "~/.cursor/mcp.json",
        "json",
        "mcpServers",
        project=ProjectHost(
            "cursor",
            ".cursor/mcp.json",
            "${workspaceFolder}",
            "AGENTS.md",
            (".cursor", ".cursorrules"),
            remote=_build_remote(f"${{env:{TOKEN_VARIABLE}}}", {}),
        ),
    ),
    Host(
        "VS Code",
        ".vscode/mcp.json",
        "json",
        "servers",
        leading=_STDIO,
        project=ProjectHost(
            "vscode",
            ".vscode/mcp.json",
            "${workspaceFolder}",
            "AGENTS.md",
            (".vscode",),
            remote=_build_remote(f"${{input:{_TOKEN_INPUT}}}", _HTTP),
            inputs=(
                {
                    "id": _TOKEN_INPUT,
                    "type": "promptString",
                    "description": "The token of your agent for Docyard",
                    "password": True,
                },
            ),
        ),
    ),
    Host(
        "Zed",
        "~/.config/zed/settings.json",
        "json",
        "context_servers",
        trailing={"env": {}},
        # Zed starts a server in the folder of the project. It expands no variables in headers.
        project=ProjectHost("zed", ".zed/settings.json", ".", "AGENTS.md", (".zed",)),
    ),
    Host(
        "Codex",
        "~/.codex/config.toml",
        "toml",
        "mcp_servers",
        # Codex starts a server in the folder of its session.
        project=ProjectHost(
            "codex",
            ".codex/config.toml",
            ".",
            "AGENTS.md",
            (".codex",),
            "Codex reads the file only in projects that the member trusts.",
            {"url": "", "bearer_token_env_var": TOKEN_VARIABLE},
        ),
    ),
    Host("Other hosts", "an mcp.json", "json", "mcpServers", leading=_STDIO),
)

PROJECT_HOSTS = tuple(host.project.option for host in HOSTS if host.project is not None)
"""The hosts that read a configuration from a project."""

REMOTE_HOSTS = tuple(
    host.project.option for host in HOSTS if host.project is not None and host.project.remote is not None
)
"""The hosts among them whose configuration of a shared server needs no secret."""


@dataclass(frozen=True, slots=True)
class HostConfiguration:
    """The text to paste for one host, and where to paste it.

    `place` is the usual path of a file, or "a terminal". `language` is json, toml or console. `text` has
    no line break at its end.
    """

    host: str
    place: str
    language: str
    text: str


def build_host_configurations(command: Sequence[str]) -> tuple[HostConfiguration, ...]:
    """Return the configuration of every supported host for a server that `command` starts."""
    return tuple(
        HostConfiguration(
            host.name,
            host.place,
            host.language,
            _format_claude_code_command(command)
            if host.language == "console"
            else format_configuration(host, command, host.language),
        )
        for host in HOSTS
    )


def detect_hosts(folder: Path) -> tuple[str, ...]:
    """Return the names of the hosts that left files in a project, in the order of `HOSTS`."""
    return tuple(
        host.name
        for host in HOSTS
        if host.project is not None and any((folder / trace).exists() for trace in host.project.traces)
    )


def find_project_host(option: str) -> tuple[Host, ProjectHost]:
    """Return the host of a value of `--host`."""
    return next(
        (host, host.project) for host in HOSTS if host.project is not None and host.project.option == option
    )


def describe_project_server(host: Host, project: ProjectHost, url: str | None) -> dict[str, object]:
    """Return the fields of the server of a project: the server at a URL, or one that each member starts."""
    if url is not None:
        return project.describe_remote_server(url)
    return host.describe_server(("docyard", "serve", "-C", project.folder))


def format_project_configuration(host: Host, project: ProjectHost, url: str | None = None) -> str:
    """Return the text of a project's file that has no other content."""
    server = describe_project_server(host, project, url)
    inputs = project.inputs if url is not None else ()
    return _format_server(host, server, Path(project.path).suffix[1:], inputs)


def format_configuration(host: Host, command: Sequence[str], language: str) -> str:
    """Return the configuration of one server as JSON or as TOML."""
    return _format_server(host, host.describe_server(command), language)


def _format_server(
    host: Host, server: Mapping[str, object], language: str, inputs: Sequence[Mapping[str, object]] = ()
) -> str:
    if language == "toml":
        return format_toml_table(f"{host.table}.{SERVER_NAME}", server)
    return format_json(
        {**({"inputs": list(inputs)} if inputs else {}), host.table: {SERVER_NAME: dict(server)}}
    )


def _format_claude_code_command(command: Sequence[str]) -> str:
    quote: Callable[[Sequence[str]], str] = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
    return f"claude mcp add {SERVER_NAME} -- {quote(command)}"


def format_toml_table(name: str, table: Mapping[str, object]) -> str:
    """Return a TOML table of strings and lists of strings."""
    # A JSON string or list of strings is also valid TOML, except for DEL, which no usable path contains.
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
    return "\n".join((f"[{name}]", *lines))


def format_json(value: object, indent: str = "", unit: str = "  ") -> str:
    """Return JSON with one key on each line, and each list on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner_indent = f"{indent}{unit}"
    items = ",\n".join(
        f"{inner_indent}{json.dumps(key)}: {format_json(item, inner_indent, unit)}"
        for key, item in value.items()
    )
    return f"{{\n{items}\n{indent}}}"
