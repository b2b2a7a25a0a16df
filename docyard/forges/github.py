"""Pull requests of GitHub and GitHub Enterprise Server (REST API, version 2022-11-28)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal
from urllib.parse import quote

from docyard.forges.errors import ForgeConflict, ForgeRefused
from docyard.forges.place import ForgePlace
from docyard.forges.port import (
    ForgeComment,
    ForgeReview,
    NewPullRequest,
    PullRequest,
    PullRequestState,
    ReviewVerdict,
    best_of,
)
from docyard.forges.shapes import Fields
from docyard.forges.transport import ForgeTransport, Patience

TITLE = "GitHub"
_PAGE = 100
_VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes_requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
}


class GitHub:
    """A repository on GitHub, spoken with by a token."""

    name: ClassVar[str] = "github"

    def __init__(self, place: ForgePlace, patience: Patience) -> None:
        self._owner, repo = place.segments[-2], place.segments[-1]
        self._repo = f"/repos/{quote(self._owner, safe='')}/{quote(repo, safe='')}"
        marks = {
            "Authorization": f"Bearer {place.token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self._http = ForgeTransport(TITLE, place.api, marks, place.token, patience)

    def end(self) -> None:
        """Close its connection."""
        self._http.end()

    def find(self, branch: str, target: str) -> PullRequest | None:
        """The pull request of a branch: the open one, else the one that was changed last."""
        return best_of(self._some("all", target, head=f"{self._owner}:{branch}"), branch, target)

    def listed(self, target: str) -> tuple[PullRequest, ...]:
        """The open ones into a target, the one that was changed last first; 2,000 at most."""
        return tuple(self._some("open", target))

    def open(self, new: NewPullRequest) -> PullRequest:
        """Open one. Raises ForgeConflict if the branch has an open one already."""
        body = {"title": new.title, "body": new.body, "head": new.head_branch, "base": new.target}
        try:
            return self._one(self._http.send("POST", f"{self._repo}/pulls", body))
        except ForgeRefused as error:
            if "already exists" in error.message:
                raise ForgeConflict(TITLE, 422, "the branch has an open pull request already") from error
            raise

    def update(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
    ) -> PullRequest:
        """Change what is given. Raises ForgeRefused if it cannot be reopened."""
        given = {"title": title, "body": body, "state": state}
        changes = {name: value for name, value in given.items() if value is not None}
        return self._one(self._http.send("PATCH", self._path(number), changes, repeats=True))

    def get(self, number: int) -> PullRequest:
        """One, as it is now. Raises ForgeNotFound."""
        return self._one(self._http.get(self._path(number)))

    def reviews(self, number: int) -> tuple[ForgeReview, ...]:
        """What was decided on it; a review of nothing but comments on lines is left out."""
        found = self._http.pages(f"{self._path(number)}/reviews", per_page=_PAGE)
        return tuple(
            review
            for one in found
            if (review := _review(Fields(TITLE, one))) is not None
            and (review.text or review.verdict != "commented")
        )

    def comments(self, number: int) -> tuple[ForgeComment, ...]:
        """The general comments, the oldest first."""
        found = self._http.pages(f"{self._repo}/issues/{number}/comments", per_page=_PAGE)
        return tuple(_comment(Fields(TITLE, one)) for one in found)

    def comment(self, number: int, text: str) -> None:
        """Say something on it."""
        self._http.send("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    def close(self, number: int) -> PullRequest:
        """Give it up."""
        return self.update(number, state="closed")

    def _some(self, state: str, target: str, **query: str) -> Iterator[PullRequest]:
        order = {"sort": "updated", "direction": "desc"}
        listed = self._http.pages(
            f"{self._repo}/pulls", state=state, base=target, per_page=_PAGE, **order, **query
        )
        own = (Fields(TITLE, one) for one in listed)
        return (_pull_request(one) for one in own if not _is_of_fork(one))

    def _path(self, number: int) -> str:
        return f"{self._repo}/pulls/{number}"

    def _one(self, data: object) -> PullRequest:
        return _pull_request(Fields(TITLE, data))


def _is_of_fork(fields: Fields) -> bool:
    """Whether it comes from another repository. One whose head is gone is known by its branch alone."""
    head, base = fields.below("head"), fields.below("base")
    if not head.has("repo") or not base.has("repo"):
        return False
    return head.below("repo").number("id") != base.below("repo").number("id")


def _pull_request(fields: Fields) -> PullRequest:
    is_merged = fields.has("merged_at")
    state: PullRequestState = (
        "merged" if is_merged else "open" if fields.word("state") == "open" else "closed"
    )
    head = fields.below("head")
    return PullRequest(
        number=fields.number("number"),
        url=fields.url("html_url"),
        title=fields.word("title"),
        body=fields.text("body"),
        state=state,
        head_branch=head.word("ref"),
        head_sha=head.sha("sha") or "",
        target=fields.below("base").word("ref"),
        # Before the merge, GitHub names here a merge that it has made for trial.
        merge_sha=fields.sha("merge_commit_sha") if is_merged else None,
        mergeable=fields.flag("mergeable") if state == "open" else None,
        author=fields.name_of("user", "login"),
        updated=fields.time("updated_at"),
        ended=fields.maybe_time("closed_at"),
    )


def _review(fields: Fields) -> ForgeReview | None:
    """A review; None for a draft of one."""
    verdict = _VERDICTS.get(fields.word("state"))
    if verdict is None or not fields.has("submitted_at"):
        return None
    return ForgeReview(
        id=str(fields.number("id")),
        author=fields.name_of("user", "login"),
        verdict=verdict,
        text=fields.text("body"),
        commit=fields.sha("commit_id"),
        time=fields.time("submitted_at"),
        url=fields.url("html_url"),
    )


def _comment(fields: Fields) -> ForgeComment:
    return ForgeComment(
        id=str(fields.number("id")),
        author=fields.name_of("user", "login"),
        text=fields.text("body"),
        time=fields.time("created_at"),
        url=fields.url("html_url"),
    )
