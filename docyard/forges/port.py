"""The interface of a forge: find, open, update and read the pull request of a proposal.

A forge merges nothing: Docyard merges, after it has checked the review policy, and pushes. A merge request of
GitLab is a pull request here, and its number is the visible number (`iid`). All texts are safe to display:
without control characters, and of limited length. Times are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

PullRequestState = Literal["open", "closed", "merged"]
ReviewVerdict = Literal["approved", "changes_requested", "commented", "dismissed"]


class NewPullRequest(NamedTuple):
    """A pull request to open: from the branch `head_branch` of the same repository into `target`."""

    title: str
    body: str
    head_branch: str
    target: str


class PullRequest(NamedTuple):
    """The state of a pull request on the forge.

    `head_sha` is the tip of its branch on the forge. `merge_sha` is the commit that merged it into its
    target; None until it is merged, or if the forge does not report it. `mergeable` is None while the forge
    checks. `author` is the name of a user of the forge. `ended_at` is the time when it was closed or merged;
    None while it is open, or if the forge does not report it.
    """

    number: int
    url: str
    title: str
    body: str
    state: PullRequestState
    head_branch: str
    head_sha: str
    target: str
    merge_sha: str | None
    mergeable: bool | None
    author: str
    updated_at: datetime
    ended_at: datetime | None

    def matches_branches(self, branch: str, target: str) -> bool:
        """Return True if the pull request has this branch and this target."""
        return (self.head_branch, self.target) == (branch, target)


class ForgeReview(NamedTuple):
    """A review on the forge, and its commit, if the forge reports it."""

    id: str
    author: str
    verdict: ReviewVerdict
    text: str
    commit: str | None
    time: datetime
    url: str


class ForgeComment(NamedTuple):
    """A general comment on a pull request: neither on a line, nor by the forge itself."""

    id: str
    author: str
    text: str
    time: datetime
    url: str


class Forge(Protocol):
    """One repository on a forge. Each call raises the errors of `errors.py`.

    The caller calls `close_connections` at the end.
    """

    @property
    def name(self) -> str:
        """Return `github`, `gitlab` or `gitea`."""

    def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the pull request of a branch: the open one, else one that has ended.

        Return None if the branch has no pull request.
        """

    def list_open(self, target: str) -> tuple[PullRequest, ...]:
        """Return the open pull requests into a target; if there are too many, those that changed last."""

    def open(self, new_request: NewPullRequest) -> PullRequest:
        """Open a pull request.

        Raises ForgeConflict or ForgeRequestRejected if the branch already has an open pull request.
        """

    def update(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
    ) -> PullRequest:
        """Change the fields that are not None. Raises ForgeRequestRejected if it cannot be reopened."""

    def get(self, number: int) -> PullRequest:
        """Return the current pull request. Raises ForgeNotFound."""

    def list_reviews(self, number: int) -> tuple[ForgeReview, ...]:
        """Return the submitted reviews with a verdict or a text, the oldest first."""

    def list_comments(self, number: int) -> tuple[ForgeComment, ...]:
        """Return the general comments, the oldest first."""

    def comment(self, number: int, text: str) -> None:
        """Add a comment."""

    def edit_comment(self, number: int, id: str, text: str) -> None:
        """Replace the text of a general comment. Raises ForgeNotFound, ForgeAccessDenied."""

    def close(self, number: int) -> PullRequest:
        """Close a pull request, if it is open."""

    def close_connections(self) -> None:
        """Close the connections to the forge."""


def select_pull_request(candidates: Iterable[PullRequest], branch: str, target: str) -> PullRequest | None:
    """Return the pull request of a branch from a list: the open one, else the first ended one.

    A forge ignores an unknown filter, so the list is filtered again.
    """
    pull_requests = [
        pull_request for pull_request in candidates if pull_request.matches_branches(branch, target)
    ]
    return next(
        (pull_request for pull_request in pull_requests if pull_request.state == "open"),
        pull_requests[0] if pull_requests else None,
    )
