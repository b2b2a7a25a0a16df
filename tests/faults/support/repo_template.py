"""The repository in which faults are injected, and the checks after a fault."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import repositories
from tests.faults.support.actions import CREATED_PATH, FILES, NEW_WORDS, OLD_WORDS
from tests.faults.support.forkserver import ForkServer
from tests.repositories import Repo

STAGED, EDITED = "# Staged\n\nStaged words.\n", "# Person\n\nUncommitted words.\n"
UNTRACKED: Mapping[str, str] = {"notes.txt": "A person's notes.\n", "guides/nested/draft.md": "A draft.\n"}
STATUS = " M person.md\nM  staged.md\n?? guides/nested/draft.md\n?? notes.txt\n"
"""The output of `git status --porcelain` for a user's uncommitted changes, which must be preserved."""


class WrongState(AssertionError):
    """The repository is in a wrong state after a fault."""


@dataclass(frozen=True, slots=True)
class RepoTemplate:
    """A template that is copied for each fault, its commit, and the files before and after the batch."""

    folder: Path
    bare: bool
    base: str
    old_files: Mapping[str, bytes]
    new_files: Mapping[str, bytes]
    new_tree: str

    @property
    def git_dir(self) -> str:
        """Return the path of the Git directory below the repository's folder."""
        return "." if self.bare else ".git"

    def copy(self, path: Path) -> Repo:
        """Replace the repository at `path` with a fresh copy."""
        if path.exists():
            shutil.rmtree(path)
        shutil.copytree(self.folder, path)
        return Repo(path)

    def check(self, repo: Repo, *, expect_reflog: bool = True, expect_no_empty_folders: bool = True) -> bool:
        """Return True if the batch is committed. Raises WrongState if the batch is only partly written.

        With `expect_reflog`, the reflogs must end at the tip. With `expect_no_empty_folders`, no folder of
        the work tree may be empty.
        """
        tip, tree, *parents = repo.git("log", "-1", "--format=%H %T %P").split()
        is_committed = tip != self.base
        expected = self.new_files if is_committed else self.old_files
        if is_committed and (tree, parents) != (self.new_tree, [self.base]):
            raise WrongState("the branch is neither at the old commit nor at the commit of the batch")
        self.check_repository_state(repo)
        if self.bare:
            return is_committed
        uncommitted_texts = {"person.md": EDITED, "staged.md": STAGED, **UNTRACKED}
        expected = {**expected, **{path: text.encode() for path, text in uncommitted_texts.items()}}
        _check_equal("the files", read_work_files(repo), expected)
        if expect_no_empty_folders:
            needed_folders = {parent.as_posix() for path in expected for parent in Path(path).parents} - {"."}
            _check_equal("the folders", find_work_folders(repo), needed_folders)
        for log in ("HEAD", "refs/heads/main"):
            check_reflog(repo.path / ".git" / "logs" / log, tip if expect_reflog else None)
        return is_committed

    def check_repository_state(self, repo: Repo) -> None:
        """Raise WrongState unless the repository is valid and has the same uncommitted changes."""
        _check_equal("git fsck", repo.fsck(), "")
        check_no_leftovers(repo.path / self.git_dir)
        if not self.bare:
            _check_equal("git status", repo.git("status", "--porcelain", "--untracked-files=all"), STATUS)


def build_template(folder: Path, server: ForkServer, *, bare: bool) -> RepoTemplate:
    """Create the template; write the batch to a copy, to read the files after the batch."""
    repo_folder = folder / ("bare" if bare else "checked-out")
    source = repositories.create_empty_repository(folder / "source" if bare else repo_folder)
    source.write(FILES)
    (source.path / "attic/old/gone.md").chmod(0o755)
    source.commit({}, "First")
    if bare:
        source.git("clone", "-q", "--bare", ".", str(repo_folder))
        Repo(repo_folder).git("config", "user.name", repositories.NAME)
        Repo(repo_folder).git("config", "user.email", repositories.EMAIL)
    else:
        source.commit({"staged.md": FILES["staged.md"]}, "Second")
        source.write({**UNTRACKED, "staged.md": STAGED, "person.md": EDITED})
        source.git("add", "staged.md")
    git_dir = repo_folder if bare else repo_folder / ".git"
    shutil.rmtree(git_dir / "hooks", ignore_errors=True)
    base = Repo(repo_folder).head()
    old_files = read_committed_files(Repo(repo_folder))
    template = RepoTemplate(repo_folder, bare, base, old_files, {}, "")
    copy = template.copy(folder / "complete")
    write_result = server.run("write", copy.path)
    assert write_result.is_committed, write_result.response
    new_files = read_committed_files(copy)
    new_text = FILES["guides/nested/setup.md"].replace(OLD_WORDS, NEW_WORDS).encode()
    assert new_files == {
        **{path: data for path, data in old_files.items() if path != "attic/old/gone.md"},
        "guides/nested/setup.md": new_text,
        CREATED_PATH: new_files[CREATED_PATH],
    }
    assert b"Fresh words." in new_files[CREATED_PATH]
    return RepoTemplate(
        repo_folder, bare, base, old_files, new_files, copy.git("rev-parse", "HEAD^{tree}").strip()
    )


def read_committed_files(repo: Repo) -> dict[str, bytes]:
    """Return the bytes of every file of the commit that HEAD names."""
    paths = repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    return {path: repo.git("show", f"HEAD:{path}").encode() for path in paths}


def read_work_files(repo: Repo) -> dict[str, bytes]:
    """Return the bytes of every file of the work tree."""
    file_data = {}
    for folder, names, files in os.walk(repo.path):
        if ".git" in names:
            names.remove(".git")
        for file in files:
            path = Path(folder, file)
            file_data[path.relative_to(repo.path).as_posix()] = path.read_bytes()
    return file_data


def find_work_folders(repo: Repo) -> set[str]:
    """Return the paths of all folders of the work tree, including empty folders."""
    folders = set()
    for folder, names, _ in os.walk(repo.path):
        if ".git" in names:
            names.remove(".git")
        folders |= {Path(folder, name).relative_to(repo.path).as_posix() for name in names}
    return folders


def check_no_leftovers(git_dir: Path) -> None:
    """Raise WrongState if a lock of Git or a staging folder of a publication remains."""
    locks = {path.relative_to(git_dir).as_posix() for path in git_dir.rglob("*.lock")}
    # Writers, synchronizations and the index lock these files, which are never removed.
    permanent_locks = {"docyard/write.lock", "docyard/sync.lock"}
    leftovers = {path for path in locks - permanent_locks if not path.startswith("docyard/index/")}
    _check_equal("the locks", leftovers, set())
    pending = git_dir / "docyard" / "pending"
    _check_equal("the pending folders", {path.name for path in pending.glob("*")}, set())


def check_reflog(log: Path, tip: str | None) -> None:
    """Raise WrongState unless each of at most three lines starts at the previous line's commit.

    The last line must end at `tip`, unless `tip` is None.
    """
    lines = log.read_text().splitlines()
    moves = [line.split("\t")[0].split()[:2] for line in lines]
    is_chain = all(old[1] == new[0] for old, new in itertools.pairwise(moves))
    if not is_chain or (tip is not None and moves[-1][1] != tip) or len(moves) > 3:
        raise WrongState(f"the lines of the reflog {log.name} are not a chain to the tip: {moves}")


def _check_equal(name: str, actual: object, expected: object) -> None:
    if actual == expected:
        return
    if isinstance(actual, dict) and isinstance(expected, dict):
        keys = sorted(key for key in {**actual, **expected} if actual.get(key) != expected.get(key))
        raise WrongState(f"{name} differ: " + "; ".join(f"{key}: {actual.get(key)!r}" for key in keys)[:400])
    raise WrongState(f"{name}: {actual!r}, not {expected!r}"[:500])
