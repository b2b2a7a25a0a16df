"""Pull requests of Gitea and Forgejo, Codeberg among them (API v1)."""

from __future__ import annotations

from typing import ClassVar, Literal
from urllib.parse import quote

from docyard.forges.errors import ForgeNotFound
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

TITLE = "Gitea"
_PAGE = 50  # the most that it gives by default
_VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved",
    "REQUEST_CHANGES": "changes_requested",
    "COMMENT": "commented",
}


class Gitea:
    """A repository on a Gitea or Forgejo, spoken with by a token."""

    name: ClassVar[str] = "gitea"

    def __init__(self, place: ForgePlace, patience: Patience) -> None:
        owner, repo = place.segments[-2], place.segments[-1]
        self._repo = f"/repos/{quote(owner, safe='')}/{quote(repo, safe='')}"
        marks = {"Authorization": f"token {place.token}", "Accept": "application/json"}
        self._http = ForgeTransport(TITLE, place.api, marks, place.token, patience)

    def end(self) -> None:
        """Close its connection."""
        self._http.end()

    def find(self, branch: str, target: str) -> PullRequest | None:
        """The pull request of a branch: the open one, else one that has ended.

        Asked for both branches, it names one of them, which may be one that has ended; an old version knows
        no such question. Not every version filters a list by the branch, so the open ones are looked through.
        """
        ends = f"{quote(target, safe='')}/{quote(branch, safe='/')}"
        try:
            named = best_of([self._one(self._http.get(f"{self._repo}/pulls/{ends}"))], branch, target)
        except ForgeNotFound:
            named = None
        if named is not None and named.state == "open":
            return named
        return best_of(self.listed(target), branch, target) or named

    def listed(self, target: str) -> tuple[PullRequest, ...]:
        """The open ones into a target, the one changed last first, among the last 1,000 of all."""
        listed = self._http.pages(f"{self._repo}/pulls", state="open", sort="recentupdate", limit=_PAGE)
        own = (Fields(TITLE, one) for one in listed)
        found = (_pull_request(one) for one in own if not _is_of_fork(one))
        return tuple(one for one in found if one.target == target)

    def open(self, new: NewPullRequest) -> PullRequest:
        """Open one. Raises ForgeConflict if the branch has an open one already."""
        body = {"title": new.title, "body": new.body, "head": new.head_branch, "base": new.target}
        return self._one(self._http.send("POST", f"{self._repo}/pulls", body))

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
        found = self._http.pages(f"{self._path(number)}/reviews", limit=_PAGE)
        reviews = (_review(Fields(TITLE, one)) for one in found)
        return tuple(one for one in reviews if one and (one.text or one.verdict != "commented"))

    def comments(self, number: int) -> tuple[ForgeComment, ...]:
        """The general comments, the oldest first."""
        # This list is not given in pages, and knows no limit.
        found = self._http.pages(f"{self._repo}/issues/{number}/comments")
        return tuple(_comment(Fields(TITLE, one)) for one in found)

    def comment(self, number: int, text: str) -> None:
        """Say something on it."""
        self._http.send("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    def close(self, number: int) -> PullRequest:
        """Give it up."""
        return self.update(number, state="closed")

    def _path(self, number: int) -> str:
        return f"{self._repo}/pulls/{number}"

    def _one(self, data: object) -> PullRequest:
        return _pull_request(Fields(TITLE, data))


def _is_of_fork(fields: Fields) -> bool:
    head, base = fields.below("head"), fields.below("base")
    if not head.has("repo_id") or not base.has("repo_id"):
        return False
    return head.number("repo_id") != base.number("repo_id")


def _pull_request(fields: Fields) -> PullRequest:
    is_merged = fields.flag("merged") is True
    state: PullRequestState = (
        "merged" if is_merged else "open" if fields.word("state") == "open" else "closed"
    )
    head = fields.below("head")
    # Of a branch that was deleted, `ref` is refs/pull/N/head, and `label` what it was called.
    ref = head.word("ref")
    branch = head.word("label") if ref.startswith("refs/pull/") and head.has("label") else ref
    return PullRequest(
        number=fields.number("number"),
        url=fields.url("html_url"),
        title=fields.word("title"),
        body=fields.text("body"),
        state=state,
        head_branch=branch,
        head_sha=head.sha("sha") or "",
        target=fields.below("base").word("ref"),
        merge_sha=fields.sha("merge_commit_sha") if is_merged else None,
        mergeable=fields.flag("mergeable") if state == "open" else None,
        author=fields.name_of("user", "login"),
        updated=fields.time("updated_at"),
        ended=fields.maybe_time("closed_at"),
    )


def _review(fields: Fields) -> ForgeReview | None:
    """A review; None for a draft of one, and for the request of one."""
    verdict = _VERDICTS.get(fields.word("state"))
    if verdict is None:
        return None
    return ForgeReview(
        id=str(fields.number("id")),
        author=fields.name_of("user", "login"),
        verdict="dismissed" if fields.flag("dismissed") else verdict,
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
