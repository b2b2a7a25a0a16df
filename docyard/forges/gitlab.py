"""Merge requests of GitLab (REST API v4).

GitLab has no list of reviews. Two lists contain the current approvals and requests for changes. GitLab writes
a note about each of them; the time and the id of a review are those of its note. GitLab does not report the
reviewed commit. Versions before 16.9 have no requests for changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Literal
from urllib.parse import quote

from docyard.forges.errors import ForgeAccessDenied, ForgeNotFound
from docyard.forges.forge_repository import ForgeRepository
from docyard.forges.port import (
    ForgeComment,
    ForgeReview,
    NewPullRequest,
    PullRequest,
    PullRequestState,
    ReviewVerdict,
    select_pull_request,
)
from docyard.forges.transport import Fields, ForgeTransport, TransportLimits

TITLE = "GitLab"
_PAGE_SIZE = 100
_STATES: dict[str, PullRequestState] = {"opened": "open", "locked": "open", "merged": "merged"}
_STATE_EVENTS = {"open": "reopen", "closed": "close"}
_CHECKING_STATES = ("checking", "unchecked", "preparing", "cannot_be_merged_recheck")
_NOTE_TEXTS: dict[ReviewVerdict, str] = {
    "approved": "approved this merge request",
    "changes_requested": "requested changes",
}
_GENERAL_NOTE_TYPES = ("", "DiscussionNote")
_COMMAND = re.compile(r"^([ \t]*)/(?=[a-zA-Z])", re.MULTILINE)


class GitLab:
    """A project on GitLab, possibly in nested groups, accessed with a token."""

    name: ClassVar[str] = "gitlab"

    def __init__(self, repository: ForgeRepository, limits: TransportLimits) -> None:
        self._requests_path = f"/projects/{quote('/'.join(repository.segments), safe='')}/merge_requests"
        headers = {"Authorization": f"Bearer {repository.token}", "Accept": "application/json"}
        self._http = ForgeTransport(TITLE, repository.api_url, headers, repository.token, limits)

    def close_connections(self) -> None:
        """Close the connection to the forge."""
        self._http.close_connections()

    def find(self, branch: str, target: str) -> PullRequest | None:
        """Return the merge request of a branch: the open one, else the one that was changed last."""
        return select_pull_request(
            self._list_pull_requests("all", target, source_branch=branch), branch, target
        )

    def list_open(self, target: str) -> tuple[PullRequest, ...]:
        """Return the open merge requests into a target, the last changed first; at most 2,000."""
        return tuple(self._list_pull_requests("opened", target))

    def open(self, new_request: NewPullRequest) -> PullRequest:
        """Open a merge request. Raises ForgeConflict if the branch already has an open merge request."""
        body = {
            "title": new_request.title,
            "description": _escape_commands(new_request.body),
            "source_branch": new_request.head_branch,
            "target_branch": new_request.target,
        }
        return self._parse_response(self._http.send("POST", self._requests_path, body))

    def update(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        state: Literal["open", "closed"] | None = None,
    ) -> PullRequest:
        """Change the given fields; a state that the merge request already has is not sent.

        Raises ForgeRequestRejected.
        """
        changes: dict[str, str] = {}
        if title is not None:
            changes["title"] = title
        if body is not None:
            changes["description"] = _escape_commands(body)
        if state is not None and self.get(number).state != state:
            changes["state_event"] = _STATE_EVENTS[state]
        if not changes:
            return self.get(number)
        return self._parse_response(
            self._http.send("PUT", self._build_path(number), changes, is_idempotent=True)
        )

    def get(self, number: int) -> PullRequest:
        """Return the current merge request. Raises ForgeNotFound."""
        return self._parse_response(self._http.get(self._build_path(number)))

    def list_reviews(self, number: int) -> tuple[ForgeReview, ...]:
        """Return the current approvals and requests for changes, the oldest first."""
        merge_request = Fields(TITLE, self._http.get(self._build_path(number)))
        verdict_entries = [*self._list_approvers(number), *self._list_requesters(number)]
        notes = self._read_notes(number) if verdict_entries else []
        reviews = [
            _build_review(merge_request, verdict, user, entry, notes)
            for verdict, user, entry in verdict_entries
        ]
        return tuple(sorted(reviews, key=lambda review: review.time))

    def list_comments(self, number: int) -> tuple[ForgeComment, ...]:
        """Return the general comments, the oldest first, without internal notes."""
        return tuple(
            ForgeComment(
                id=str(note.number("id")),
                author=note.user_name("author", "username"),
                text=note.text("body"),
                time=note.time("created_at"),
                url="",
            )
            for note in self._read_notes(number)
            if not note.flag("system")
            and not note.flag("internal")
            and not note.flag("confidential")
            and (note.line("type") if note.has("type") else "") in _GENERAL_NOTE_TYPES
        )

    def comment(self, number: int, text: str) -> None:
        """Add a comment."""
        self._http.send("POST", f"{self._build_path(number)}/notes", {"body": _escape_commands(text)})

    def edit_comment(self, number: int, id: str, text: str) -> None:
        """Replace the text of a general comment. Raises ForgeNotFound, ForgeAccessDenied."""
        path = f"{self._build_path(number)}/notes/{quote(id, safe='')}"
        self._http.send("PUT", path, {"body": _escape_commands(text)}, is_idempotent=True)

    def close(self, number: int) -> PullRequest:
        """Close a merge request."""
        return self.update(number, state="closed")

    def _list_pull_requests(self, state: str, target: str, **query: str) -> Iterator[PullRequest]:
        order = {"order_by": "updated_at", "sort": "desc"}
        items = self._http.get_list(
            self._requests_path,
            state=state,
            scope="all",
            target_branch=target,
            per_page=_PAGE_SIZE,
            **order,
            **query,
        )
        all_fields = (Fields(TITLE, item) for item in items)
        return (_parse_pull_request(fields) for fields in all_fields if not _is_from_fork(fields))

    def _build_path(self, number: int) -> str:
        return f"{self._requests_path}/{number}"

    def _parse_response(self, data: object) -> PullRequest:
        return _parse_pull_request(Fields(TITLE, data))

    def _read_notes(self, number: int) -> list[Fields]:
        items = self._http.get_list(
            f"{self._build_path(number)}/notes", sort="asc", order_by="created_at", per_page=_PAGE_SIZE
        )
        return [Fields(TITLE, item) for item in items]

    def _list_approvers(self, number: int) -> Iterator[tuple[ReviewVerdict, Fields, Fields]]:
        """Yield the verdict, the user and the list entry of each approval."""
        try:
            approvals = Fields(TITLE, self._http.get(f"{self._build_path(number)}/approvals"))
        except (ForgeNotFound, ForgeAccessDenied):  # an edition without approvals
            return
        for entry in approvals.nested_list("approved_by"):
            yield "approved", entry.nested("user"), entry

    def _list_requesters(self, number: int) -> Iterator[tuple[ReviewVerdict, Fields, Fields]]:
        """Yield the verdict, the user and the list entry of each request for changes."""
        try:
            reviewers = self._http.get_list(f"{self._build_path(number)}/reviewers", per_page=_PAGE_SIZE)
        except (ForgeNotFound, ForgeAccessDenied):  # a version without reviewers
            return
        for entry in (Fields(TITLE, data) for data in reviewers):
            if entry.has("state") and entry.line("state") == "requested_changes":
                yield "changes_requested", entry.nested("user"), entry


def _escape_commands(text: str) -> str:
    """Return a text in which no line is a quick action (`/merge`, `/close`), which GitLab would execute."""
    return _COMMAND.sub(r"\1\\/", text)


def _is_from_fork(fields: Fields) -> bool:
    if not fields.has("source_project_id") or not fields.has("target_project_id"):
        return False
    return fields.number("source_project_id") != fields.number("target_project_id")


def _parse_pull_request(fields: Fields) -> PullRequest:
    state = _STATES.get(fields.line("state"), "closed")
    merge_sha = fields.sha("merge_commit_sha") or fields.sha("squash_commit_sha") or fields.sha("sha")
    return PullRequest(
        number=fields.number("iid"),
        url=fields.url("web_url"),
        title=fields.line("title"),
        body=fields.text("description"),
        state=state,
        head_branch=fields.line("source_branch"),
        head_sha=fields.sha("sha") or "",
        target=fields.line("target_branch"),
        # A fast-forward creates no merge commit: the target moved to the last commit.
        merge_sha=merge_sha if state == "merged" else None,
        mergeable=_is_mergeable(fields) if state == "open" else None,
        author=fields.user_name("author", "username"),
        updated_at=fields.time("updated_at"),
        ended_at=fields.optional_time("merged_at") or fields.optional_time("closed_at"),
    )


def _is_mergeable(fields: Fields) -> bool | None:
    """Return True if the branches can be merged, without regard to approvals; None while GitLab checks."""
    if fields.flag("has_conflicts"):
        return False
    status = fields.line("merge_status") if fields.has("merge_status") else "unchecked"
    return None if status in _CHECKING_STATES else status == "can_be_merged"


def _build_review(
    merge_request: Fields, verdict: ReviewVerdict, user: Fields, entry: Fields, notes: list[Fields]
) -> ForgeReview:
    """Return a review with the id and time of the last note about it, else with the time of `entry`."""
    author = user.line("username")
    for note in reversed(notes):
        is_verdict = note.flag("system") and note.text("body").startswith(_NOTE_TEXTS[verdict])
        if is_verdict and note.user_name("author", "username") == author:
            id, time = f"note-{note.number('id')}", note.time("created_at")
            break
    else:
        id = f"{verdict}-{user.number('id')}"
        fields = ("approved_at",) if verdict == "approved" else ("created_at",)
        time = next(
            (entry.time(name) for name in fields if entry.has(name)), merge_request.time("updated_at")
        )
        if any(entry.has(name) for name in fields):
            id += f"-{int(time.timestamp())}"
    return ForgeReview(id, author, verdict, "", None, time, merge_request.url("web_url"))
