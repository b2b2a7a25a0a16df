"""Configuration text for common MCP hosts.

Each host starts the server with the same command: this Python, `-m docyard serve`, and the repository's
absolute path. Desktop hosts have a short PATH, so no command is searched in it.
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

    `place` is the usual path of a file, or "a terminal"; `language` is json, toml or console; `text` ends
    without a line break.
    """

    host: str
    place: str
    language: str
    text: str


def build_host_configurations(command: Sequence[str], name: str = "docyard") -> tuple[HostConfiguration, ...]:
    """Return the configuration of every known host for a server that `command` starts."""
    program, *arguments = command
    plain: dict[str, object] = {"command": program, "args": arguments}
    return (
        HostConfiguration("Claude Code", "a terminal", "console", _claude_code(command, name)),
        HostConfiguration(
            "Claude Desktop", "claude_desktop_config.json", "json", _json({"mcpServers": {name: plain}})
        ),
        HostConfiguration("Cursor", "~/.cursor/mcp.json", "json", _json({"mcpServers": {name: plain}})),
        HostConfiguration(
            "VS Code", ".vscode/mcp.json", "json", _json({"servers": {name: {"type": "stdio", **plain}}})
        ),
        HostConfiguration(
            "Zed",
            "~/.config/zed/settings.json",
            "json",
            _json({"context_servers": {name: {**plain, "env": {}}}}),
        ),
        HostConfiguration("Codex", "~/.codex/config.toml", "toml", _codex(program, arguments, name)),
        HostConfiguration(
            "Other hosts", "an mcp.json", "json", _json({"mcpServers": {name: {"type": "stdio", **plain}}})
        ),
    )


def _claude_code(command: Sequence[str], name: str) -> str:
    quote: Callable[[Sequence[str]], str] = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
    return f"claude mcp add {name} -- {quote(command)}"


def _codex(program: str, arguments: Sequence[str], name: str) -> str:
    # A JSON string is also a TOML basic string, except for DEL, which no usable path holds.
    values = ", ".join(json.dumps(argument, ensure_ascii=False) for argument in arguments)
    return f"[mcp_servers.{name}]\ncommand = {json.dumps(program, ensure_ascii=False)}\nargs = [{values}]"


def _json(value: object, indent: str = "") -> str:
    """Return JSON with one key to a line, and each list in one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{indent}  "
    items = ",\n".join(f"{inner}{json.dumps(key)}: {_json(item, inner)}" for key, item in value.items())
    return f"{{\n{items}\n{indent}}}"
