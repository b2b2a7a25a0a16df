"""GitLab's REST API v4, with the schemas of its documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.docyard.forges.local_forge.state import Comment, PullRequest, Refused

if TYPE_CHECKING:
    from tests.docyard.forges.local_forge.server import LocalForge

PREFIX = "/api/v4"
PAGES = "per_page"
_STATUSES = {"missing": 404, "invalid": 400, "exists": 409, "closed": 405, "moved": 409, "conflict": 422}
_STATES = {"open": "opened"}
_NOTES = {
    "approved": "approved this merge request",
    "changes_requested": "requested changes",
    "dismissed": "unapproved this merge request",
}


def read_token(request: Request) -> str:
    """Return the token of a request."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("private-token", bearer)


def make_refusal(error: Refused) -> Response:
    """Return the response to a refused request, in one of GitLab's two formats."""
    shaped: Any = [error.reason] if error.kind == "exists" else error.reason
    if error.kind == "invalid":
        shaped = {"base": [error.reason]}
    return JSONResponse({"message": shaped}, _STATUSES[error.kind])


def make_routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API. Without `has_reviewers`, the API is an older version."""
    base = "/projects/ana%2Fteams%2Fdocs/merge_requests"
    state = forge.state

    async def list_requests(request: Request) -> Response:
        query = request.query_params
        state_filter = query.get("state", "all")
        shown = [
            pull_request
            for pull_request in map(
                state.refresh, sorted(state.pull_requests, key=lambda item: item.updated, reverse=True)
            )
            if query.get("source_branch") in (None, pull_request.head)
            and query.get("target_branch") in (None, pull_request.target)
            and state_filter in ("all", _STATES.get(pull_request.state, pull_request.state))
        ]
        return forge.page(request, [_merge_request(forge, item) for item in shown], PAGES)

    async def open_request(request: Request) -> Response:
        body = await request.json()
        descriptors = body["source_branch"], body["target_branch"]
        opened = state.open(body["title"], body.get("description", ""), *descriptors, forge.bot)
        return JSONResponse(_merge_request(forge, opened), 201)

    async def read_request(request: Request) -> Response:
        return JSONResponse(_merge_request(forge, state.find_pull_request(_number(request))))

    async def edit_request(request: Request) -> Response:
        body = await request.json()
        event = {None: None, "close": "closed", "reopen": "open"}[body.get("state_event")]
        if event is not None and state.find_pull_request(_number(request)).state == event:
            raise Refused("invalid", f"state cannot transition via {body['state_event']}")
        pull_request = state.edit(_number(request), body.get("title"), body.get("description"), event)
        return JSONResponse(_merge_request(forge, pull_request))

    async def approvals(request: Request) -> Response:
        pull_request = state.find_pull_request(_number(request))
        verdicts = _current_verdicts(pull_request)
        approved = [{"user": _user(name)} for name, verdict in verdicts.items() if verdict == "approved"]
        return JSONResponse({"iid": pull_request.number, "approved": bool(approved), "approved_by": approved})

    async def reviewers(request: Request) -> Response:
        if not forge.has_reviewers:
            return JSONResponse({"error": "404 Not Found"}, 404)
        pull_request = state.find_pull_request(_number(request))
        states = {"changes_requested": "requested_changes", "commented": "reviewed"}
        shown = [
            {
                "user": _user(name),
                "state": states.get(verdict, verdict),
                "created_at": _time(pull_request.updated),
            }
            for name, verdict in _current_verdicts(pull_request).items()
        ]
        return forge.page(request, shown, PAGES)

    async def notes(request: Request) -> Response:
        pull_request = state.find_pull_request(_number(request))
        verdict_notes = [
            Comment(review.id, review.author, _NOTES[review.verdict], review.time, by_system=True)
            for review in pull_request.reviews
            if review.verdict in _NOTES
        ]
        texts = [
            Comment(review.id + 10_000, review.author, review.text, review.time)
            for review in pull_request.reviews
            if review.text
        ]
        all_notes = sorted(
            [*pull_request.comments, *verdict_notes, *texts], key=lambda note: (note.time, note.id)
        )
        return forge.page(request, [_note(note) for note in all_notes], PAGES)

    async def add_comment(request: Request) -> Response:
        comment = state.comment(_number(request), forge.bot, (await request.json())["body"])
        return JSONResponse(_note(comment), 201)

    return [
        Route(base, list_requests, methods=["GET"]),
        Route(base, open_request, methods=["POST"]),
        Route(f"{base}/{{number:int}}", read_request, methods=["GET"]),
        Route(f"{base}/{{number:int}}", edit_request, methods=["PUT"]),
        Route(f"{base}/{{number:int}}/approvals", approvals, methods=["GET"]),
        Route(f"{base}/{{number:int}}/reviewers", reviewers, methods=["GET"]),
        Route(f"{base}/{{number:int}}/notes", notes, methods=["GET"]),
        Route(f"{base}/{{number:int}}/notes", add_comment, methods=["POST"]),
    ]


def _number(request: Request) -> int:
    number: int = request.path_params["number"]
    return number


def _time(time: Any) -> str:
    return str(time.strftime("%Y-%m-%dT%H:%M:%S.123Z"))


def _user(username: str) -> dict[str, Any]:
    return {"id": sum(map(ord, username)), "username": username, "name": username.title(), "state": "active"}


def _current_verdicts(pull_request: PullRequest) -> dict[str, str]:
    """Return the current verdict of each reviewer; GitLab does not store earlier verdicts."""
    return {review.author: review.verdict for review in pull_request.reviews}


def _merge_request(forge: LocalForge, pull_request: PullRequest) -> dict[str, Any]:
    is_open, is_mergeable = pull_request.state == "open", forge.state.mergeable(pull_request)
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
        "author": _user(pull_request.author),
        "source_branch": pull_request.head,
        "target_branch": pull_request.target,
        "sha": pull_request.last_head,
        "merge_commit_sha": pull_request.merge_sha,
        "squash_commit_sha": None,
        "draft": False,
        "has_conflicts": is_open and not is_mergeable,
        "merge_status": "can_be_merged" if is_mergeable else "cannot_be_merged",
        "detailed_merge_status": "mergeable" if is_mergeable else "conflict" if is_open else "not_open",
        "created_at": _time(pull_request.updated),
        "updated_at": _time(pull_request.updated),
        "merged_at": _time(pull_request.ended)
        if pull_request.ended and pull_request.state == "merged"
        else None,
        "closed_at": _time(pull_request.ended)
        if pull_request.ended and pull_request.state == "closed"
        else None,
    }


def _note(comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "type": "DiffNote" if comment.on_line else None,
        "body": comment.text,
        "author": _user(comment.author),
        "created_at": _time(comment.time),
        "updated_at": _time(comment.time),
        "system": comment.by_system,
        "internal": comment.is_internal,
        "confidential": comment.is_internal,
        "noteable_type": "MergeRequest",
    }
