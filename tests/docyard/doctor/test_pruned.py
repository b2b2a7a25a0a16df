"""`docyard doctor --fix` after Git's maintenance removed commits, as `git prune` can during a write."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.repositories import Repo
from tests.workspace.proposals.actions.scene import ADA, Scene, write_text
from workspace.git.loose import unpack_loose
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]
DISCUSSION = "docyard/discussion"


def fix(repo: Repo, capsys: Capture) -> tuple[int, list[str], str]:
    """Run the command; return its exit code, the fixes, and the remaining errors."""
    capsys.readouterr()
    code = main(["doctor", "-C", str(repo.path), "--fix", "--json"])
    report = json.loads(capsys.readouterr().out)
    left = [
        f"{finding['message']} {finding['fix']}"
        for finding in report["findings"]
        if finding["severity"] == "error"
    ]
    return code, report["fixed"], "\n".join(left)


def new_objects(repo: Repo, revision: str) -> list[str]:
    """Return the objects that a commit added to its parent."""
    return repo.git("rev-list", "--objects", "--no-object-names", revision, f"^{revision}^").split()


def remove(repo: Repo, ids: list[str]) -> None:
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip())
    for id in ids:
        (git_dir / "objects" / id[:2] / id[2:]).unlink()


def forget_copies(repo: Repo) -> None:
    shutil.rmtree(Path(repo.git("rev-parse", "--absolute-git-dir").strip()) / "docyard" / "recent")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a repository in which Docyard wrote `main`, the discussion and a proposal."""
    scene = Scene(tmp_path / "repo")
    scene.write("First words.")
    scene.write("Last words.")
    scene.proposal_actions.comment(scene.submit_proposal("Proposed words.").id, ADA, "Why?")
    return scene


def branches(repo: Repo) -> dict[str, str]:
    lines = repo.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.split() for line in lines)


@pytest.mark.parametrize("bare", [False, True], ids=["checked-out", "bare"])
def test_pruned_tips_are_rebuilt_unchanged(scene: Scene, tmp_path: Path, capsys: Capture, bare: bool) -> None:
    repo = scene.repo
    if bare:
        shutil.move(repo.path / ".git", tmp_path / "bare.git")
        repo = Repo(tmp_path / "bare.git")
        repo.git("config", "core.bare", "true")
    before = branches(repo)
    assert len(before) == 3
    remove(repo, [id for branch in before for id in new_objects(repo, branch)])
    code, fixed, left = fix(repo, capsys)
    assert (code, left) == (0, "")
    assert len(fixed) == 3
    assert all(words.startswith("wrote ") for words in fixed)
    assert branches(repo) == before
    assert repo.fsck() == ""
    assert bare or repo.status() == ""


def test_two_pruned_commits_are_both_rebuilt(scene: Scene, capsys: Capture) -> None:
    repo, before = scene.repo, branches(scene.repo)
    remove(repo, sorted({*new_objects(repo, "main"), *new_objects(repo, "main^")}))
    assert fix(repo, capsys)[0] == 0
    assert branches(repo) == before
    assert repo.fsck() == ""


def test_lost_commit_without_copy_is_rebuilt_from_index(tmp_path: Path, capsys: Capture) -> None:
    scene = Scene(tmp_path / "repo")
    scene.write("Last words.")
    repo = scene.repo
    tip, parent, tree = repo.git("log", "-1", "--format=%H %P %T").split()
    subject = repo.git("log", "-1", "--format=%s").strip()
    remove(repo, new_objects(repo, "main"))
    forget_copies(repo)
    code, fixed, left = fix(repo, capsys)
    assert (code, left) == (0, "")
    [words] = fixed
    assert words.endswith(f"in place of {tip[:12]}; could not restore: commit {tip[:12]}")
    shape = "%P %T%n%an <%ae>%n%s%n%(trailers:key=Docyard-Rebuilt,valueonly)"
    commit_fields = repo.git("log", "-1", f"--format={shape}").split("\n")
    assert commit_fields[:4] == [f"{parent} {tree}", "Ada <ada@example.org>", subject, tip]
    assert repo.status() == ""
    assert "Last words." in repo.git("show", "main:guide.md")
    write_text(Workspace.open(repo.path, durable=False), "And on.", "guide.md", "install")
    assert "And on." in repo.git("show", "main:guide.md")


def test_lost_trees_without_copy_are_rebuilt_from_index(scene: Scene, capsys: Capture) -> None:
    repo, before = scene.repo, branches(scene.repo)
    commit, *others = new_objects(repo, "main")
    assert commit == before["main"]
    remove(repo, others)
    forget_copies(repo)
    assert fix(repo, capsys)[0] == 0
    assert branches(repo) == before
    assert repo.fsck() == ""


def test_branch_that_cannot_be_rebuilt_is_reported_and_unchanged(scene: Scene, capsys: Capture) -> None:
    repo, before = scene.repo, branches(scene.repo)
    earlier = repo.git("rev-parse", f"{DISCUSSION}^").strip()
    remove(repo, new_objects(repo, DISCUSSION))
    forget_copies(repo)
    code, fixed, left = fix(repo, capsys)
    assert (code, fixed) == (1, [])
    assert f"the branch {DISCUSSION} is incomplete: the commit {before[DISCUSSION][:12]} is missing" in left
    assert "git unpack-objects" in left
    assert f"git update-ref refs/heads/{DISCUSSION} {earlier[:12]}" in left
    assert branches(repo) == before


def test_objects_that_cannot_be_rebuilt_are_reported(scene: Scene, capsys: Capture) -> None:
    repo = scene.repo
    (branch,) = [name for name in branches(repo) if name.startswith("proposals/")]
    ids = new_objects(repo, branch)
    # The copy contains all objects except the text, like an incomplete copy.
    blob = repo.git("rev-parse", f"{branch}:guide.md").strip()
    remove(repo, ids)
    for copy in (repo.path / ".git" / "docyard" / "recent").iterdir():
        if copy.name.endswith(ids[0]):
            files = [file for id, file, _, _ in unpack_loose(copy.read_bytes()) if id != blob]
            copy.unlink()
            copy.write_bytes(b"".join(files))
    code, fixed, left = fix(repo, capsys)
    assert code == 1
    assert f"could not restore: blob {blob[:12]} (guide.md)" in fixed[0]
    assert f"the branch {branch} is incomplete: the blob {blob[:12]} is missing" in left
