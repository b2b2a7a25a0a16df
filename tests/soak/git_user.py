"""A user who edits files in the writers' repository and commits them with the git program, in a loop."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.repositories import Repo, create_bare_repository, create_repository
from tests.soak.ledger import Ledger

USER_WORD = re.compile(r"«(p\d+)»")
AUTHOR = "A User"
# Messages of Git if another program has a lock or committed first. The user retries.
_RETRYABLE = (".lock", "cannot lock ref", "non-fast-forward", "fetch first", "failed to push", "rejected")


class GitUser:
    """A thread that writes unique words and commits them until `stop`.

    In a checked-out repository, the thread edits the same files as the writers. For a bare repository,
    the thread edits a clone and pushes.
    """

    def __init__(
        self, repo: Repo, shared_paths: Sequence[str], *, seed: int, clone: Path | None = None
    ) -> None:
        self.seed = seed
        self.words: list[str] = []
        self.commit_count = 0
        self.failure_counts: Counter[str] = Counter()
        self.error: BaseException | None = None
        self._origin = repo
        self._repo = repo
        self._shared_paths = shared_paths
        self._random = random.Random(f"{seed}-user")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="git-user", daemon=True)
        if clone is not None:
            repo.git("clone", "-q", ".", str(clone))
            self._repo = Repo(clone)
        self._clone = clone
        for key, value in {"user.name": AUTHOR, "user.email": "user@example.org"}.items():
            self._repo.git("config", key, value)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, *, timeout_s: float = 60.0) -> None:
        """Wait for the last commit and for the end of the thread. Raises the exception of the thread."""
        self._stop.set()
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "the user's last commit never succeeded"
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                if self._clone is None:
                    self._edit_and_commit()
                else:
                    self._edit_and_push()
                self._stop.wait(self._random.uniform(0.0, 0.15))
        except BaseException as error:
            self.error = error

    def _edit_and_commit(self) -> None:
        word = f"p{len(self.words)}"
        name, has_existed = self._edit(word)
        message = ["-m", f"Words {word}", "--author", f"{AUTHOR} <user@example.org>"]
        choice = self._random.randrange(3)
        if choice == 0 and has_existed:
            self._commit(name, "-a", *message)
        elif choice == 1:
            self._retry("add", "--", name)
            self._commit(name, *message)
        else:
            self._retry("add", "--", name)
            self._commit(name, *message, "--", name)
        self.words.append(word)
        self.commit_count += 1
        if self._random.randrange(4) == 0:
            self._repo.git("status", "--porcelain")

    def _edit(self, word: str) -> tuple[str, bool]:
        """Add a line to a private or a shared file; return its name, and True if the file existed before."""
        private_name = f"user/diary-{self._random.randrange(3)}.md"
        name = self._random.choice(self._shared_paths) if self._random.randrange(4) == 0 else private_name
        path = self._repo.path / name
        path.parent.mkdir(exist_ok=True)
        has_existed = path.exists()
        while True:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(f"\nA user wrote «{word}».\n")
            # The file is read after the write, because another process may have replaced it.
            if f"«{word}»" in path.read_text(encoding="utf-8"):
                return name, has_existed

    def _edit_and_push(self) -> None:
        word = f"p{len(self.words)}"
        while True:
            self._repo.git("fetch", "-q", "origin")
            self._repo.git("reset", "-q", "--hard", "origin/main")
            name, _ = self._edit(word)
            self._repo.git("add", "--", name)
            self._repo.git("commit", "-q", "-m", f"Words {word}", "--author", f"{AUTHOR} <user@example.org>")
            if self._try("push", "-q", "origin", "HEAD:main"):
                break
        self.words.append(word)
        self.commit_count += 1

    def _commit(self, name: str, *arguments: str) -> None:
        """Commit one file; after a failure, stage the file again, and retry when no other file is staged.

        A `git commit` reads the index before the lock. If another process commits between these steps, Git
        writes the old index and then refuses to move the branch. A second `git commit` would revert the other
        commit. A plain `git reset` is wrong, because Git moves the branch to the commit that it read.
        """
        deadline = time.monotonic() + 60
        while not self._try("commit", "-q", *arguments):
            while True:
                assert time.monotonic() < deadline, f"git commit never succeeded: {self.failure_counts}"
                time.sleep(self._random.uniform(0.005, 0.02))
                self._retry("restore", "--staged", ":/")
                self._retry("add", "--", name)
                if set(self._repo.git("diff", "--cached", "--name-only").splitlines()) <= {name}:
                    break

    def _retry(self, *arguments: str) -> None:
        deadline = time.monotonic() + 60
        while not self._try(*arguments):
            assert time.monotonic() < deadline, f"git {arguments[0]} never succeeded: {self.failure_counts}"
            time.sleep(self._random.uniform(0.005, 0.02))

    def _try(self, *arguments: str) -> bool:
        try:
            self._repo.git(*arguments)
        except AssertionError as error:
            if not any(reason in str(error) for reason in _RETRYABLE):
                raise
            self.failure_counts[arguments[0]] += 1
            return False
        return True


def prepare_repository(
    folder: Path, writer_count: int, documents: Mapping[str, str], seed: int, *, is_bare: bool
) -> tuple[Repo, GitUser, list[Ledger]]:
    """Make a repository with these documents; return the repository, a user and the ledgers."""
    create = create_bare_repository if is_bare else create_repository
    repo = create(folder / "repo", {"README.md": "# Example\n", **documents})
    # Git's automatic housekeeping runs in the foreground, so it ends before the checks.
    repo.git("config", "gc.autoDetach", "false")
    git_user = GitUser(repo, [*documents], seed=seed, clone=folder / "clone" if is_bare else None)
    return repo, git_user, [Ledger(folder / f"ledger-{number}") for number in range(writer_count)]
