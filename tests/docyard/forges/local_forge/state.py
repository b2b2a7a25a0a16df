"""The state of the local forge: its pull requests, and a bare repository, in which Git itself merges."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2

_BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class Review:
    """A review: `verdict` is approved, changes_requested, commented, dismissed or pending."""

    id: int
    author: str
    verdict: str
    text: str
    commit: str | None
    time: datetime


@dataclass
class Comment:
    """A comment; `by_system` is true for comments of the forge itself."""

    id: int
    author: str
    text: str
    time: datetime
    by_system: bool = False
    is_internal: bool = False
    on_line: bool = False


@dataclass
class PullRequest:
    """The displayed state of a pull request on the forge."""

    number: int
    title: str
    body: str
    head: str
    target: str
    author: str
    updated: datetime
    last_head: str
    state: str = "open"
    merge_sha: str | None = None
    ended: datetime | None = None
    reviews: list[Review] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)


class Refused(Exception):
    """A refused request; each API has a status for each `kind`."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class ForgeState:
    """The pull requests of one bare repository. Safe in several threads."""

    def __init__(self, bare: Path) -> None:
        self.bare = bare
        self.pull_requests: list[PullRequest] = []
        self.lock = threading.RLock()
        self._last_id = 100
        self._clock = _BEGIN
        self._trees: dict[tuple[str, str], str | None] = {}

    def tip(self, branch: str) -> str | None:
        """Return the commit of a branch."""
        response = pygit2.Repository(str(self.bare)).branches.local.get(branch)
        return None if response is None else str(response.target)

    def now(self) -> datetime:
        """Return a time later than all earlier times."""
        self._clock += timedelta(seconds=1)
        return self._clock

    def find_pull_request(self, number: int) -> PullRequest:
        """Return a pull request with its current state. Raises Refused."""
        for pull_request in self.pull_requests:
            if pull_request.number == number:
                return self.refresh(pull_request)
        raise Refused("missing", "Not Found")

    def refresh(self, pull_request: PullRequest) -> PullRequest:
        """Return a pull request after updating it from its branches: a push may have merged it."""
        if pull_request.state == "open":
            pull_request.last_head = self.tip(pull_request.head) or pull_request.last_head
            target = self.tip(pull_request.target)
            if target and pull_request.last_head != target and self._has(target, pull_request.last_head):
                pull_request.state, pull_request.merge_sha, pull_request.updated = (
                    "merged",
                    target,
                    self.now(),
                )
                pull_request.ended = pull_request.updated
        return pull_request

    def open(self, title: str, body: str, head: str, target: str, author: str) -> PullRequest:
        """Open a pull request. Raises Refused."""
        with self.lock:
            tip = self.tip(head)
            if tip is None or self.tip(target) is None:
                raise Refused("invalid", "head is invalid")
            if any(
                (item.head, item.target) == (head, target) and self.refresh(item).state == "open"
                for item in self.pull_requests
            ):
                raise Refused("exists", f"A pull request already exists for {head}.")
            if self._has(self.tip(target) or "", tip):
                raise Refused("invalid", f"No commits between {target} and {head}")
            number = len(self.pull_requests) + 1
            pull_request = PullRequest(number, title, body, head, target, author, self.now(), tip)
            self.pull_requests.append(pull_request)
            return pull_request

    def edit(self, number: int, title: str | None, body: str | None, state: str | None) -> PullRequest:
        """Change a pull request. Raises Refused."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            if state == "open" and pull_request.state == "merged":
                raise Refused("invalid", "state cannot be changed: it was merged")
            if state == "open" and self.tip(pull_request.head) is None:
                raise Refused("invalid", "state cannot be changed: the branch has been deleted")
            pull_request.title = title if title is not None else pull_request.title
            pull_request.body = body if body is not None else pull_request.body
            pull_request.updated = self.now()
            if state is not None and pull_request.state not in ("merged", state):
                pull_request.state = state
                pull_request.ended = pull_request.updated if state == "closed" else None
            return pull_request

    def mergeable(self, pull_request: PullRequest) -> bool:
        """Return True if Git can merge both branches."""
        return pull_request.state == "open" and self._merged_tree(pull_request) is not None

    def merge(self, number: int, sha: str | None, message: str, author: str, how: str = "merge") -> str:
        """Merge with a commit of two parents, or squash. Raises Refused."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            if pull_request.state != "open":
                raise Refused("closed", "Pull Request is not mergeable")
            if sha is not None and sha != pull_request.last_head:
                raise Refused("moved", "Head branch was modified. Review and try the merge again.")
            tree = self._merged_tree(pull_request)
            if tree is None:
                raise Refused("conflict", "Pull Request is not mergeable")
            target = self.tip(pull_request.target)
            assert target is not None
            parents = ["-p", target, *(["-p", pull_request.last_head] if how == "merge" else [])]
            who = {"NAME": author, "EMAIL": f"{author}@forge.example"}
            env = {
                f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
            }
            commit = self._git("commit-tree", tree, *parents, "-m", message, env=env).strip()
            self._git("update-ref", f"refs/heads/{pull_request.target}", commit, target)
            pull_request.state, pull_request.merge_sha, pull_request.updated = "merged", commit, self.now()
            pull_request.ended = pull_request.updated
            return commit

    def review(self, number: int, author: str, verdict: str, text: str = "") -> Review:
        """Add a review, as a user does on the forge's page."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            review = Review(self._id(), author, verdict, text, pull_request.last_head, self.now())
            pull_request.reviews.append(review)
            pull_request.updated = review.time
            return review

    def comment(self, number: int, author: str, text: str, **marks: bool) -> Comment:
        """Add a comment, as a user does on the forge's page."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            comment = Comment(self._id(), author, text, self.now(), **marks)
            pull_request.comments.append(comment)
            pull_request.updated = comment.time
            return comment

    def delete_branch(self, branch: str) -> None:
        """Delete a branch, as a user does on the forge's page."""
        self._git("update-ref", "-d", f"refs/heads/{branch}")

    def _id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _has(self, tip: str, commit: str) -> bool:
        repo = pygit2.Repository(str(self.bare))
        return tip == commit or repo.descendant_of(pygit2.Oid(hex=tip), pygit2.Oid(hex=commit))

    def _merged_tree(self, pull_request: PullRequest) -> str | None:
        target = self.tip(pull_request.target)
        if target is None:
            return None
        descriptors = target, pull_request.last_head
        if descriptors not in self._trees:
            completed = self._run("merge-tree", "--write-tree", *descriptors)
            self._trees[descriptors] = (
                completed.stdout.split("\n", 1)[0] if completed.returncode == 0 else None
            )
        return self._trees[descriptors]

    def _git(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> str:
        completed = self._run(*arguments, env=env)
        assert not check or not completed.returncode, completed.stderr
        return completed.stdout

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C", **(env or {})}
        return subprocess.run(
            ["git", "-C", str(self.bare), *arguments],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
