"""What any forge does for a proposal: find, open, update and read its pull request.

Nothing is merged by it: a merge is made here, through the gate, and pushed.

A merge request of GitLab is a pull request here, and its number the one that people see (`iid`). All texts
are fit to be shown: without control characters, and of bounded length. Times are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

PullRequestState = Literal["open", "closed", "merged"]
ReviewVerdict = Literal["approved", "changes_requested", "commented", "dismissed"]


class NewPullRequest(NamedTuple):
    """A pull request to be opened: from the branch `head_branch` of the same repository into `target`."""

    title: str
    body: str
    head_branch: str
    target: str


class PullRequest(NamedTuple):
    """A pull request as it is on the forge.

    `head_sha` is the commit that the forge has at the branch's end, `merge_sha` the commit that brought it
    into its target (None until it is merged, or where the forge does not say). `mergeable` is None while the
    forge is finding out. `author` is a user's name there. `ended` is when it was closed or merged, None while
    it is open, or where the forge does not say.
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
    updated: datetime
    ended: datetime | None

    def is_of(self, branch: str, target: str) -> bool:
        """Return True if it is from a branch, and into a target."""
        return (self.head_branch, self.target) == (branch, target)


class ForgeReview(NamedTuple):
    """A review that was given there, and the commit that it was given on, where the forge says it."""

    id: str
    author: str
    verdict: ReviewVerdict
    text: str
    commit: str | None
    time: datetime
    url: str


class ForgeComment(NamedTuple):
    """A general comment on a pull request: not one on a line, and none that the forge itself made."""

    id: str
    author: str
    text: str
    time: datetime
    url: str


class Forge(Protocol):
    """One repository on a forge. Each call raises what `errors.py` draws; `with` ends its connections."""

    @property
    def name(self) -> str:
        """`github`, `gitlab` or `gitea`."""

    def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the pull request of a branch: the open one, else one that has ended, else None."""

    def listed(self, target: str) -> tuple[PullRequest, ...]:
        """The open ones into a target, as `find` tells of them; of very many those that changed last."""

    def open(self, new: NewPullRequest) -> PullRequest:
        """Open one. Raises ForgeConflict or ForgeRefused if the branch has an open one already."""

    def update(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
    ) -> PullRequest:
        """Change what is given; None leaves it as it is. Raises ForgeRefused if it cannot be reopened."""

    def get(self, number: int) -> PullRequest:
        """One, as it is now. Raises ForgeNotFound."""

    def reviews(self, number: int) -> tuple[ForgeReview, ...]:
        """What was decided on it, the oldest first; drafts of reviews and requests for one are left out."""

    def comments(self, number: int) -> tuple[ForgeComment, ...]:
        """Return the general comments, the oldest first."""

    def comment(self, number: int, text: str) -> None:
        """Say something on it."""

    def close(self, number: int) -> PullRequest:
        """Return it up. One that is closed stays so."""

    def end(self) -> None:
        """Close its connections."""


def best_of(found: Iterable[PullRequest], branch: str, target: str) -> PullRequest | None:
    """Of the pull requests of a list, the one of a branch: the open one, else the first that has ended.

    A filter that a forge cannot read is left out by it, so what comes is looked at again.
    """
    own = [one for one in found if one.is_of(branch, target)]
    return next((one for one in own if one.state == "open"), own[0] if own else None)
