"""`docyard doctor --fix` where Git's housekeeping removed commits, as `git prune` does beside a writer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.repositories import Repo
from tests.workspace.proposals.actions.scene import ADA, Scene, write
from workspace.git.loose import unpack_loose
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]
DISCUSSION = "docyard/discussion"


def fix(repo: Repo, capsys: Capture) -> tuple[int, list[str], str]:
    """Return the exit code, what was fixed, and the errors that are left."""
    capsys.readouterr()
    code = main(["doctor", "-C", str(repo.path), "--fix", "--json"])
    told = json.loads(capsys.readouterr().out)
    left = [f"{one['message']} {one['fix']}" for one in told["findings"] if one["severity"] == "error"]
    return code, told["fixed"], "\n".join(left)


def new_objects(repo: Repo, revision: str) -> list[str]:
    """The objects that a commit has and those before it have not."""
    return repo.git("rev-list", "--objects", "--no-object-names", revision, f"^{revision}^").split()


def remove(repo: Repo, ids: list[str]) -> None:
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip())
    for id in ids:
        (git_dir / "objects" / id[:2] / id[2:]).unlink()


def forget_copies(repo: Repo) -> None:
    shutil.rmtree(Path(repo.git("rev-parse", "--absolute-git-dir").strip()) / "docyard" / "recent")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A repository in which `main`, the discussion and a proposal were written by Docyard."""
    scene = Scene(tmp_path / "repo")
    scene.write("First words.")
    scene.write("Last words.")
    scene.proposing.comment(scene.proposed("Proposed words.").id, ADA, "Why?")
    return scene


def branches(repo: Repo) -> dict[str, str]:
    lines = repo.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.split() for line in lines)


@pytest.mark.parametrize("bare", [False, True], ids=["checked-out", "bare"])
def test_pruned_tips_are_rebuilt_as_they_were(
    scene: Scene, tmp_path: Path, capsys: Capture, bare: bool
) -> None:
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


def test_two_commits_that_were_pruned_are_both_rebuilt(scene: Scene, capsys: Capture) -> None:
    repo, before = scene.repo, branches(scene.repo)
    remove(repo, sorted({*new_objects(repo, "main"), *new_objects(repo, "main^")}))
    assert fix(repo, capsys)[0] == 0
    assert branches(repo) == before
    assert repo.fsck() == ""


def test_lost_commit_without_a_copy_is_made_again_of_the_index_and_the_work_tree(
    tmp_path: Path, capsys: Capture
) -> None:
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
    found = repo.git("log", "-1", f"--format={shape}").split("\n")
    assert found[:4] == [f"{parent} {tree}", "Ada <ada@example.org>", subject, tip]
    assert repo.status() == ""
    assert "Last words." in repo.git("show", "main:guide.md")
    write(Workspace.open(repo.path, durable=False), "And on.", "guide.md", "install")
    assert "And on." in repo.git("show", "main:guide.md")


def test_lost_trees_without_a_copy_are_rebuilt_of_the_index(scene: Scene, capsys: Capture) -> None:
    repo, before = scene.repo, branches(scene.repo)
    commit, *others = new_objects(repo, "main")
    assert commit == before["main"]
    remove(repo, others)
    forget_copies(repo)
    assert fix(repo, capsys)[0] == 0
    assert branches(repo) == before
    assert repo.fsck() == ""


def test_lost_branch_that_nothing_can_rebuild_is_named_and_stays(scene: Scene, capsys: Capture) -> None:
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


def test_what_is_lost_beside_what_is_rebuilt_is_named(scene: Scene, capsys: Capture) -> None:
    repo = scene.repo
    (branch,) = [name for name in branches(repo) if name.startswith("proposals/")]
    ids = new_objects(repo, branch)
    # The copy holds all but the text, as one that was cut off does.
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
