"""Gitea's and Forgejo's API v1, with the schemas that both publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.docyard.forges.local_forge.state import Comment, PullRequest, RequestRefused, Review

if TYPE_CHECKING:
    from tests.docyard.forges.local_forge.server import LocalForge

PREFIX = "/api/v1"
PAGE_SIZE_PARAMETER = "limit"
_STATUSES_BY_REFUSAL = {
    "missing": 404,
    "forbidden": 403,
    "invalid": 422,
    "exists": 409,
    "closed": 405,
    "moved": 409,
    "conflict": 405,
}
_STATES_BY_VERDICT = {
    "approved": "APPROVED",
    "changes_requested": "REQUEST_CHANGES",
    "commented": "COMMENT",
    "dismissed": "REQUEST_CHANGES",
    "pending": "PENDING",
}


def read_token(request: Request) -> str:
    """Return the token of a request."""
    return request.headers.get("authorization", "").removeprefix("token ")


def make_refusal(error: RequestRefused) -> Response:
    """Return the response to a refused request."""
    body = {"message": error.reason, "url": "https://gitea.example/api/swagger"}
    return JSONResponse(body, _STATUSES_BY_REFUSAL[error.kind])


def make_routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API."""
    repo_path = "/repos/ana/docs"
    state = forge.state

    async def list_pull_requests(request: Request) -> Response:
        state_filter = request.query_params.get("state", "open")
        sorted_requests = sorted(
            state.pull_requests, key=lambda pull_request: pull_request.updated_at, reverse=True
        )
        results = [
            pull_request
            for pull_request in map(state.refresh, sorted_requests)
            if state_filter == "all" or (pull_request.state == "open") == (state_filter == "open")
        ]
        return forge.build_page(
            request,
            [_make_pull_request(forge, pull_request) for pull_request in results],
            PAGE_SIZE_PARAMETER,
        )

    async def find_by_branches(request: Request) -> Response:
        base, head = request.path_params["base"], request.path_params["head"]
        for pull_request in reversed(state.pull_requests):
            if (pull_request.target, pull_request.head) == (base, head):
                return JSONResponse(_make_pull_request(forge, state.refresh(pull_request)))
        raise RequestRefused("missing", "The target couldn't be found.")

    async def open_pull_request(request: Request) -> Response:
        body = await request.json()
        pull_request = state.open(body["title"], body.get("body", ""), body["head"], body["base"], forge.bot)
        return JSONResponse(_make_pull_request(forge, pull_request), 201)

    async def read_pull_request(request: Request) -> Response:
        return JSONResponse(_make_pull_request(forge, state.find_pull_request(_read_number(request))))

    async def edit_pull_request(request: Request) -> Response:
        body = await request.json()
        pull_request = state.edit(
            _read_number(request), body.get("title"), body.get("body"), body.get("state")
        )
        return JSONResponse(_make_pull_request(forge, pull_request), 201)

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
        # This list has no pages: a response always contains all items.
        headers = {"x-total-count": str(len(general_comments))}
        return JSONResponse(
            [_make_comment(forge, pull_request, comment) for comment in general_comments], headers=headers
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
        Route(f"{repo_path}/pulls", list_pull_requests, methods=["GET"]),
        Route(f"{repo_path}/pulls", open_pull_request, methods=["POST"]),
        Route(f"{repo_path}/pulls/{{number:int}}", read_pull_request, methods=["GET"]),
        Route(f"{repo_path}/pulls/{{number:int}}", edit_pull_request, methods=["PATCH"]),
        Route(f"{repo_path}/pulls/{{number:int}}/reviews", list_reviews, methods=["GET"]),
        Route(f"{repo_path}/pulls/{{base}}/{{head:path}}", find_by_branches, methods=["GET"]),
        Route(f"{repo_path}/issues/{{number:int}}/comments", list_comments, methods=["GET"]),
        Route(f"{repo_path}/issues/{{number:int}}/comments", add_comment, methods=["POST"]),
        Route(f"{repo_path}/issues/comments/{{id:int}}", edit_comment, methods=["PATCH"]),
    ]


def _read_number(request: Request) -> int:
    number: int = request.path_params["number"]
    return number


def _format_time(time: Any) -> str:
    return str(time.strftime("%Y-%m-%dT%H:%M:%S+00:00"))


def _make_user(login: str) -> dict[str, Any]:
    return {"id": 7, "login": login, "full_name": "", "email": f"{login}@noreply.gitea.example"}


def _make_pull_request(forge: LocalForge, pull_request: PullRequest) -> dict[str, Any]:
    is_merged = pull_request.state == "merged"
    has_branch = forge.state.find_tip(pull_request.head) is not None
    return {
        "id": 1_000 + pull_request.number,
        "number": pull_request.number,
        "url": forge.build_url(pull_request),
        "html_url": forge.build_url(pull_request),
        "title": pull_request.title,
        "body": pull_request.body,
        "state": "open" if pull_request.state == "open" else "closed",
        "user": _make_user(pull_request.author),
        "draft": False,
        "merged": is_merged,
        "mergeable": forge.state.is_mergeable(pull_request),
        "merged_at": _format_time(pull_request.updated_at) if is_merged else None,
        "closed_at": _format_time(pull_request.ended_at) if pull_request.ended_at else None,
        "merge_commit_sha": pull_request.merge_sha,
        "merged_by": _make_user(pull_request.author) if is_merged else None,
        "updated_at": _format_time(pull_request.updated_at),
        "created_at": _format_time(pull_request.updated_at),
        "head": {
            "label": pull_request.head,
            "ref": pull_request.head if has_branch else f"refs/pull/{pull_request.number}/head",
            "sha": pull_request.last_head,
            "repo_id": 5,
        },
        "base": {
            "label": pull_request.target,
            "ref": pull_request.target,
            "sha": forge.state.find_tip(pull_request.target),
            "repo_id": 5,
        },
    }


def _make_review(forge: LocalForge, pull_request: PullRequest, review: Review) -> dict[str, Any]:
    return {
        "id": review.id,
        "user": _make_user(review.author),
        "body": review.text,
        "state": _STATES_BY_VERDICT[review.verdict],
        "commit_id": review.commit,
        "stale": False,
        "official": True,
        "dismissed": review.verdict == "dismissed",
        "comments_count": 0,
        "submitted_at": _format_time(review.time),
        "html_url": f"{forge.build_url(pull_request)}#issuecomment-{review.id}",
    }


def _make_comment(forge: LocalForge, pull_request: PullRequest, comment: Comment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "user": _make_user(comment.author),
        "body": comment.text,
        "created_at": _format_time(comment.time),
        "updated_at": _format_time(comment.time),
        "html_url": f"{forge.build_url(pull_request)}#issuecomment-{comment.id}",
    }
