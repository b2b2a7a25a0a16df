"""GitLab's REST API v4, with the schemas of its documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.docyard.forges.local_forge.state import Comment, PullRequest, RequestRefused

if TYPE_CHECKING:
    from tests.docyard.forges.local_forge.server import LocalForge

PREFIX = "/api/v4"
PAGE_SIZE_PARAMETER = "per_page"
_STATUSES_BY_REFUSAL = {
    "missing": 404,
    "forbidden": 403,
    "invalid": 400,
    "exists": 409,
    "closed": 405,
    "moved": 409,
    "conflict": 422,
}
_STATES = {"open": "opened"}
_NOTES_BY_VERDICT = {
    "approved": "approved this merge request",
    "changes_requested": "requested changes",
    "dismissed": "unapproved this merge request",
}


def read_token(request: Request) -> str:
    """Return the token of a request."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("private-token", bearer)


def make_refusal(error: RequestRefused) -> Response:
    """Return the response to a refused request, in one of GitLab's formats."""
    message: Any = [error.reason] if error.kind == "exists" else error.reason
    if error.kind == "invalid":
        message = {"base": [error.reason]}
    return JSONResponse({"message": message}, _STATUSES_BY_REFUSAL[error.kind])


def make_routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API. Older versions lack the route of reviewers (`has_reviewers_endpoint`)."""
    base = "/projects/ana%2Fteams%2Fdocs/merge_requests"
    state = forge.state

    async def list_merge_requests(request: Request) -> Response:
        query = request.query_params
        state_filter = query.get("state", "all")
        results = [
            pull_request
            for pull_request in map(
                state.refresh,
                sorted(state.pull_requests, key=lambda pull_request: pull_request.updated_at, reverse=True),
            )
            if query.get("source_branch") in (None, pull_request.head)
            and query.get("target_branch") in (None, pull_request.target)
            and state_filter in ("all", _STATES.get(pull_request.state, pull_request.state))
        ]
        return forge.build_page(
            request,
            [_make_merge_request(forge, pull_request) for pull_request in results],
            PAGE_SIZE_PARAMETER,
        )

    async def open_merge_request(request: Request) -> Response:
        body = await request.json()
        branches = body["source_branch"], body["target_branch"]
        pull_request = state.open(body["title"], body.get("description", ""), *branches, forge.bot)
        return JSONResponse(_make_merge_request(forge, pull_request), 201)

    async def read_merge_request(request: Request) -> Response:
        return JSONResponse(_make_merge_request(forge, state.find_pull_request(_read_number(request))))

    async def edit_merge_request(request: Request) -> Response:
        body = await request.json()
        event = {None: None, "close": "closed", "reopen": "open"}[body.get("state_event")]
        if event is not None and state.find_pull_request(_read_number(request)).state == event:
            raise RequestRefused("invalid", f"state cannot transition via {body['state_event']}")
        pull_request = state.edit(_read_number(request), body.get("title"), body.get("description"), event)
        return JSONResponse(_make_merge_request(forge, pull_request))

    async def list_approvals(request: Request) -> Response:
        pull_request = state.find_pull_request(_read_number(request))
        verdicts = _find_current_verdicts(pull_request)
        approvals = [
            {"user": _make_user(name)} for name, verdict in verdicts.items() if verdict == "approved"
        ]
        return JSONResponse(
            {"iid": pull_request.number, "approved": bool(approvals), "approved_by": approvals}
        )

    async def list_reviewers(request: Request) -> Response:
        if not forge.has_reviewers_endpoint:
            return JSONResponse({"error": "404 Not Found"}, 404)
        pull_request = state.find_pull_request(_read_number(request))
        states = {"changes_requested": "requested_changes", "commented": "reviewed"}
        results = [
            {
                "user": _make_user(name),
                "state": states.get(verdict, verdict),
                "created_at": _format_time(pull_request.updated_at),
            }
            for name, verdict in _find_current_verdicts(pull_request).items()
        ]
        return forge.build_page(request, results, PAGE_SIZE_PARAMETER)

    async def list_notes(request: Request) -> Response:
        pull_request = state.find_pull_request(_read_number(request))
        verdict_notes = [
            Comment(review.id, review.author, _NOTES_BY_VERDICT[review.verdict], review.time, by_system=True)
            for review in pull_request.reviews
            if review.verdict in _NOTES_BY_VERDICT
        ]
        text_notes = [
            Comment(review.id + 10_000, review.author, review.text, review.time)
            for review in pull_request.reviews
            if review.text
        ]
        all_notes = sorted(
            [*pull_request.comments, *verdict_notes, *text_notes], key=lambda note: (note.time, note.id)
        )
        return forge.build_page(request, [_make_note(note) for note in all_notes], PAGE_SIZE_PARAMETER)

    async def add_comment(request: Request) -> Response:
        comment = state.comment(_read_number(request), forge.bot, (await request.json())["body"])
        return JSONResponse(_make_note(comment), 201)

    async def edit_note(request: Request) -> Response:
        text = (await request.json())["body"]
        _, comment = state.edit_comment(request.path_params["id"], forge.bot, text)
        return JSONResponse(_make_note(comment))

    return [
        Route(base, list_merge_requests, methods=["GET"]),
        Route(base, open_merge_request, methods=["POST"]),
        Route(f"{base}/{{number:int}}", read_merge_request, methods=["GET"]),
        Route(f"{base}/{{number:int}}", edit_merge_request, methods=["PUT"]),
        Route(f"{base}/{{number:int}}/approvals", list_approvals, methods=["GET"]),
        Route(f"{base}/{{number:int}}/reviewers", list_reviewers, methods=["GET"]),
        Route(f"{base}/{{number:int}}/notes", list_notes, methods=["GET"]),
        Route(f"{base}/{{number:int}}/notes", add_comment, methods=["POST"]),
        Route(f"{base}/{{number:int}}/notes/{{id:int}}", edit_note, methods=["PUT"]),
    ]


def _read_number(request: Request) -> int:
    number: int = request.path_params["number"]
    return number


def _format_time(time: Any) -> str:
    return str(time.strftime("%Y-%m-%dT%H:%M:%S.123Z"))


def _make_user(username: str) -> dict[str, Any]:
    return {"id": sum(map(ord, username)), "username": username, "name": username.title(), "state": "active"}


def _find_current_verdicts(pull_request: PullRequest) -> dict[str, str]:
    """Return the last verdict of each reviewer, because GitLab does not return earlier verdicts."""
    return {review.author: review.verdict for review in pull_request.reviews}


def _make_merge_request(forge: LocalForge, pull_request: PullRequest) -> dict[str, Any]:
    is_open, is_mergeable = pull_request.state == "open", forge.state.is_mergeable(pull_request)
    return {
        "id": 2_000 + pull_request.number,
        "iid": pull_request.number,
        "project_id": 3,
        "source_project_id": 3,
        "target_project_id": 3,
        "title": pull_request.title,
        "description": pull_request.body,
        "state": _STATES.get(pull_request.state, pull_request.state),
        "web_url": forge.build_url(pull_request),
        "author": _make_user(pull_request.author),
        "source_branch": pull_request.head,
        "target_branch": pull_request.target,
        "sha": pull_request.last_head,
        "merge_commit_sha": pull_request.merge_sha,
        "squash_commit_sha": None,
        "draft": False,
        "has_conflicts": is_open and not is_mergeable,
        "merge_status": "can_be_merged" if is_mergeable else "cannot_be_merged",
        "detailed_merge_status": "mergeable" if is_mergeable else "conflict" if is_open else "not_open",
        "created_at": _format_time(pull_request.updated_at),
        "updated_at": _format_time(pull_request.updated_at),
        "merged_at": _format_time(pull_request.ended_at)
        if pull_request.ended_at and pull_request.state == "merged"
        else None,
        "closed_at": _format_time(pull_request.ended_at)
        if pull_request.ended_at and pull_request.state == "closed"
        else None,
    }


def _make_note(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "type": "DiffNote" if comment.on_line else None,
        "body": comment.text,
        "author": _make_user(comment.author),
        "created_at": _format_time(comment.time),
        "updated_at": _format_time(comment.time),
        "system": comment.by_system,
        "internal": comment.is_internal,
        "confidential": comment.is_internal,
        "noteable_type": "MergeRequest",
    }
