"""`docyard init --workflow`: the CI workflows that it writes, and their steps, run as by a CI runner."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from docyard.cli.ci_workflows import FORGE_KINDS, build_workflow
from docyard.cli.main import main
from tests import fork_server, repositories
from tests.loops import loop_over
from tests.repositories import Repo

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENT = "docyard==1.2.3"
FORGES_WITH_ACTIONS = ("github", "gitea")
GUIDE_TEMPLATE = "# Guide\n\nHow to {}.\n\n[Old](gone-before.md)\n"


def read_steps(kind: str) -> list[dict[str, Any]]:
    """Return the steps of the workflow for a forge with GitHub Actions or Gitea Actions."""
    steps: list[dict[str, Any]] = yaml.safe_load(build_workflow(kind, REQUIREMENT).text)["jobs"]["documents"][
        "steps"
    ]
    return steps


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a CI runner's checkout, detached at the merge of a pull request with one broken link."""
    folder = tmp_path_factory.mktemp("runner")
    remote = repositories.create_repository(folder / "remote", {"guide.md": GUIDE_TEMPLATE.format("begin")})
    remote.git("switch", "-q", "-c", "topic")
    remote.commit({"guide.md": GUIDE_TEMPLATE.format("go on"), "new.md": "# New\n\n[Nowhere](nowhere.md)\n"})
    remote.git("switch", "-q", "main")
    remote.commit({"others.md": "# Others\n\n[Theirs](not-ours.md)\n"})
    remote.git("merge", "-q", "--no-edit", "topic")
    merge_commit = remote.head()
    remote.git("reset", "-q", "--hard", "HEAD~1")
    remote.git("update-ref", "refs/pull/1/merge", merge_commit)
    remote.git("clone", "-q", str(remote.path), str(folder / "clone"))
    repo = Repo(folder / "clone")
    repo.git("fetch", "-q", "origin", "refs/pull/1/merge")
    repo.git("checkout", "-q", "--detach", merge_commit)
    return repo


def run_script(clone: Repo, script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a CI runner does: with a bash that stops at the first error."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "docyard").write_text(
        f'#!/bin/sh\nexec {shlex.join(fork_server.build_python_command())} -m docyard "$@"\n'
    )
    (programs / "docyard").chmod(0o755)
    inherited_environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOCYARD", "GIT"))
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=clone.path,
        env={
            **inherited_environment,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(folder),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.process
def test_steps_write_summary_and_annotations(clone: Repo, tmp_path: Path) -> None:
    *_, summary_step, _, validation_step = read_steps("github")
    (tmp_path / "summary").write_text("Of another step.\n")
    completed = run_script(clone, summary_step["run"], tmp_path, BASE="main")
    assert completed.returncode == 0, completed.stderr
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("Of another step.\n### `guide.md`")
    assert "~~begin.~~ **go on.**" in summary
    assert "### `new.md`" in summary
    assert "others.md" not in summary
    completed = run_script(clone, validation_step["run"], tmp_path, BASE="main")
    assert completed.returncode == 1, completed.stderr
    assert re.findall(r"^::(\w+) file=([^,]+),line=(\d+)", completed.stdout, re.MULTILINE) == [
        ("error", "new.md", "3")
    ]


@pytest.mark.process
@loop_over("kind", ["github", "gitlab"])
def test_unreadable_document_does_not_prevent_validation(tmp_path: Path, kind: str) -> None:
    repo = repositories.create_repository(tmp_path / "repo", {"guide.md": "# Guide\n"})
    long_text = "# Long\n\n- Covers: `src`\n" + "Words.\n" * 1_000
    repo.commit({"docyard.toml": "[limits]\ndocument_bytes = 2000\n", "long.md": long_text})
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    if kind == "github":
        *_, summary_step, _, validation_step = read_steps("github")
        script = f"{summary_step['run']}\n{validation_step['run']}"
    else:
        script = "\n".join(
            yaml.safe_load(build_workflow("gitlab", REQUIREMENT).text)["documents"]["script"][1:]
        )
    base = repo.git("rev-parse", "HEAD~1").strip()
    completed = run_script(repo, script, tmp_path, BASE="main", CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert completed.returncode == 1, completed.stderr
    assert "cannot be read: long.md" in completed.stderr
    assert "long.md" in completed.stdout


@pytest.mark.process
def test_gitlab_script_writes_summary_and_findings(clone: Repo, tmp_path: Path) -> None:
    job = yaml.safe_load(build_workflow("gitlab", REQUIREMENT).text)["documents"]
    assert job["variables"]["GIT_DEPTH"] == "0"
    install, *script = job["script"]
    assert install.endswith('"$DOCYARD"')
    merge_base = clone.git("merge-base", "HEAD^1", "HEAD^2").strip()
    target_variables = {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": clone.git("rev-parse", "HEAD^1").strip()}
    try:
        completed = run_script(
            clone, "\n".join(script), tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA=merge_base, **target_variables
        )
        assert completed.returncode == 1, completed.stderr
        assert (clone.path / "documents.md").read_text().startswith("### `guide.md`")
    finally:
        (clone.path / "documents.md").unlink(missing_ok=True)
    assert "\nnew.md\n  3:" in completed.stdout
    assert "others.md" not in completed.stdout


@pytest.mark.process
@loop_over("branch", ['$(touch pwned)`touch pwned`";touch${IFS}pwned;"'], ids=["hostile"])
def test_branch_name_is_never_executed(clone: Repo, tmp_path: Path, branch: str) -> None:
    *_, summary_step, comment_step, validation_step = read_steps("github")
    script = f"{validation_step['run']} || {summary_step['run']} || {comment_step['run']}"
    assert run_script(clone, script, tmp_path, BASE=branch, NUMBER=branch).returncode in (2, 3)
    assert not (clone.path / "pwned").exists()
    assert not (tmp_path / "summary").exists()


@loop_over("kind", FORGES_WITH_ACTIONS)
def test_workflow_may_only_comment_and_is_pinned(kind: str) -> None:
    text = build_workflow(kind, REQUIREMENT).text
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps_with_token = [step["name"] for step in read_steps(kind) if "token" in str(step.get("env"))]
    assert steps_with_token == ["Comment on sections that describe changed code"]
    assert list(workflow[True]) == ["pull_request"]  # YAML 1.1 reads `on` as true
    assert set(workflow["jobs"]) == {"documents"}
    actions = [step["uses"] for step in read_steps(kind) if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", name) for name in actions)
    checkout = read_steps(kind)[0]["with"]
    assert checkout == {"fetch-depth": 0, "persist-credentials": False}
    assert read_steps(kind)[2]["env"]["DOCYARD"] == REQUIREMENT
    assert "${{" not in "".join(step.get("run", "") for step in read_steps(kind))
    assert "secrets." not in text
    events = re.findall(r"\$\{\{ (github\.event[^}]*) \}\}", text)
    assert events == [
        "github.event.pull_request.head.repo.full_name == github.repository",
        "github.event.pull_request.number",
    ]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("github", ".github/workflows/docyard.yml"),
        ("gitea", ".gitea/workflows/docyard.yml"),
        ("gitlab", ".gitlab/docyard.yml"),
    ],
)
def test_workflow_is_written_once_without_commit(
    tmp_path: Path, capsys: Capture, kind: str, path: str
) -> None:
    repo = repositories.create_repository(tmp_path / "docs")
    head = repo.head()
    arguments = ["init", "--workflow", kind, "--docyard", REQUIREMENT]
    assert main([*arguments, "-C", str(repo.path / "guides")]) == 0
    preview = capsys.readouterr().out
    assert preview.startswith(f"{path} (new):\n    # ")
    assert preview.endswith("Nothing was written. Add --write to write these files.\n")
    assert not (repo.path / path).exists()
    arguments.append("--write")
    assert main([*arguments, "-C", str(repo.path / "guides")]) == 0
    assert f"git add {path}" in capsys.readouterr().out
    assert (repo.path / path).read_text() == build_workflow(kind, REQUIREMENT).text
    assert repo.head() == head
    assert not (repo.path / "docyard.toml").exists()
    assert main([*arguments, "-C", str(repo.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "workflow": path,
        "written": False,
        "requirement": REQUIREMENT,
        "state": "unchanged",
        "text": build_workflow(kind, REQUIREMENT).text,
    }
    (repo.path / path).write_text("mine\n")
    assert main([*arguments, "-C", str(repo.path)]) == 3
    assert "was not changed" in capsys.readouterr().err
    assert (repo.path / path).read_text() == "mine\n"


@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("docyard>=1,<2", 0),
        ("docyard @ git+https://example.org/docyard.git@v1#egg=docyard", 0),
        ('x"; rm -rf /', 3),
        ("a\nb", 3),
        ("-r evil.txt", 3),
        ("", 3),
    ],
    ids=["range", "git", "quote", "lines", "option", "empty"],
)
def test_docyard_requirement_is_written_to_workflow_or_refused(
    tmp_path: Path, capsys: Capture, requirement: str, code: int
) -> None:
    repo = repositories.create_repository(tmp_path / "docs")
    arguments = ["init", "--workflow", "github", "--docyard", requirement, "--write", "-C", str(repo.path)]
    assert main(arguments) == code
    if code == 0:
        workflow = yaml.safe_load((repo.path / ".github/workflows/docyard.yml").read_text())
        assert workflow["jobs"]["documents"]["steps"][2]["env"]["DOCYARD"] == requirement


def test_version_of_unknown_origin_is_never_pinned(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repositories.create_repository(tmp_path / "docs")
    monkeypatch.setattr("sys.prefix", str(tmp_path / "empty"))
    assert main(["init", "--workflow", "github", "-C", str(repo.path)]) == 3
    assert "--docyard git+https://HOST/PATH@COMMIT" in capsys.readouterr().err
    assert not (repo.path / ".github").exists()


def test_requirement_without_workflow_is_refused(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "new"), "--docyard", REQUIREMENT]) == 2
    assert not (tmp_path / "new").exists()


def test_workflow_folder_that_links_out_of_repository_is_refused(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.create_repository(tmp_path / "docs")
    (tmp_path / "out").mkdir()
    (repo.path / ".github").symlink_to(tmp_path / "out")
    assert main(["init", "--workflow", "github", "--docyard", REQUIREMENT, "-C", str(repo.path)]) == 3
    assert "is outside the work tree through a symbolic link" in capsys.readouterr().err
    assert not list((tmp_path / "out").iterdir())


@loop_over("link", [".github", ".github/workflows", ".github/workflows/docyard.yml"])
def test_loop_of_symbolic_links_is_refused(tmp_path: Path, capsys: Capture, link: str) -> None:
    repo = repositories.create_repository(tmp_path / "docs" / link)
    (repo.path / link).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / link).symlink_to((repo.path / link).name)
    assert main(["init", "--workflow", "github", "--docyard", REQUIREMENT, "-C", str(repo.path)]) == 3
    error = capsys.readouterr().err
    assert "error: .github/workflows/docyard.yml leads to a loop of symbolic links" in error
    assert "  fix: Remove the links." in error


def test_workflow_for_bare_repository_returns_error_with_fix(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.create_bare_repository(tmp_path / "docs.git")
    assert main(["init", "--workflow", "github", "--docyard", REQUIREMENT, "-C", str(repo.path)]) == 3
    assert "clone" in capsys.readouterr().err


def test_long_markdown_diff_is_truncated_between_documents(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.create_repository(tmp_path / "docs")
    repo.commit({f"{number:02}.md": f"# {number}\n\n{'Words. ' * 60}\n" for number in range(30)})
    assert main(["diff", "--markdown", "--most", "3000", "-C", str(repo.path)]) == 0
    output = capsys.readouterr().out
    assert 2_000 < len(output) < 4_000
    assert re.search(r"… and \d+ more documents\.\n$", output)


def test_each_forge_kind_has_its_own_workflow() -> None:
    assert len({build_workflow(kind, REQUIREMENT).path for kind in FORGE_KINDS}) == len(FORGE_KINDS)


def test_examples_name_what_the_job_installs() -> None:
    texts = [
        (ROOT / "docyard/commands/init.py").read_text(),
        *(f.read_text() for f in (ROOT / "docs").glob("*.md")),
    ]
    examples = re.findall(r"docyard init --workflow (?:github|gitlab|gitea)\b(.*)", "\n".join(texts))
    assert len(examples) >= 5
    assert [example for example in examples if "--docyard " not in example] == []
