"""`docyard init`: it creates a workspace, changes no existing file, and prints configurations of hosts."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from docyard.cli.hosts.configurations import HostConfiguration, build_host_configurations
from docyard.cli.main import main
from docyard.commands.init import SETTINGS_TEMPLATE
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig

SERVE_COMMAND = ("/opt/odd path/python", "-m", "docyard", "serve", "-C", '/home/é/"quoted"')


def test_init_creates_missing_repository(
    tmp_path: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "specs"
    assert main(["init", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "Created a Git repository." in output
    assert (folder / "docyard.toml").read_text() == SETTINGS_TEMPLATE
    assert git("status", "--porcelain", cwd=folder) == ""
    assert git("log", "--format=%an <%ae> %s %D", cwd=folder) == (
        "Ann Author <ann@example.com> Set up a Docyard workspace HEAD -> main"
    )
    assert git("fsck", "--strict", cwd=folder) == ""


def test_existing_repository_gets_only_settings(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "draft.md").write_text("not committed")
    assert main(["init", "-C", str(repo)]) == 0
    assert git("show", "--name-only", "--format=") == "docyard.toml"
    assert git("status", "--porcelain") == "?? draft.md"
    assert capsys.readouterr().err == (
        "warning: 1 Markdown file is not committed, and only committed files are served: draft.md\n"
        f'  fix: git -C {repo} add -- draft.md && git -C {repo} commit -m "Add documents"\n'
    )


def test_missing_author_is_reported_with_the_commands_that_set_one(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".gitconfig").unlink()
    assert main(["init", str(tmp_path / "specs")]) == 0
    assert capsys.readouterr().err == (
        "warning: Git's user.name and user.email are not set, so the author of commits is "
        "Docyard <docyard@localhost>\n"
        '  fix: git config --global user.name "Your Name" && git config --global user.email you@example.com\n'
    )


@pytest.mark.parametrize("form", ["angle", "html", "braces"])
def test_chosen_anchor_form_is_written_to_settings(tmp_path: Path, git: Git, form: str) -> None:
    folder = tmp_path / "specs"
    assert main(["init", str(folder), "--anchors", form]) == 0
    assert WorkspaceConfig.read((folder / "docyard.toml").read_bytes()).anchors == form
    assert git("show", "HEAD:docyard.toml", cwd=folder).count(f'\nanchors = "{form}"\n') == 1
    assert git("status", "--porcelain", cwd=folder) == ""


@loop_over("options", [["--anchors", "round"], ["--anchors", "angle", "--hosts"]])
def test_invalid_anchors_option_exits_with_2(tmp_path: Path, options: list[str]) -> None:
    assert main(["init", str(tmp_path / "specs"), *options]) == 2
    assert not (tmp_path / "specs").exists()


def test_bare_repository_becomes_workspace(tmp_path: Path, git: Git) -> None:
    folder = tmp_path / "specs.git"
    git("init", "--quiet", "--bare", "--initial-branch=trunk", str(folder), cwd=tmp_path)
    assert main(["init", str(folder)]) == 0
    assert git("show", "trunk:docyard.toml", cwd=folder) == SETTINGS_TEMPLATE.strip()


@pytest.mark.parametrize("is_committed", [True, False])
def test_existing_settings_are_never_overwritten(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str], is_committed: bool
) -> None:
    (repo / "docyard.toml").write_text('root = "docs"\n')
    if is_committed:
        git("add", ".")
        git("commit", "--quiet", "--message", "Settings")
    head_before = git("rev-parse", "HEAD")
    assert main(["init", "-C", str(repo)]) == 3
    assert "already" in capsys.readouterr().err
    assert (repo / "docyard.toml").read_text() == 'root = "docs"\n'
    assert git("rev-parse", "HEAD") == head_before


@pytest.mark.parametrize("is_workspace", [False, True])
def test_folder_inside_repository_is_refused_with_a_command_that_works(
    repo: Path, capsys: pytest.CaptureFixture[str], is_workspace: bool
) -> None:
    repo = repo.rename(repo.with_name("my specs"))
    (repo / "sub").mkdir()
    if is_workspace:
        assert main(["init", str(repo)]) == 0
        capsys.readouterr()
    assert main(["init", str(repo / "sub")]) == 3
    error = capsys.readouterr().err
    assert f"{repo / 'sub'} is inside a Git repository" in error
    assert (repo / "docyard.toml").exists() == is_workspace
    program, *arguments = shlex.split(error.split("`")[1])
    assert (program, main(arguments)) == ("docyard", 0)
    assert (repo / "docyard.toml").exists()


def test_detached_head_requires_branch_option(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    git("checkout", "--quiet", "--detach")
    assert main(["init", "-C", str(repo)]) == 3
    assert "--branch" in capsys.readouterr().err
    assert main(["init", "-C", str(repo), "--branch", "main"]) == 0


def test_repository_that_requires_signatures_gets_uncommitted_settings(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    git("config", "commit.gpgsign", "true")
    assert main(["init", "-C", str(repo)]) == 0
    assert "commit it yourself" in capsys.readouterr().out
    assert git("status", "--porcelain") == "?? docyard.toml"


def test_hosts_option_changes_no_file(repo: Path, git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--hosts", "--json", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["commit"] is None
    hosts = [HostConfiguration(**host) for host in data["hosts"]]
    assert hosts == list(
        build_host_configurations((sys.executable, "-m", "docyard", "serve", "-C", str(repo.resolve())))
    )
    assert git("status", "--porcelain") == ""


@loop_over(
    ("files", "hosts"),
    [
        ((), ["Claude Code"]),
        (("README.md", "AGENTS.md"), ["Claude Code"]),
        ((".cursor/rules/a.mdc",), ["Cursor"]),
        ((".vscode/settings.json", ".codex/config.toml"), ["VS Code", "Codex"]),
        (("CLAUDE.md",), ["Claude Code"]),
        ((".zed/settings.json",), ["Zed"]),
    ],
)
def test_only_hosts_with_files_in_the_repository_are_printed(
    files: tuple[str, ...], hosts: list[str], tmp_path: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / f"specs{len(files)}{hosts[-1][:3]}"
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    assert main(["init", str(folder)]) == 0
    output = capsys.readouterr().out
    configurations = build_host_configurations(SERVE_COMMAND)
    assert [host.host for host in configurations if f"\n{host.host}: {host.place}\n" in output] == hosts
    assert f"`docyard init --hosts -C {folder}` prints more configurations: " in output
    assert main(["init", "--hosts", "-C", str(folder)]) == 0
    output = capsys.readouterr().out
    assert all(f"\n{host.host}: {host.place}\n" in output for host in configurations)
    assert "prints more configurations" not in output


def test_configuration_of_every_host_contains_same_command() -> None:
    for host in build_host_configurations(SERVE_COMMAND):
        match host.language:
            case "json":
                ((_, servers),) = json.loads(host.text).items()
                server = servers["docyard"]
            case "toml":
                server = tomllib.loads(host.text)["mcp_servers"]["docyard"]
            case _:
                words = shlex.split(host.text)
                command = words[words.index("--") + 1 :]
                server = {"command": command[0], "args": command[1:]}
        assert (server["command"], *server["args"]) == SERVE_COMMAND, host.host


def test_settings_file_documents_every_default() -> None:
    written_settings = WorkspaceConfig.read(SETTINGS_TEMPLATE.encode())
    assert written_settings == WorkspaceConfig(exclude=("**/AGENTS.md", "**/CLAUDE.md"))
    for path in ("AGENTS.md", "docs/CLAUDE.md"):
        assert not written_settings.is_document(path)
    uncommented_text = "\n".join(
        line.removeprefix("# ") if " = " in line or line.startswith("# [") else line
        for line in SETTINGS_TEMPLATE.splitlines()
    )
    settings_table = tomllib.loads(uncommented_text)
    fields = {setting.alias or name: name for name, setting in WorkspaceConfig.model_fields.items()}
    assert set(settings_table) == set(fields)
    settings = WorkspaceConfig.read(uncommented_text.encode())
    defaults = WorkspaceConfig()
    examples = {"exclude", "corpus", "taxonomy", "links", "validate", "remote", "forge", "protect"}
    for name in set(settings_table) - examples:
        assert getattr(settings, fields[name]) == getattr(defaults, fields[name])


def test_hosts_of_a_folder_without_repository_print_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "missing"
    assert main(["init", "--hosts", "-C", str(folder)]) == 0
    error = capsys.readouterr().err
    assert f"warning: the configurations do not work yet: the folder does not exist ({folder})" in error
    assert f"fix: Run `docyard init {folder}` first." in error


def test_file_in_place_of_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Text.")
    assert main(["init", str(file)]) == 2
    assert f"error: {file} is a file, and a workspace is a folder" in capsys.readouterr().err


def test_output_names_the_settings_of_anchors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "new")]) == 0
    assert "`anchors` and `anchors_on_new` in docyard.toml" in capsys.readouterr().out
