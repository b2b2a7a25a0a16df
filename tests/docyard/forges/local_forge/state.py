"""The state of the local forge: its pull requests, and a bare repository in which Git merges them."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2

_START_TIME = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


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
    """A comment.

    `by_system`: the forge itself wrote it. `is_internal`: only members of the project can read it.
    `on_line`: it belongs to a line of the diff.
    """

    id: int
    author: str
    text: str
    time: datetime
    by_system: bool = False
    is_internal: bool = False
    on_line: bool = False


@dataclass
class PullRequest:
    """A pull request. `head` and `target` are branches; `last_head` is the last known commit of `head`.

    `state` is open, closed or merged; `ended_at` is the time of the close or merge.
    """

    number: int
    title: str
    body: str
    head: str
    target: str
    author: str
    updated_at: datetime
    last_head: str
    state: str = "open"
    merge_sha: str | None = None
    ended_at: datetime | None = None
    reviews: list[Review] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)


class RequestRefused(Exception):
    """A refused request; each API has a status for each `kind`."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


class ForgeState:
    """The pull requests of one bare repository. A lock serializes the changes of users and API clients."""

    def __init__(self, bare_path: Path) -> None:
        self.bare_path = bare_path
        self.pull_requests: list[PullRequest] = []
        self.lock = threading.RLock()
        self._last_id = 100
        self._clock = _START_TIME
        self._merged_trees: dict[tuple[str, str], str | None] = {}

    def find_tip(self, branch: str) -> str | None:
        """Return the commit of a branch, or None if the branch does not exist."""
        branch_ref = pygit2.Repository(str(self.bare_path)).branches.local.get(branch)
        return None if branch_ref is None else str(branch_ref.target)

    def advance_clock(self) -> datetime:
        """Return a time later than all earlier times."""
        self._clock += timedelta(seconds=1)
        return self._clock

    def find_pull_request(self, number: int) -> PullRequest:
        """Return a pull request with its current state. Raises RequestRefused for an unknown number."""
        for pull_request in self.pull_requests:
            if pull_request.number == number:
                return self.refresh(pull_request)
        raise RequestRefused("missing", "Not Found")

    def refresh(self, pull_request: PullRequest) -> PullRequest:
        """Return a pull request after updating it from its branches: a push may have merged it."""
        if pull_request.state == "open":
            pull_request.last_head = self.find_tip(pull_request.head) or pull_request.last_head
            target = self.find_tip(pull_request.target)
            if target and pull_request.last_head != target and self._contains(target, pull_request.last_head):
                pull_request.state, pull_request.merge_sha, pull_request.updated_at = (
                    "merged",
                    target,
                    self.advance_clock(),
                )
                pull_request.ended_at = pull_request.updated_at
        return pull_request

    def open(self, title: str, body: str, head: str, target: str, author: str) -> PullRequest:
        """Open a pull request. Raises RequestRefused."""
        with self.lock:
            tip = self.find_tip(head)
            if tip is None or self.find_tip(target) is None:
                raise RequestRefused("invalid", "head is invalid")
            if any(
                (other_request.head, other_request.target) == (head, target)
                and self.refresh(other_request).state == "open"
                for other_request in self.pull_requests
            ):
                raise RequestRefused("exists", f"A pull request already exists for {head}.")
            if self._contains(self.find_tip(target) or "", tip):
                raise RequestRefused("invalid", f"No commits between {target} and {head}")
            number = len(self.pull_requests) + 1
            pull_request = PullRequest(number, title, body, head, target, author, self.advance_clock(), tip)
            self.pull_requests.append(pull_request)
            return pull_request

    def edit(self, number: int, title: str | None, body: str | None, state: str | None) -> PullRequest:
        """Change a pull request. Raises RequestRefused."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            if state == "open" and pull_request.state == "merged":
                raise RequestRefused("invalid", "state cannot be changed: it was merged")
            if state == "open" and self.find_tip(pull_request.head) is None:
                raise RequestRefused("invalid", "state cannot be changed: the branch has been deleted")
            pull_request.title = title if title is not None else pull_request.title
            pull_request.body = body if body is not None else pull_request.body
            pull_request.updated_at = self.advance_clock()
            if state is not None and pull_request.state not in ("merged", state):
                pull_request.state = state
                pull_request.ended_at = pull_request.updated_at if state == "closed" else None
            return pull_request

    def is_mergeable(self, pull_request: PullRequest) -> bool:
        """Return True if the pull request is open, and Git can merge its branches without a conflict."""
        return pull_request.state == "open" and self._find_merged_tree(pull_request) is not None

    def merge(self, number: int, sha: str | None, message: str, author: str, method: str = "merge") -> str:
        """Merge with a commit of two parents, or squash for any other `method`. Raises RequestRefused."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            if pull_request.state != "open":
                raise RequestRefused("closed", "Pull Request is not mergeable")
            if sha is not None and sha != pull_request.last_head:
                raise RequestRefused("moved", "Head branch was modified. Review and try the merge again.")
            tree = self._find_merged_tree(pull_request)
            if tree is None:
                raise RequestRefused("conflict", "Pull Request is not mergeable")
            target = self.find_tip(pull_request.target)
            assert target is not None
            parents = ["-p", target, *(["-p", pull_request.last_head] if method == "merge" else [])]
            identity = {"NAME": author, "EMAIL": f"{author}@forge.example"}
            env = {
                f"GIT_{role}_{key}": value
                for role in ("AUTHOR", "COMMITTER")
                for key, value in identity.items()
            }
            commit = self._git("commit-tree", tree, *parents, "-m", message, env=env).strip()
            self._git("update-ref", f"refs/heads/{pull_request.target}", commit, target)
            pull_request.state, pull_request.merge_sha, pull_request.updated_at = (
                "merged",
                commit,
                self.advance_clock(),
            )
            pull_request.ended_at = pull_request.updated_at
            return commit

    def review(self, number: int, author: str, verdict: str, text: str = "") -> Review:
        """Add a review, as a user does on the forge's page."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            review = Review(
                self._create_id(), author, verdict, text, pull_request.last_head, self.advance_clock()
            )
            pull_request.reviews.append(review)
            pull_request.updated_at = review.time
            return review

    def comment(self, number: int, author: str, text: str, **flags: bool) -> Comment:
        """Add a comment, as a user does on the forge's page."""
        with self.lock:
            pull_request = self.find_pull_request(number)
            comment = Comment(self._create_id(), author, text, self.advance_clock(), **flags)
            pull_request.comments.append(comment)
            pull_request.updated_at = comment.time
            return comment

    def edit_comment(self, id: int, editor: str, text: str) -> tuple[PullRequest, Comment]:
        """Replace the text of an editor's comment. Raises RequestRefused."""
        with self.lock:
            for pull_request in self.pull_requests:
                for comment in pull_request.comments:
                    if comment.id == id:
                        if comment.author != editor:
                            raise RequestRefused("forbidden", "Must be the author")
                        comment.text = text
                        return pull_request, comment
            raise RequestRefused("missing", "Not Found")

    def delete_branch(self, branch: str) -> None:
        """Delete a branch, as a user does on the forge's page."""
        self._git("update-ref", "-d", f"refs/heads/{branch}")

    def _create_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _contains(self, tip: str, commit: str) -> bool:
        repo = pygit2.Repository(str(self.bare_path))
        return tip == commit or repo.descendant_of(pygit2.Oid(hex=tip), pygit2.Oid(hex=commit))

    def _find_merged_tree(self, pull_request: PullRequest) -> str | None:
        target = self.find_tip(pull_request.target)
        if target is None:
            return None
        commits = target, pull_request.last_head
        if commits not in self._merged_trees:
            process = self._run("merge-tree", "--write-tree", *commits)
            self._merged_trees[commits] = (
                process.stdout.split("\n", 1)[0] if process.returncode == 0 else None
            )
        return self._merged_trees[commits]

    def _git(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> str:
        process = self._run(*arguments, env=env)
        assert not check or not process.returncode, process.stderr
        return process.stdout

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        variables = {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C",
            **(env or {}),
        }
        return subprocess.run(
            ["git", "-C", str(self.bare_path), *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
