"""`docyard doctor --fix` restores commits that are missing, e.g. because `git prune` ran during a write."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import GIT_ACTOR, ProposalSetup, write_text
from workspace.git.loose import unpack_loose
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]
DISCUSSION_BRANCH = "docyard/discussion"


def run_fix(repo: Repo, capsys: Capture) -> tuple[int, list[str], str]:
    """Run `doctor --fix`; return its exit code, the fixes, and the remaining errors."""
    capsys.readouterr()
    code = main(["doctor", "-C", str(repo.path), "--fix", "--json"])
    report = json.loads(capsys.readouterr().out)
    errors = [
        f"{finding['message']} {finding['fix']}"
        for finding in report["findings"]
        if finding["severity"] == "error"
    ]
    return code, report["fixed"], "\n".join(errors)


def list_new_objects(repo: Repo, revision: str) -> list[str]:
    """Return the ids of the objects that are in a commit but not in its parent; the commit is the first."""
    return repo.git("rev-list", "--objects", "--no-object-names", revision, f"^{revision}^").split()


def remove_objects(repo: Repo, ids: list[str]) -> None:
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip())
    for id in ids:
        (git_dir / "objects" / id[:2] / id[2:]).unlink()


def delete_commit_copies(repo: Repo) -> None:
    shutil.rmtree(Path(repo.git("rev-parse", "--absolute-git-dir").strip()) / "docyard" / "recent")


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    """Return a repository in which Docyard wrote `main`, the discussion and a proposal."""
    setup = ProposalSetup(tmp_path / "repo")
    setup.write("First words.")
    setup.write("Last words.")
    setup.proposal_actions.comment(setup.submit_proposal("Proposed words.").id, GIT_ACTOR, "Why?")
    return setup


def read_branches(repo: Repo) -> dict[str, str]:
    lines = repo.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.split() for line in lines)


@pytest.mark.parametrize("is_bare", [False, True], ids=["checked-out", "bare"])
def test_pruned_tips_are_rebuilt_unchanged(
    setup: ProposalSetup, tmp_path: Path, capsys: Capture, is_bare: bool
) -> None:
    repo = setup.repo
    if is_bare:
        shutil.move(repo.path / ".git", tmp_path / "bare.git")
        repo = Repo(tmp_path / "bare.git")
        repo.git("config", "core.bare", "true")
    tips_before = read_branches(repo)
    assert len(tips_before) == 3
    remove_objects(repo, [id for branch in tips_before for id in list_new_objects(repo, branch)])
    code, fixes, errors = run_fix(repo, capsys)
    assert (code, errors) == (0, "")
    assert len(fixes) == 3
    assert all(message.startswith("wrote ") for message in fixes)
    assert read_branches(repo) == tips_before
    assert repo.fsck() == ""
    assert is_bare or repo.status() == ""


def test_two_pruned_commits_are_both_rebuilt(setup: ProposalSetup, capsys: Capture) -> None:
    repo, tips_before = setup.repo, read_branches(setup.repo)
    remove_objects(repo, sorted({*list_new_objects(repo, "main"), *list_new_objects(repo, "main^")}))
    assert run_fix(repo, capsys)[0] == 0
    assert read_branches(repo) == tips_before
    assert repo.fsck() == ""


def test_lost_commit_without_copy_is_rebuilt_from_index(tmp_path: Path, capsys: Capture) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    setup.write("Last words.")
    repo = setup.repo
    tip, parent, tree = repo.git("log", "-1", "--format=%H %P %T").split()
    subject = repo.git("log", "-1", "--format=%s").strip()
    remove_objects(repo, list_new_objects(repo, "main"))
    delete_commit_copies(repo)
    code, fixes, errors = run_fix(repo, capsys)
    assert (code, errors) == (0, "")
    [message] = fixes
    assert message.endswith(f"in place of {tip[:12]}; could not restore: commit {tip[:12]}")
    log_format = "%P %T%n%an <%ae>%n%s%n%(trailers:key=Docyard-Rebuilt,valueonly)"
    commit_fields = repo.git("log", "-1", f"--format={log_format}").split("\n")
    assert commit_fields[:4] == [f"{parent} {tree}", "Ada <ada@example.org>", subject, tip]
    assert repo.status() == ""
    assert "Last words." in repo.git("show", "main:guide.md")
    write_text(Workspace.open(repo.path, durable=False), "And on.", "guide.md", "install")
    assert "And on." in repo.git("show", "main:guide.md")


def test_lost_trees_without_copy_are_rebuilt_from_index(setup: ProposalSetup, capsys: Capture) -> None:
    repo, tips_before = setup.repo, read_branches(setup.repo)
    commit, *other_ids = list_new_objects(repo, "main")
    assert commit == tips_before["main"]
    remove_objects(repo, other_ids)
    delete_commit_copies(repo)
    assert run_fix(repo, capsys)[0] == 0
    assert read_branches(repo) == tips_before
    assert repo.fsck() == ""


def test_branch_that_cannot_be_rebuilt_is_reported_and_unchanged(
    setup: ProposalSetup, capsys: Capture
) -> None:
    repo, tips_before = setup.repo, read_branches(setup.repo)
    parent = repo.git("rev-parse", f"{DISCUSSION_BRANCH}^").strip()
    remove_objects(repo, list_new_objects(repo, DISCUSSION_BRANCH))
    delete_commit_copies(repo)
    code, fixes, errors = run_fix(repo, capsys)
    assert (code, fixes) == (1, [])
    tip = tips_before[DISCUSSION_BRANCH][:12]
    assert f"the branch {DISCUSSION_BRANCH} is incomplete: the commit {tip} is missing" in errors
    assert f"git -C {repo.path} unpack-objects" in errors
    assert f"git -C {repo.path} update-ref refs/heads/{DISCUSSION_BRANCH} {parent[:12]}" in errors
    assert read_branches(repo) == tips_before


def test_objects_that_cannot_be_rebuilt_are_reported(setup: ProposalSetup, capsys: Capture) -> None:
    repo = setup.repo
    (branch,) = [name for name in read_branches(repo) if name.startswith("proposals/")]
    ids = list_new_objects(repo, branch)
    # The copy contains all objects except the text, like an incomplete copy.
    blob = repo.git("rev-parse", f"{branch}:guide.md").strip()
    remove_objects(repo, ids)
    for copy in (repo.path / ".git" / "docyard" / "recent").iterdir():
        if copy.name.endswith(ids[0]):
            files = [file for id, file, _, _ in unpack_loose(copy.read_bytes()) if id != blob]
            copy.unlink()
            copy.write_bytes(b"".join(files))
    code, fixes, errors = run_fix(repo, capsys)
    assert code == 1
    assert f"could not restore: blob {blob[:12]} (guide.md)" in fixes[0]
    assert f"the branch {branch} is incomplete: the blob {blob[:12]} is missing" in errors
