"""The REST calls on pull requests that GitHub, Gitea and Forgejo have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from docyard.forges.forge_repository import ForgeRepository
from docyard.forges.port import (
    ForgeComment,
    ForgeReview,
    NewPullRequest,
    PullRequest,
    PullRequestState,
    ReviewVerdict,
)
from docyard.forges.transport import Fields, ForgeTransport, TransportLimits


class PullsApi(ABC):
    """A repository on GitHub, Gitea or Forgejo, accessed with a token.

    `_page_query` and `_comments_page_query` are the queries for each page of reviews and of comments.
    """

    _title: ClassVar[str]
    _page_query: ClassVar[dict[str, Any]]
    _comments_page_query: ClassVar[dict[str, Any]]

    def __init__(self, repository: ForgeRepository, limits: TransportLimits, headers: dict[str, str]) -> None:
        self._owner, repo = repository.segments[-2], repository.segments[-1]
        self._repo_path = f"/repos/{quote(self._owner, safe='')}/{quote(repo, safe='')}"
        self._http = ForgeTransport(self._title, repository.api_url, headers, repository.token, limits)

    def close_connections(self) -> None:
        """Close the connection to the forge."""
        self._http.close_connections()

    def open(self, new_request: NewPullRequest) -> PullRequest:
        """Open a pull request.

        Raises ForgeConflict or ForgeRequestRejected if the branch already has an open pull request.
        """
        body = {
            "title": new_request.title,
            "body": new_request.body,
            "head": new_request.head_branch,
            "base": new_request.target,
        }
        return self._parse_response(self._http.send("POST", f"{self._repo_path}/pulls", body))

    def update(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
    ) -> PullRequest:
        """Change the given fields. Raises ForgeRequestRejected if the pull request cannot be reopened."""
        fields = {"title": title, "body": body, "state": state}
        changes = {name: value for name, value in fields.items() if value is not None}
        return self._parse_response(
            self._http.send("PATCH", self._build_path(number), changes, is_idempotent=True)
        )

    def get(self, number: int) -> PullRequest:
        """Return the current pull request. Raises ForgeNotFound."""
        return self._parse_response(self._http.get(self._build_path(number)))

    def list_reviews(self, number: int) -> tuple[ForgeReview, ...]:
        """Return the reviews, except those that contain only comments on lines."""
        items = self._http.get_list(f"{self._build_path(number)}/reviews", **self._page_query)
        reviews = (self._parse_review(Fields(self._title, item)) for item in items)
        return tuple(
            review for review in reviews if review and (review.text or review.verdict != "commented")
        )

    def list_comments(self, number: int) -> tuple[ForgeComment, ...]:
        """Return the general comments, the oldest first."""
        items = self._http.get_list(
            f"{self._repo_path}/issues/{number}/comments", **self._comments_page_query
        )
        return tuple(_parse_comment(Fields(self._title, item)) for item in items)

    def comment(self, number: int, text: str) -> None:
        """Add a comment."""
        self._http.send("POST", f"{self._repo_path}/issues/{number}/comments", {"body": text})

    def edit_comment(self, number: int, id: str, text: str) -> None:
        """Replace the text of a general comment. Raises ForgeNotFound, ForgeAccessDenied."""
        path = f"{self._repo_path}/issues/comments/{quote(id, safe='')}"
        self._http.send("PATCH", path, {"body": text}, is_idempotent=True)

    def close(self, number: int) -> PullRequest:
        """Close a pull request."""
        return self.update(number, state="closed")

    @abstractmethod
    def _parse_review(self, fields: Fields) -> ForgeReview | None: ...

    @abstractmethod
    def _read_branch(self, head: Fields) -> str: ...

    @abstractmethod
    def _is_merged(self, fields: Fields) -> bool: ...

    def _build_path(self, number: int) -> str:
        return f"{self._repo_path}/pulls/{number}"

    def _parse_response(self, data: object) -> PullRequest:
        return self._parse_pull_request(Fields(self._title, data))

    def _parse_pull_request(self, fields: Fields) -> PullRequest:
        is_merged = self._is_merged(fields)
        state: PullRequestState = (
            "merged" if is_merged else "open" if fields.line("state") == "open" else "closed"
        )
        head = fields.nested("head")
        return PullRequest(
            number=fields.number("number"),
            url=fields.url("html_url"),
            title=fields.line("title"),
            body=fields.text("body"),
            state=state,
            head_branch=self._read_branch(head),
            head_sha=head.sha("sha") or "",
            target=fields.nested("base").line("ref"),
            # Before the merge, GitHub returns its own test merge here.
            merge_sha=fields.sha("merge_commit_sha") if is_merged else None,
            mergeable=fields.flag("mergeable") if state == "open" else None,
            author=fields.user_name("user", "login"),
            updated_at=fields.time("updated_at"),
            ended_at=fields.optional_time("closed_at"),
        )


def parse_review(fields: Fields, verdict: ReviewVerdict) -> ForgeReview:
    """Return the review in a response, with the given verdict."""
    return ForgeReview(
        id=str(fields.number("id")),
        author=fields.user_name("user", "login"),
        verdict=verdict,
        text=fields.text("body"),
        commit=fields.sha("commit_id"),
        time=fields.time("submitted_at"),
        url=fields.url("html_url"),
    )


def _parse_comment(fields: Fields) -> ForgeComment:
    return ForgeComment(
        id=str(fields.number("id")),
        author=fields.user_name("user", "login"),
        text=fields.text("body"),
        time=fields.time("created_at"),
        url=fields.url("html_url"),
    )
