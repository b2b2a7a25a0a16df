"""GitHub's REST API; each response is based on the example that GitHub publishes."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.docyard.forges.local_forge.published_api import load_published
from tests.docyard.forges.local_forge.state import Comment, PullRequest, RequestRefused, Review

if TYPE_CHECKING:
    from tests.docyard.forges.local_forge.server import LocalForge

PREFIX = "/api/v3"
PAGE_SIZE_PARAMETER = "per_page"
_STATUSES_BY_REFUSAL = {
    "missing": 404,
    "forbidden": 403,
    "invalid": 422,
    "exists": 422,
    "closed": 405,
    "moved": 409,
    "conflict": 405,
}
_STATES_BY_VERDICT = {
    "approved": "APPROVED",
    "changes_requested": "CHANGES_REQUESTED",
    "commented": "COMMENTED",
    "dismissed": "DISMISSED",
    "pending": "PENDING",
}


def read_token(request: Request) -> str:
    """Return the token of a request."""
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def make_refusal(error: RequestRefused) -> Response:
    """Return the response to a refused request."""
    body: dict[str, Any] = {"message": error.reason, "documentation_url": "https://docs.github.com/rest"}
    if error.kind in ("invalid", "exists"):
        body["message"] = "Validation Failed"
        body["errors"] = [{"resource": "PullRequest", "code": "custom", "message": error.reason}]
    return JSONResponse(body, _STATUSES_BY_REFUSAL[error.kind])


def make_routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API."""
    repo = "/repos/ana/docs"
    state = forge.state

    async def list_pull_requests(request: Request) -> Response:
        query = request.query_params
        head = query.get("head", "").removeprefix("ana:")
        pull_requests = [
            state.refresh(pull_request)
            for pull_request in sorted(
                state.pull_requests, key=lambda pull_request: pull_request.updated_at, reverse=True
            )
            if head in ("", pull_request.head) and query.get("base") in (None, pull_request.target)
        ]
        state_filter = query.get("state", "open")
        results = [
            pull_request
            for pull_request in pull_requests
            if state_filter == "all" or (pull_request.state == "open") == (state_filter == "open")
        ]
        return forge.build_page(
            request,
            [_make_pull_request(forge, pull_request, "pull-request-simple") for pull_request in results],
            PAGE_SIZE_PARAMETER,
        )

    async def open_pull_request(request: Request) -> Response:
        body = await request.json()
        head = body["head"].removeprefix("ana:")
        pull_request = state.open(body["title"], body.get("body") or "", head, body["base"], forge.bot)
        return JSONResponse(_make_pull_request(forge, pull_request, "pull-request"), 201)

    async def read_pull_request(request: Request) -> Response:
        return JSONResponse(
            _make_pull_request(forge, state.find_pull_request(_read_number(request)), "pull-request")
        )

    async def edit_pull_request(request: Request) -> Response:
        body = await request.json()
        pull_request = state.edit(
            _read_number(request), body.get("title"), body.get("body"), body.get("state")
        )
        return JSONResponse(_make_pull_request(forge, pull_request, "pull-request"))

    async def list_reviews(request: Request) -> Response:
        pull_request = state.find_pull_request(_read_number(request))
        return forge.build_page(
            request,
            [_make_review(forge, pull_request, review) for review in pull_request.reviews],
            PAGE_SIZE_PARAMETER,
        )

    async def list_comments(request: Request) -> Response:
        pull_request = state.find_pull_request(_read_number(request))
        general_comments = [
            comment
            for comment in pull_request.comments
            if not (comment.by_system or comment.is_internal or comment.on_line)
        ]
        return forge.build_page(
            request,
            [_make_comment(forge, pull_request, comment) for comment in general_comments],
            PAGE_SIZE_PARAMETER,
        )

    async def add_comment(request: Request) -> Response:
        number = _read_number(request)
        comment = state.comment(number, forge.bot, (await request.json())["body"])
        return JSONResponse(_make_comment(forge, state.find_pull_request(number), comment), 201)

    async def edit_comment(request: Request) -> Response:
        text = (await request.json())["body"]
        pull_request, comment = state.edit_comment(request.path_params["id"], forge.bot, text)
        return JSONResponse(_make_comment(forge, pull_request, comment))

    return [
        Route(f"{repo}/pulls", list_pull_requests, methods=["GET"]),
        Route(f"{repo}/pulls", open_pull_request, methods=["POST"]),
        Route(f"{repo}/pulls/{{number:int}}", read_pull_request, methods=["GET"]),
        Route(f"{repo}/pulls/{{number:int}}", edit_pull_request, methods=["PATCH"]),
        Route(f"{repo}/pulls/{{number:int}}/reviews", list_reviews, methods=["GET"]),
        Route(f"{repo}/issues/{{number:int}}/comments", list_comments, methods=["GET"]),
        Route(f"{repo}/issues/{{number:int}}/comments", add_comment, methods=["POST"]),
        Route(f"{repo}/issues/comments/{{id:int}}", edit_comment, methods=["PATCH"]),
    ]


def _read_number(request: Request) -> int:
    number: int = request.path_params["number"]
    return number


def _copy_example(schema: str) -> dict[str, Any]:
    example: dict[str, Any] = copy.deepcopy(load_published("github")["examples"][schema])
    return example


def _format_time(time: Any) -> str:
    return str(time.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _make_user(login: str) -> dict[str, Any]:
    return {**_copy_example("issue-comment")["user"], "login": login}


def _make_pull_request(forge: LocalForge, pull_request: PullRequest, schema: str) -> dict[str, Any]:
    is_open, is_merged = pull_request.state == "open", pull_request.state == "merged"
    response = _copy_example(schema)
    response |= {
        "number": pull_request.number,
        "html_url": forge.build_url(pull_request),
        "title": pull_request.title,
        "body": pull_request.body or None,
        "state": "open" if is_open else "closed",
        "user": _make_user(pull_request.author),
        "updated_at": _format_time(pull_request.updated_at),
        "closed_at": _format_time(pull_request.ended_at) if pull_request.ended_at else None,
        "merged_at": _format_time(pull_request.updated_at) if is_merged else None,
        # For an open pull request, GitHub returns a test merge.
        "merge_commit_sha": pull_request.merge_sha or "e" * 40,
        # The published example of a team lacks fields that the published schema requires.
        "requested_teams": [],
    }
    branches: Iterable[tuple[str, str, str]] = (
        ("head", pull_request.head, pull_request.last_head),
        ("base", pull_request.target, forge.state.find_tip(pull_request.target) or ""),
    )
    for name, branch, sha in branches:
        response[name] |= {"ref": branch, "label": f"ana:{branch}", "sha": sha}
        response[name]["repo"] = copy.deepcopy(response["base"]["repo"])
    if schema == "pull-request":
        response |= {
            "merged": is_merged,
            "mergeable": forge.state.is_mergeable(pull_request) if is_open else None,
        }
    return response


def _make_review(forge: LocalForge, pull_request: PullRequest, review: Review) -> dict[str, Any]:
    response = _copy_example("pull-request-review")
    response |= {
        "id": review.id,
        "user": _make_user(review.author),
        "body": review.text,
        "state": _STATES_BY_VERDICT[review.verdict],
        "commit_id": review.commit,
        "submitted_at": _format_time(review.time),
        "html_url": f"{forge.build_url(pull_request)}#pullrequestreview-{review.id}",
    }
    if review.verdict == "pending":
        del response["submitted_at"]
    return response


def _make_comment(forge: LocalForge, pull_request: PullRequest, comment: Comment) -> dict[str, Any]:
    return _copy_example("issue-comment") | {
        "id": comment.id,
        "user": _make_user(comment.author),
        "body": comment.text,
        "created_at": _format_time(comment.time),
        "updated_at": _format_time(comment.time),
        "html_url": f"{forge.build_url(pull_request)}#issuecomment-{comment.id}",
    }
