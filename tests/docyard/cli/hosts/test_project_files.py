"""`docyard init --host`: the files that connect the hosts of a team; existing files lose nothing."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from docyard.cli.hosts.configurations import (
    HOSTS,
    PROJECT_HOSTS,
    REMOTE_HOSTS,
    build_host_configurations,
)
from docyard.cli.hosts.instructions import BEGIN_MARKER, END_MARKER, REMOTE_SECTION, SECTION
from docyard.cli.hosts.jsonc import read_object
from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.loops import loop_over
from tools.toolsets import select_tools

Capture = pytest.CaptureFixture[str]

ALL_HOSTS = [option for name in PROJECT_HOSTS for option in ("--host", name)]
PATHS = {
    ".mcp.json": "mcpServers",
    ".cursor/mcp.json": "mcpServers",
    ".vscode/mcp.json": "servers",
    ".zed/settings.json": "context_servers",
    ".codex/config.toml": "mcp_servers",
}


def write(repo: Path, path: str, text: str) -> Path:
    """Write a file of the repository, byte for byte, and return it."""
    file = repo / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode())
    return file


def test_every_host_gets_command_without_path_of_machine(repo: Path) -> None:
    assert main(["init", "-C", str(repo), *ALL_HOSTS, "--write"]) == 0
    for path, table in PATHS.items():
        text = (repo / path).read_text()
        data = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
        server = data[table]["docyard"]
        assert [server["command"], *server["args"]][:3] == ["docyard", "serve", "-C"], path
        assert str(repo) not in text
    assert (repo / "AGENTS.md").read_text() == (repo / "CLAUDE.md").read_text() == SECTION


def test_instructions_that_are_a_document_are_reported(repo: Path, git: Git, capsys: Capture) -> None:
    command = ["init", "-C", str(repo), "--host", "claude", "--write"]
    assert main(command) == 0
    assert 'write to docyard.toml: exclude = ["CLAUDE.md"]' in capsys.readouterr().out
    assert main(["init", str(repo)]) == 0
    (repo / "CLAUDE.md").unlink()
    assert main(command) == 0
    assert "exclude" not in capsys.readouterr().out.partition("Wrote")[2]


URL = "https://docs.example.org"
REMOTE_OPTIONS = [option for name in REMOTE_HOSTS for option in ("--host", name)]


def test_url_connects_every_host_to_shared_server_without_secret(repo: Path, capsys: Capture) -> None:
    assert main(["init", "-C", str(repo), *REMOTE_OPTIONS, "--url", URL, "--write"]) == 0
    assert "sets DOCYARD_TOKEN" in capsys.readouterr().out
    tokens = {}
    for path, table in PATHS.items():
        if path != ".zed/settings.json":
            text = (repo / path).read_text()
            server = (tomllib.loads(text) if path.endswith(".toml") else json.loads(text))[table]["docyard"]
            assert server["url"] == f"{URL}/mcp", path
            assert "command" not in server
            tokens[path] = server.get("bearer_token_env_var") or server["headers"]["Authorization"]
    assert tokens == {
        ".mcp.json": "Bearer ${DOCYARD_TOKEN}",
        ".cursor/mcp.json": "Bearer ${env:DOCYARD_TOKEN}",
        ".vscode/mcp.json": "Bearer ${input:docyard-token}",
        ".codex/config.toml": "DOCYARD_TOKEN",
    }
    (question,) = json.loads((repo / ".vscode/mcp.json").read_text())["inputs"]
    assert (question["id"], question["password"]) == ("docyard-token", True)
    assert (repo / "AGENTS.md").read_text() == (repo / "CLAUDE.md").read_text() == REMOTE_SECTION
    assert main(["init", "-C", str(repo), *REMOTE_OPTIONS, "--url", URL, "--write"]) == 0
    assert "up to date" in capsys.readouterr().out


@loop_over(
    ("host", "path", "text"),
    [
        (
            "vscode",
            ".vscode/mcp.json",
            '{\n  // old\n  "servers": {"docyard": {"url": "https://old/mcp", "headers": {"A": "b"}},'
            ' "a": {"url": "https://old/mcp"}},\n  "inputs": [{"id": "docyard-token"}]}\n',
        ),
        ("codex", ".codex/config.toml", '# old\n[mcp_servers.docyard]\nurl = "https://old/mcp" # ours\n'),
    ],
)
def test_url_of_own_server_is_replaced_and_the_rest_stays(
    repo: Path, capsys: Capture, host: str, path: str, text: str
) -> None:
    file = write(repo, path, text)
    assert main(["init", "-C", str(repo), "--host", host, "--url", URL, "--write"]) == 0
    assert file.read_text() == text.replace("https://old/mcp", f"{URL}/mcp", 1)
    assert f"https://old/mcp was replaced with {URL}/mcp" in capsys.readouterr().out


def test_existing_questions_of_vscode_are_preserved_or_refused(repo: Path, capsys: Capture) -> None:
    command = ["init", "-C", str(repo), "--host", "vscode", "--url", URL, "--write"]
    file = write(repo, ".vscode/mcp.json", '{\n  // ours\n  "servers": {"a": {"url": "b"}}\n}\n')
    assert main(command) == 0
    text = file.read_text()
    assert "// ours" in text
    file.write_text(text.replace('"docyard-token", "type"', '"other", "type"'))
    assert main(command) == 3
    assert "lacks the input for the token" in capsys.readouterr().err


@loop_over(
    ("url", "expected"),
    [
        (f"{URL}/", f"{URL}/mcp"),
        (f"{URL}:8443", f"{URL}:8443/mcp"),
        (f"{URL}/o/team/docs/mcp", f"{URL}/o/team/docs/mcp"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/mcp"),
        ("http://docs.example.org", None),
        (f"{URL}/mpc", None),
        (f"{URL}/docs", None),
        (f"{URL}/?token=secret", None),
        (f"{URL}/${{HOME}}", None),
        ("docs.example.org", None),
    ],
)
def test_url_without_path_leads_to_mcp_and_unsafe_url_is_refused(
    repo: Path, capsys: Capture, url: str, expected: str | None
) -> None:
    code = main(["init", "-C", str(repo), "--host", "claude", "--url", url])
    captured = capsys.readouterr()
    if expected is None:
        assert code == 2
        assert "secret" not in captured.err
    else:
        assert f'"url": "{expected}"' in captured.out


def test_project_files_have_shape_of_pasted_configurations() -> None:
    for host, pasted in zip(HOSTS, build_host_configurations(("docyard",)), strict=True):
        if host.project is not None and pasted.language != "console":
            assert host.table in pasted.text
            assert Path(host.project.path).suffix == f".{pasted.language}"


def test_written_files_stay_uncommitted_and_second_run_changes_none(
    repo: Path, git: Git, capsys: Capture
) -> None:
    head_before = git("rev-parse", "HEAD")
    assert main(["init", "-C", str(repo), *ALL_HOSTS, "--write"]) == 0
    assert "git add .mcp.json" in capsys.readouterr().out
    assert git("rev-parse", "HEAD") == head_before
    status = git("status", "--porcelain", "-uall")
    assert len(status.splitlines()) == 7
    assert main(["init", "-C", str(repo), *ALL_HOSTS, "--write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {file["state"] for file in data["files"]} == {"unchanged"}
    assert git("status", "--porcelain", "-uall") == status


def test_without_write_option_no_file_is_written(repo: Path, git: Git, capsys: Capture) -> None:
    assert main(["init", "-C", str(repo), "--host", "zed"]) == 0
    output = capsys.readouterr().out
    assert '"context_servers"' in output
    assert BEGIN_MARKER in output
    assert "--write" in output
    assert main(["init", "-C", str(repo), "--host", "zed", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert not data["written"]
    assert [(file["path"], file["state"]) for file in data["files"]] == [
        (".zed/settings.json", "created"),
        ("AGENTS.md", "created"),
    ]
    assert git("status", "--porcelain") == ""


def test_existing_settings_and_comments_are_preserved(repo: Path, capsys: Capture) -> None:
    zed = '\ufeff// mine\n{\n  "theme": "One", // dark\n}\n'
    codex = '# mine\nmodel = "x" # fast\n[mcp_servers.other]\ncommand = "y"'
    write(repo, ".zed/settings.json", zed)
    write(repo, ".codex/config.toml", codex).chmod(0o640)
    write(repo, ".mcp.json", "\n")
    assert main(["init", "-C", str(repo), *ALL_HOSTS]) == 0
    assert "+[mcp_servers.docyard]" in capsys.readouterr().out
    assert main(["init", "-C", str(repo), *ALL_HOSTS, "--write"]) == 0
    assert (repo / ".zed/settings.json").read_bytes().startswith(zed.encode()[:-2])
    assert (repo / ".codex/config.toml").read_bytes().startswith(codex.encode())
    assert (repo / ".codex/config.toml").stat().st_mode & 0o777 == 0o640
    assert set(tomllib.loads((repo / ".codex/config.toml").read_text())["mcp_servers"]) == {
        "other",
        "docyard",
    }
    assert "docyard" in json.loads((repo / ".mcp.json").read_text())["mcpServers"]


def test_further_settings_of_server_are_preserved(repo: Path, capsys: Capture) -> None:
    text = (
        '{"servers": {"docyard": {"command": "docyard", "env": {"A": "b"},'
        ' "args": ["serve", "-C", "${workspaceFolder}", "--toolsets", "documents"]}}}'
    )
    file = write(repo, ".vscode/mcp.json", text)
    assert main(["init", "-C", str(repo), "--host", "vscode", "--write"]) == 0
    assert ".vscode/mcp.json is up to date." in capsys.readouterr().out
    assert file.read_text() == text


@loop_over(
    ("path", "text", "addition"),
    [
        (".vscode/mcp.json", '{"servers": [', '"servers"'),
        (".vscode/mcp.json", '{"servers": []}', '"servers"'),
        (".vscode/mcp.json", '{"servers": {"docyard": {"command": "/a/python"}}}', '"servers"'),
        (".codex/config.toml", "model = ", "[mcp_servers.docyard]"),
        (".codex/config.toml", 'mcp_servers = {a = {command = "b"}}', "[mcp_servers.docyard]"),
        (".codex/config.toml", "mcp_servers = 1", "[mcp_servers.docyard]"),
        (".codex/config.toml", '[mcp_servers.docyard]\nurl = "https://x"', "[mcp_servers.docyard]"),
        ("AGENTS.md", f"{BEGIN_MARKER}\nmine\n", "## Docyard"),
        ("AGENTS.md", f"{END_MARKER}\n{BEGIN_MARKER}\n", "## Docyard"),
        ("AGENTS.md", SECTION * 2, "## Docyard"),
    ],
)
def test_unsafe_merge_is_refused_with_text_to_add(
    repo: Path, git: Git, capsys: Capture, path: str, text: str, addition: str
) -> None:
    git("clean", "-qfd")
    file = write(repo, path, text)
    status = git("status", "--porcelain", "-uall")
    assert main(["init", "-C", str(repo), *ALL_HOSTS, "--write"]) == 3
    error = capsys.readouterr().err
    assert f"{path} cannot be extended" in error
    assert addition in error.split("fix:")[1]
    assert file.read_bytes() == text.encode()
    assert git("status", "--porcelain", "-uall") == status


_CODEX = (
    "model = 'x'\n\n[mcp_servers.docyard] # ours\ncommand = 'uvx'\nargs = [\"docyard\"]\n\n"
    "[mcp_servers.docyard.env]\nA = 'b'\n\n# theirs\n[mcp_servers.other]\ncommand = 'x'\n"
)


@loop_over(
    ("host", "path", "text", "description"),
    [
        (
            "claude",
            ".mcp.json",
            '{\n  "mcpServers": {\n    // ours\n    "docyard": {"command": "uvx", "args": ["docyard"]},\n'
            '    "other": {"command": "x"}, // theirs\n  },\n}\n',
            "the command uvx docyard",
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            '{"servers": {"docyard": {"url": "https://x/mcp?key=1"}}}',
            "the URL https://x/mcp",
        ),
        ("codex", ".codex/config.toml", _CODEX, "the command uvx docyard"),
        ("codex", ".codex/config.toml", "[mcp_servers.docyard]\nurl = 'https://x'\n", "the URL https://x"),
    ],
)
def test_other_server_is_replaced_only_on_request(
    repo: Path, capsys: Capture, host: str, path: str, text: str, description: str
) -> None:
    file = write(repo, path, text)
    command = ["init", "-C", str(repo), "--host", host]
    assert main([*command, "--write"]) == 3
    error = capsys.readouterr().err
    assert f"it already has another server 'docyard': {description}\n" in error
    assert "Add --replace to replace this server, first without --write." in error
    assert main([*command, "--replace"]) == 0
    assert "Nothing was written" in capsys.readouterr().out
    assert file.read_text() == text
    assert main([*command, "--replace", "--write"]) == 0
    new_text = file.read_text()
    data = tomllib.loads(new_text) if path.endswith(".toml") else read_object(new_text)
    servers = data[PATHS[path]]
    assert servers["docyard"]["command"] == "docyard"
    assert servers.get("other", {"command": "x"}) == {"command": "x"}
    assert ("theirs" in new_text) == ("theirs" in text)
    assert "uvx" not in new_text
    assert main([*command, "--write"]) == 0
    assert file.read_text() == new_text


def test_inline_table_of_other_server_is_not_replaced(repo: Path, capsys: Capture) -> None:
    text = "mcp_servers = {docyard = {command = 'b'}}\n"
    file = write(repo, ".codex/config.toml", text)
    assert main(["init", "-C", str(repo), "--host", "codex", "--replace", "--write"]) == 3
    assert "its server 'docyard' cannot be replaced safely" in capsys.readouterr().err
    assert file.read_text() == text


def test_file_in_other_encoding_is_refused(repo: Path, capsys: Capture) -> None:
    (repo / "AGENTS.md").write_bytes(b"caf\xe9")
    assert main(["init", "-C", str(repo), "--host", "zed", "--write"]) == 3
    assert "not UTF-8" in capsys.readouterr().err
    assert not (repo / ".zed").exists()


@loop_over(
    ("before", "after"),
    [
        ("# Rules\n\nBe kind.", f"# Rules\n\nBe kind.\n\n{SECTION}"),
        ("# Rules\n", f"# Rules\n\n{SECTION}"),
        ("# Rules\r\n", "# Rules\r\n\r\n" + SECTION.replace("\n", "\r\n")),
        (f"a\n\n{BEGIN_MARKER}\nold\n{END_MARKER}\n\nb", f"a\n\n{SECTION}\nb"),
    ],
)
def test_only_section_between_markers_changes(repo: Path, before: str, after: str) -> None:
    file = write(repo, "AGENTS.md", before)
    for _ in range(2):
        assert main(["init", "-C", str(repo), "--host", "codex", "--write"]) == 0
        assert file.read_bytes() == after.encode()


def test_linked_or_importing_claude_file_leads_to_agents_file(repo: Path) -> None:
    write(repo, "AGENTS.md", "# Rules\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    assert main(["init", "-C", str(repo), "--host", "claude", "--host", "zed", "--write"]) == 0
    assert (repo / "CLAUDE.md").is_symlink()
    assert (repo / "AGENTS.md").read_text() == f"# Rules\n\n{SECTION}"
    (repo / "CLAUDE.md").unlink()
    write(repo, "CLAUDE.md", "@AGENTS.md\n")
    assert main(["init", "-C", str(repo), "--host", "claude", "--write"]) == 0
    assert (repo / "CLAUDE.md").read_text() == "@AGENTS.md\n"


@loop_over("target", ["../outside", ".git", ".zed"])
def test_link_out_of_work_tree_is_refused(repo: Path, capsys: Capture, target: str) -> None:
    outside = repo.parent / "outside"
    outside.mkdir(exist_ok=True)
    (repo / ".zed").unlink(missing_ok=True)
    (repo / ".zed").symlink_to(target)
    assert main(["init", "-C", str(repo), "--host", "zed", "--write"]) == 3
    assert "symbolic link" in capsys.readouterr().err
    assert not any(outside.iterdir())
    assert not (repo / "AGENTS.md").exists()


def test_irregular_file_is_refused(repo: Path, capsys: Capture) -> None:
    os.mkfifo(repo / ".mcp.json")
    assert main(["init", "-C", str(repo), "--host", "claude", "--write"]) == 3
    assert "not a regular file" in capsys.readouterr().err


def test_subfolder_leads_to_files_at_top_of_repository(repo: Path) -> None:
    (repo / "sub").mkdir()
    assert main(["init", str(repo / "sub"), "--host", "cursor", "--write"]) == 0
    assert (repo / ".cursor/mcp.json").is_file()


def test_ignored_file_is_added_with_force(repo: Path, capsys: Capture) -> None:
    write(repo, ".gitignore", ".vscode/\n")
    assert main(["init", "-C", str(repo), "--host", "vscode", "--write"]) == 0
    assert "git add --force .vscode/mcp.json" in capsys.readouterr().out


@loop_over(
    "options",
    [
        ["--host", "emacs"],
        ["--write"],
        ["--host", "zed", "--hosts"],
        ["--host", "zed", "--workflow", "github"],
        ["--host", "zed", "--anchors", "html"],
        ["--host", "zed", "--url", "https://docs.example.org"],
        ["--url", "https://docs.example.org"],
    ],
)
def test_invalid_host_options_exit_with_2(repo: Path, git: Git, options: list[str]) -> None:
    assert main(["init", "-C", str(repo), *options]) == 2
    assert git("status", "--porcelain") == ""


def test_bare_repository_has_no_files(tmp_path: Path, git: Git, capsys: Capture) -> None:
    git("init", "--quiet", "--bare", str(tmp_path / "bare.git"), cwd=tmp_path)
    assert main(["init", str(tmp_path / "bare.git"), "--host", "zed"]) == 3
    assert "Run the command in a clone" in capsys.readouterr().err


def test_instructions_name_default_tools_only() -> None:
    for section in (SECTION, REMOTE_SECTION):
        names = set(re.findall(r"`([a-z]+_[a-z_]+)`", section)) - {"base_commit"}
        assert names
        assert names <= set(select_tools(None, read_only=False))
