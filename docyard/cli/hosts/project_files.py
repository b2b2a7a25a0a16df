"""The files that connect the MCP hosts of a team, planned from the existing files and then written.

All files are planned before the first one is written, so that an existing file that cannot be extended
safely stops the command before it changes anything. A file is never replaced as a whole.
"""

from __future__ import annotations

import difflib
import errno
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docyard.cli.hosts import instructions, jsonc
from docyard.cli.hosts.configurations import (
    SERVER_NAME,
    Host,
    ProjectHost,
    describe_project_server,
    find_project_host,
    format_project_configuration,
    format_toml_table,
)
from docyard.terminal.exits import CommandError
from workspace.file_replacement import ContentChanged, replace_file

_MAX_DESCRIPTION_CHARS = 200
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file of a project: `path` from its root, and its content; `before` is None if it is missing.

    `replaced_urls` are the earlier addresses of the server that the content replaces.
    """

    path: str
    before: bytes | None
    after: bytes
    replaced_urls: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return "created", "changed" or "unchanged"."""
        if self.before is None:
            return "created"
        return "unchanged" if self.before == self.after else "changed"

    def preview(self) -> str:
        """Return the new file, or the difference to the existing file as a unified diff."""
        if self.before is None:
            return self.after.decode()
        lines = (
            line if line.endswith("\n") else f"{line}\n"
            for line in difflib.unified_diff(
                self.before.decode().splitlines(keepends=True),
                self.after.decode().splitlines(keepends=True),
                self.path,
                self.path,
            )
        )
        return "".join(lines)


def plan_project_files(
    root: Path, options: Sequence[str], url: str | None = None, *, replace: bool = False
) -> tuple[ProjectFile, ...]:
    """Return the files of the hosts that `options` name, each file once.

    `url` is the address of a shared server; without it, each member starts a server of their own. `replace`
    replaces another server of the same name. Raises CommandError, with the text to add, for a file that
    cannot be extended safely.
    """
    hosts = [find_project_host(option) for option in dict.fromkeys(options)]
    files: dict[str, ProjectFile] = {}
    section = instructions.SECTION if url is None else instructions.REMOTE_SECTION
    for host, project in hosts:
        files[project.path] = _plan_configuration(root, host, project, url, replace=replace)
    for _, project in hosts:
        path = _find_instructions(root, project.instructions)
        if path not in files:
            files[path] = _plan_instructions(root, path, section)
    return tuple(files.values())


def write_project_files(root: Path, files: Iterable[ProjectFile]) -> None:
    """Write the files that change, each in one step, with the mode of the existing file.

    Raises CommandError if a file has changed since it was planned, or cannot be written.
    """
    for file in files:
        if file.state != "unchanged":
            _write_file(root, file)


def _plan_configuration(
    root: Path, host: Host, project: ProjectHost, url: str | None, *, replace: bool
) -> ProjectFile:
    new_text = format_project_configuration(host, project, url)
    before = _read_file(root, project.path, new_text)
    text = "" if before is None else _decode(before, project.path, new_text)
    if not text.strip(f"{_BYTE_ORDER_MARK} \t\r\n"):
        return ProjectFile(project.path, before, f"{new_text}\n".encode())
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    server = describe_project_server(host, project, url)
    is_toml = project.path.endswith(".toml")
    extend = _extend_toml if is_toml else _extend_json
    replace_server = _replace_toml if is_toml else _replace_json
    try:
        text, replaced_urls = _replace_url(text.removeprefix(mark), project.path, host.table, url)
        try:
            extended = extend(text, host.table, server)
        except OtherServer as error:
            if not replace:
                refusal = _refuse(project.path, f"{error}: {error.description}", new_text)
                refusal.fix = f"Add --replace to replace this server, first without --write. Or {refusal.fix}"
                raise refusal from None
            extended = replace_server(text, host.table, server)
        after = mark + (_extend_inputs(extended, project.inputs) if url is not None else extended)
    except ValueError as error:
        raise _refuse(project.path, str(error), new_text) from error
    return ProjectFile(project.path, before, after.encode(), replaced_urls)


def _replace_url(text: str, path: str, table: str, url: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the text with the URL of Docyard's own server replaced, and the URL that it had.

    All other bytes stay the same. The text is returned unchanged if its server has no other URL, or if the
    replacement would change anything else. Raises ValueError for an invalid file.
    """
    read: Callable[[str], dict[str, Any]] = tomllib.loads if path.endswith(".toml") else jsonc.read_object
    data = read(text)
    servers = data.get(table)
    server = servers.get(SERVER_NAME) if isinstance(servers, dict) else None
    old_url = server.get("url") if isinstance(server, dict) else None
    if url is None or not isinstance(server, dict) or not isinstance(old_url, str) or old_url == url:
        return text, ()
    server["url"] = url
    old_value, new_value = json.dumps(old_url, ensure_ascii=False), json.dumps(url)
    for match in re.finditer(re.escape(old_value), text):
        replaced = text[: match.start()] + new_value + text[match.end() :]
        if read(replaced) == data:
            return replaced, (old_url.partition("?")[0],)  # a query may contain a secret
    return text, ()


def _extend_json(text: str, table: str, server: Mapping[str, Any]) -> str:
    """Return the text with the server. Raises ValueError if the server cannot be added."""
    servers = jsonc.read_object(text).get(table)
    if isinstance(servers, dict) and SERVER_NAME in servers:
        _check_same_server(servers[SERVER_NAME], server)
        return text
    return jsonc.insert_member(text, table, SERVER_NAME, server)


def _extend_inputs(text: str, inputs: Sequence[Mapping[str, Any]]) -> str:
    """Return the text with the questions of the host. Raises ValueError if it has only other questions."""
    if not inputs:
        return text
    existing = jsonc.read_object(text).get("inputs")
    if existing is None:
        return jsonc.insert_member(text, None, "inputs", list(inputs))
    ids = (
        [item.get("id") for item in existing if isinstance(item, dict)] if isinstance(existing, list) else []
    )
    if not all(item["id"] in ids for item in inputs):
        raise ValueError("its list 'inputs' lacks the input for the token")
    return text


def _extend_toml(text: str, table: str, server: Mapping[str, Any]) -> str:
    """Return the text with the server's table at its end. Raises ValueError if it cannot be added."""
    expected = tomllib.loads(text)
    servers = expected.setdefault(table, {})
    if not isinstance(servers, dict):
        raise ValueError(f"'{table}' is not a table")
    if SERVER_NAME in servers:
        _check_same_server(servers[SERVER_NAME], server)
        return text
    servers[SERVER_NAME] = dict(server)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline if text.endswith("\n") else newline * 2
    lines = format_toml_table(f"{table}.{SERVER_NAME}", server).splitlines()
    extended = text + gap + "".join(f"{line}{newline}" for line in lines)
    try:
        is_extended = tomllib.loads(extended) == expected
    except tomllib.TOMLDecodeError:  # a table after an inline table `mcp_servers = {…}` is invalid
        is_extended = False
    if not is_extended:
        raise ValueError(f"'{table}' is an inline table, which a table at the end of the file cannot extend")
    return extended


class OtherServer(ValueError):
    """An error: a configuration has another server of this name; `description` is its command or URL."""

    def __init__(self, existing: Any) -> None:
        super().__init__(f"it already has another server '{SERVER_NAME}'")
        self.description = _describe_server(existing)


def _describe_server(existing: Any) -> str:
    """Return the command or URL of a server, without the query of the URL, which may contain a secret."""
    server = existing if isinstance(existing, dict) else {}
    arguments = server.get("args")
    if isinstance(server.get("command"), str):
        words = [server["command"], *(arguments if isinstance(arguments, list) else [])]
        return f"the command {' '.join(map(str, words))[:_MAX_DESCRIPTION_CHARS]}"
    if isinstance(server.get("url"), str):
        return f"the URL {server['url'].partition('?')[0][:_MAX_DESCRIPTION_CHARS]}"
    return "an entry without a command or URL"


def _replace_json(text: str, table: str, server: Mapping[str, Any]) -> str:
    """Return the text with this server instead of another one. Raises ValueError."""
    expected = jsonc.read_object(text)
    expected[table][SERVER_NAME] = dict(server)
    replaced = jsonc.replace_member(text, table, SERVER_NAME, server)
    return _check_replaced(replaced, jsonc.read_object(replaced), expected)


def _replace_toml(text: str, table: str, server: Mapping[str, Any]) -> str:
    """Return the text with this server's table instead of another one. Raises ValueError."""
    expected = tomllib.loads(text)
    expected[table][SERVER_NAME] = dict(server)
    lines = text.splitlines(keepends=True)
    own_header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\.\s*\"?{SERVER_NAME}\"?\s*[.\]]")
    new_lines, position, is_own = list[str](), None, False
    trailing_lines = list[str]()  # blank lines and comments, which belong to the table after them
    for line in lines:
        if line.lstrip().startswith("["):
            is_own = own_header.match(line) is not None
            position = len(new_lines) if is_own and position is None else position
            new_lines += trailing_lines if not is_own else []
            trailing_lines = []
        if not is_own:
            new_lines.append(line)
        else:
            is_trailing = not line.strip() or line.lstrip().startswith("#")
            trailing_lines = [*trailing_lines, line] if is_trailing else []
    newline = "\r\n" if "\r\n" in text else "\n"
    new_table = format_toml_table(f"{table}.{SERVER_NAME}", server)
    if position is not None:
        new_lines[position:position] = [f"{line}{newline}" for line in new_table.splitlines()]
    new_lines += trailing_lines
    replaced = "".join(new_lines)
    try:
        return _check_replaced(replaced, tomllib.loads(replaced), expected)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"its server '{SERVER_NAME}' cannot be replaced safely") from error


def _check_replaced(text: str, data: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return the text if nothing but the server was replaced. Raises ValueError."""
    if data != expected:
        raise ValueError(f"its server '{SERVER_NAME}' cannot be replaced safely")
    return text


def _check_same_server(existing: Any, server: Mapping[str, Any]) -> None:
    """Raise OtherServer unless the existing server has the same URL or command, with any further settings."""
    if isinstance(existing, dict) and "url" in server and existing.get("url") == server["url"]:
        return
    if isinstance(existing, dict) and "command" in server and existing.get("command") == server["command"]:
        arguments = existing.get("args")
        if isinstance(arguments, list) and arguments[: len(server["args"])] == server["args"]:
            return
    raise OtherServer(existing)


def _find_instructions(root: Path, name: str) -> str:
    """Return the path of the file in which the section about Docyard belongs, for a usual file name.

    CLAUDE.md may be a symbolic link to AGENTS.md, or import it with a line `@AGENTS.md`.
    """
    if (root / name).is_symlink():
        return resolve_path(root, name).relative_to(root.resolve()).as_posix()
    if name == "CLAUDE.md" and (root / "AGENTS.md").is_file():
        content = _read_file(root, name, instructions.SECTION) or b""
        if b"@AGENTS.md" in (line.strip() for line in content.splitlines()):
            return "AGENTS.md"
    return name


def _plan_instructions(root: Path, path: str, section: str) -> ProjectFile:
    before = _read_file(root, path, section)
    text = "" if before is None else _decode(before, path, section)
    try:
        return ProjectFile(path, before, instructions.update_section(text, section).encode())
    except instructions.AmbiguousMarkers as error:
        raise _refuse(path, f"its markers do not enclose one section ({error})", section) from error


def resolve_path(root: Path, path: str) -> Path:
    """Return the file behind symbolic links. Raises CommandError if it is not in the work tree."""
    top = root.resolve()
    try:
        (root / path).stat()  # since Python 3.13, `resolve` raises no error for a loop
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise CommandError(
                f"{path} leads to a loop of symbolic links", fix="Remove the links."
            ) from error
    file = (root / path).resolve()
    if not file.is_relative_to(top) or ".git" in file.relative_to(top).parts:
        raise CommandError(f"{path} is outside the work tree through a symbolic link", fix="Remove the link.")
    return file


def _read_file(root: Path, path: str, addition: str) -> bytes | None:
    file = resolve_path(root, path)
    try:
        if file.exists() and not file.is_file():
            raise _refuse(path, "it is not a regular file", addition)
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _refuse(path, f"it cannot be read: {reason}", addition) from error


def _decode(content: bytes, path: str, addition: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _refuse(path, "it is not UTF-8", addition) from error


def _refuse(path: str, reason: str, addition: str) -> CommandError:
    """Return the error for a file that cannot be extended, with the text to add."""
    return CommandError(
        f"{path} cannot be extended, and no file was changed: {reason}",
        fix=f"Edit {path} yourself, so that it contains:\n\n{addition.rstrip()}\n",
    )


def _write_file(root: Path, file: ProjectFile) -> None:
    target = resolve_path(root, file.path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, file.after, file.before)
    except ContentChanged:
        raise CommandError(
            f"{file.path} changed while the command ran, and was not replaced",
            fix="Run the command again.",
        ) from None
    except OSError as error:
        raise CommandError(
            f"{file.path} cannot be written: {error.strerror or type(error).__name__}",
            fix=f"Make {target.parent} a writable folder, and run the command again.",
        ) from error
