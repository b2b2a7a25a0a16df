"""The pre-commit hooks for other repositories; the tests run their commands as pre-commit does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import fork_server
from tests.loops import loop_over
from tests.repositories import Repo, create_repository

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
VALID, FIXABLE, BROKEN = "# Sound\n", "# Doc\n\n- [] one\n", "# Doc\n\n[a](nowhere.md)\n"


def run_hook(repo: Repo, name: str, *files: str) -> subprocess.CompletedProcess[str]:
    """Run a hook's command in the top folder, with the names of staged files as arguments."""
    command, *arguments = shlex.split(HOOKS[name]["entry"])
    assert command == "docyard"
    return subprocess.run(
        [
            *fork_server.build_python_command(),
            "-m",
            "docyard",
            *arguments,
            *HOOKS[name].get("args", ()),
            *files,
        ],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GIT_INDEX_FILE": ".git/index"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", {"sound.md": VALID})


def test_hooks_match_their_documentation() -> None:
    assert set(HOOKS) == {"docyard-validate", "docyard-fix"}
    for hook in HOOKS.values():
        assert hook["language"] == "python"
        assert hook["types"] == ["markdown"]
        assert hook["name"]
        assert hook["description"]
    page = (ROOT / "docs" / "validate.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^ +- id: (\S+)$", page, re.MULTILINE)) == set(HOOKS)


def test_validate_hook_reads_staged_content(repo: Repo) -> None:
    repo.write({"doc.md": BROKEN, "sound.md": BROKEN})
    repo.git("add", "doc.md")
    process = run_hook(repo, "docyard-validate", "doc.md", "sound.md")
    assert process.returncode == 1, process.stderr
    assert "nowhere.md" in process.stdout
    assert run_hook(repo, "docyard-validate", "sound.md").returncode == 0


def test_fix_hook_changes_files_and_not_the_index(repo: Repo) -> None:
    repo.write({"doc.md": FIXABLE, "not-staged.md": FIXABLE})
    repo.git("add", "doc.md")
    process = run_hook(repo, "docyard-fix", "doc.md")
    assert process.returncode == 0, process.stderr
    assert (repo.path / "doc.md").read_text() == "# Doc\n\n- [ ] one\n"
    assert (repo.path / "not-staged.md").read_text() == FIXABLE
    assert repo.git("show", ":doc.md") == FIXABLE
    assert run_hook(repo, "docyard-fix", "doc.md").stdout == "There is nothing to fix.\n"


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_hook_ignores_files_that_are_not_documents(repo: Repo, hook: str) -> None:
    """Run the hooks with excluded files and symbolic links, because pre-commit passes every Markdown file."""
    repo.write({"docyard.toml": 'exclude = ["vendor"]\n', "vendor/doc.md": FIXABLE, "other.mdown": BROKEN})
    (repo.path / "linked.md").symlink_to("vendor/doc.md")
    (repo.path / "two\nlines.md").write_text(BROKEN)
    repo.git("add", "-A")
    other_files = ("vendor/doc.md", "linked.md", "other.mdown", "two\nlines.md")
    for files in (other_files, (*other_files, "sound.md")):
        process = run_hook(repo, hook, *files)
        assert process.returncode == 0, process.stderr
    assert (repo.path / "vendor/doc.md").read_text() == FIXABLE
    assert run_hook(repo, hook, "sound.md", "gone.md").returncode == 3


@pytest.mark.parametrize(("hook", "code"), [("docyard-fix", 0), ("docyard-validate", 1)])
def test_file_name_with_leading_dash_is_not_an_option(repo: Repo, hook: str, code: int) -> None:
    repo.write({"--check.md": FIXABLE, "-C.md": BROKEN})
    repo.git("add", "-A")
    process = run_hook(repo, hook, "--check.md", "-C.md")
    assert process.returncode == code, process.stderr
    assert ("--check.md" if code else "Fixed in 1 document") in process.stdout


PULL_REQUESTS = (ROOT / "docs" / "validate.md").read_text("utf-8").partition("\n## Check pull requests\n")[2]


def test_documented_workflow_is_valid_and_runs(repo: Repo) -> None:
    """Run the last step of the workflow on a branch with one new problem."""
    code_blocks = re.findall(r"^```yaml\n(.*?)^```$", PULL_REQUESTS, re.MULTILINE | re.DOTALL)
    workflow = yaml.safe_load(code_blocks[0])
    steps = workflow["jobs"]["validate"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    command = steps[-1]["run"].replace("$BASE", "main")
    repo.git("update-ref", "refs/remotes/origin/main", repo.commit({"old.md": BROKEN}))
    repo.commit({"doc.md": BROKEN})
    process = subprocess.run(
        [*fork_server.build_python_command(), "-m", *shlex.split(command)],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1, process.stderr
    assert re.findall(r"^::error file=([^,]+),line=3,", process.stdout, re.MULTILINE) == ["doc.md"]


@loop_over("page", ["validate.md", "start.md"])
def test_commands_in_the_guides_have_existing_options(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    commands = re.findall(r"\bdocyard (validate|fix|init)\b([^`#\n|>]*)", text)
    assert commands
    for name, arguments in commands:
        command = import_module(f"docyard.commands.{name}").command
        options = {option for parameter in command.params for option in parameter.opts}
        used_options = set(re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", arguments))
        assert used_options <= options, f"{name}: {used_options - options}"
