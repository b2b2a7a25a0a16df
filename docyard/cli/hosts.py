"""Configuration text for common MCP hosts.

Each host starts the server with the same command: this Python, `-m docyard serve`, and the repository's
absolute path. The path of Python is absolute too, because a desktop host may
start a server with a PATH that lacks Python.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass


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


def build_host_configurations(command: Sequence[str], name: str = "docyard") -> tuple[HostConfiguration, ...]:
    """Return the configuration of every supported host for a server that `command` starts."""
    program, *arguments = command
    server: dict[str, object] = {"command": program, "args": arguments}
    return (
        HostConfiguration("Claude Code", "a terminal", "console", _format_claude_code_command(command, name)),
        HostConfiguration(
            "Claude Desktop",
            "claude_desktop_config.json",
            "json",
            _format_json({"mcpServers": {name: server}}),
        ),
        HostConfiguration(
            "Cursor", "~/.cursor/mcp.json", "json", _format_json({"mcpServers": {name: server}})
        ),
        HostConfiguration(
            "VS Code",
            ".vscode/mcp.json",
            "json",
            _format_json({"servers": {name: {"type": "stdio", **server}}}),
        ),
        HostConfiguration(
            "Zed",
            "~/.config/zed/settings.json",
            "json",
            _format_json({"context_servers": {name: {**server, "env": {}}}}),
        ),
        HostConfiguration(
            "Codex", "~/.codex/config.toml", "toml", _format_codex_config(program, arguments, name)
        ),
        HostConfiguration(
            "Other hosts",
            "an mcp.json",
            "json",
            _format_json({"mcpServers": {name: {"type": "stdio", **server}}}),
        ),
    )


def _format_claude_code_command(command: Sequence[str], name: str) -> str:
    quote: Callable[[Sequence[str]], str] = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
    return f"claude mcp add {name} -- {quote(command)}"


def _format_codex_config(program: str, arguments: Sequence[str], name: str) -> str:
    # A JSON string is also a TOML basic string, except for DEL, which no usable path contains.
    values = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
    return f"[mcp_servers.{name}]\ncommand = {json.dumps(program, ensure_ascii=False)}\nargs = [{values}]"


def _format_json(value: object, indent: str = "") -> str:
    """Return JSON with one key on each line, and each list on one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner_indent = f"{indent}  "
    items = ",\n".join(
        f"{inner_indent}{json.dumps(key)}: {_format_json(item, inner_indent)}" for key, item in value.items()
    )
    return f"{{\n{items}\n{indent}}}"
