"""Programs that check a release: processes, the variables of a new user, and an MCP client."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

TIMEOUT_S = 180


class ReleaseError(Exception):
    """A file of a release cannot be built, or a check of it failed."""


class ProgramError(ReleaseError):
    """A program failed, or did not print what it must."""


def build_variables(home: Path) -> dict[str, str]:
    """Return the variables of a user without settings, whose home is the folder `home`."""
    inherited_variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "GIT_", "DOCYARD_", "XDG_", "VIRTUAL_ENV"))
    }
    return inherited_variables | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_STATE_HOME": str(home / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def run_program(
    *command: object,
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
    exit_code: int = 0,
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output. Raises ProgramError for another exit code than `exit_code`."""
    words = [str(word) for word in command]
    try:
        process = subprocess.run(
            words, env=variables, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise ProgramError(f"{words[0]} is missing; run `make dist`, which installs its tools") from error
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"`{' '.join(words)}` runs for more than {TIMEOUT_S} s") from error
    if process.returncode != exit_code:
        raise ProgramError(
            f"`{' '.join(words)}` ended with exit code {process.returncode}, not {exit_code}: "
            f"{process.stdout[-1000:]}{process.stderr[-2000:]}"
        )
    return process


def require(text: str, output: str) -> None:
    """Raise ProgramError unless an output contains a text."""
    if text not in output:
        raise ProgramError(f"{text!r} is missing in the output {output[:2000]!r}")


def call_tools(
    command: Sequence[str],
    variables: Mapping[str, str],
    calls: Sequence[tuple[str, dict[str, Any]]],
    log_file: Path,
) -> list[dict[str, Any]]:
    """Start a server, call its tools with the client of the SDK, and return their structured contents.

    The server's standard error is written to `log_file`. Raises ProgramError, also for a failed call.
    """
    try:
        return anyio.run(_call_tools, command, variables, calls, log_file)
    except Exception as error:  # the errors of the client, and groups of them, have no common class
        log = log_file.read_text(encoding="utf-8")[-2000:]
        raise ProgramError(f"the client of `{' '.join(command)}` failed: {error!r} {log}") from error


async def _call_tools(
    command: Sequence[str],
    variables: Mapping[str, str],
    calls: Sequence[tuple[str, dict[str, Any]]],
    log_file: Path,
) -> list[dict[str, Any]]:
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(variables))
    results: list[dict[str, Any]] = []
    with log_file.open("w", encoding="utf-8") as log, anyio.fail_after(TIMEOUT_S):
        async with Client(stdio_client(parameters, errlog=log)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            for name, arguments in calls:
                if name not in tools:
                    raise ProgramError(f"the server lists no tool {name}, but {', '.join(sorted(tools))}")
                result = await client.call_tool(name, arguments)
                if result.is_error or result.structured_content is None:
                    raise ProgramError(f"{name} {arguments} failed: {result.content}")
                results.append(result.structured_content)
    return results
