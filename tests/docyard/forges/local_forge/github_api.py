"""GitHub's REST API; each response is based on the example that GitHub publishes."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.docyard.forges.local_forge.published_api import load_published
from tests.docyard.forges.local_forge.state import Comment, PullRequest, Refused, Review

if TYPE_CHECKING:
    from tests.docyard.forges.local_forge.server import LocalForge

PREFIX = "/api/v3"
PAGES = "per_page"
_STATUSES = {"missing": 404, "invalid": 422, "exists": 422, "closed": 405, "moved": 409, "conflict": 405}
_VERDICTS = {
    "approved": "APPROVED",
    "changes_requested": "CHANGES_REQUESTED",
    "commented": "COMMENTED",
    "dismissed": "DISMISSED",
    "pending": "PENDING",
}


def read_token(request: Request) -> str:
    """Return the token of a request."""
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def make_refusal(error: Refused) -> Response:
    """Return the response to a refused request."""
    body: dict[str, Any] = {"message": error.reason, "documentation_url": "https://docs.github.com/rest"}
    if error.kind in ("invalid", "exists"):
        body["message"] = "Validation Failed"
        body["errors"] = [{"resource": "PullRequest", "code": "custom", "message": error.reason}]
    return JSONResponse(body, _STATUSES[error.kind])


def make_routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API."""
    repo = "/repos/ana/docs"
    state = forge.state

    async def list_requests(request: Request) -> Response:
        query = request.query_params
        head = query.get("head", "").removeprefix("ana:")
        pull_requests = [
            state.refresh(item)
            for item in sorted(state.pull_requests, key=lambda item: item.updated, reverse=True)
            if head in ("", item.head) and query.get("base") in (None, item.target)
        ]
        state_filter = query.get("state", "open")
        shown = [
            item
            for item in pull_requests
            if state_filter == "all" or (item.state == "open") == (state_filter == "open")
        ]
        return forge.page(
            request, [_pull_request(forge, item, "pull-request-simple") for item in shown], PAGES
        )

    async def open_request(request: Request) -> Response:
        body = await request.json()
        head = body["head"].removeprefix("ana:")
        opened = state.open(body["title"], body.get("body") or "", head, body["base"], forge.bot)
        return JSONResponse(_pull_request(forge, opened, "pull-request"), 201)

    async def read_request(request: Request) -> Response:
        return JSONResponse(_pull_request(forge, state.find_pull_request(_number(request)), "pull-request"))

    async def edit_request(request: Request) -> Response:
        body = await request.json()
        pull_request = state.edit(_number(request), body.get("title"), body.get("body"), body.get("state"))
        return JSONResponse(_pull_request(forge, pull_request, "pull-request"))

    async def reviews(request: Request) -> Response:
        pull_request = state.find_pull_request(_number(request))
        return forge.page(
            request, [_review(forge, pull_request, review) for review in pull_request.reviews], PAGES
        )

    async def comments(request: Request) -> Response:
        pull_request = state.find_pull_request(_number(request))
        general = [
            comment
            for comment in pull_request.comments
            if not (comment.by_system or comment.is_internal or comment.on_line)
        ]
        return forge.page(request, [_comment(forge, pull_request, comment) for comment in general], PAGES)

    async def add_comment(request: Request) -> Response:
        number = _number(request)
        comment = state.comment(number, forge.bot, (await request.json())["body"])
        return JSONResponse(_comment(forge, state.find_pull_request(number), comment), 201)

    return [
        Route(f"{repo}/pulls", list_requests, methods=["GET"]),
        Route(f"{repo}/pulls", open_request, methods=["POST"]),
        Route(f"{repo}/pulls/{{number:int}}", read_request, methods=["GET"]),
        Route(f"{repo}/pulls/{{number:int}}", edit_request, methods=["PATCH"]),
        Route(f"{repo}/pulls/{{number:int}}/reviews", reviews, methods=["GET"]),
        Route(f"{repo}/issues/{{number:int}}/comments", comments, methods=["GET"]),
        Route(f"{repo}/issues/{{number:int}}/comments", add_comment, methods=["POST"]),
    ]


def _number(request: Request) -> int:
    number: int = request.path_params["number"]
    return number


def _example(schema: str) -> dict[str, Any]:
    example: dict[str, Any] = copy.deepcopy(load_published("github")["examples"][schema])
    return example


def _time(time: Any) -> str:
    return str(time.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _user(login: str) -> dict[str, Any]:
    return {**_example("issue-comment")["user"], "login": login}


def _pull_request(forge: LocalForge, pull_request: PullRequest, schema: str) -> dict[str, Any]:
    is_open, is_merged = pull_request.state == "open", pull_request.state == "merged"
    response = _example(schema)
    response |= {
        "number": pull_request.number,
        "html_url": forge.build_url(pull_request),
        "title": pull_request.title,
        "body": pull_request.body or None,
        "state": "open" if is_open else "closed",
        "user": _user(pull_request.author),
        "updated_at": _time(pull_request.updated),
        "closed_at": _time(pull_request.ended) if pull_request.ended else None,
        "merged_at": _time(pull_request.updated) if is_merged else None,
        # For an open pull request, GitHub returns a test merge.
        "merge_commit_sha": pull_request.merge_sha or "e" * 40,
        # The published example of a team lacks fields that the published schema requires.
        "requested_teams": [],
    }
    descriptors: Iterable[tuple[str, str, str]] = (
        ("head", pull_request.head, pull_request.last_head),
        ("base", pull_request.target, forge.state.tip(pull_request.target) or ""),
    )
    for end, branch, sha in descriptors:
        response[end] |= {"ref": branch, "label": f"ana:{branch}", "sha": sha}
        response[end]["repo"] = copy.deepcopy(response["base"]["repo"])
    if schema == "pull-request":
        response |= {
            "merged": is_merged,
            "mergeable": forge.state.mergeable(pull_request) if is_open else None,
        }
    return response


def _review(forge: LocalForge, pull_request: PullRequest, review: Review) -> dict[str, Any]:
    response = _example("pull-request-review")
    response |= {
        "id": review.id,
        "user": _user(review.author),
        "body": review.text,
        "state": _VERDICTS[review.verdict],
        "commit_id": review.commit,
        "submitted_at": _time(review.time),
        "html_url": f"{forge.build_url(pull_request)}#pullrequestreview-{review.id}",
    }
    if review.verdict == "pending":
        del response["submitted_at"]
    return response


def _comment(forge: LocalForge, pull_request: PullRequest, comment: Comment) -> dict[str, Any]:
    return _example("issue-comment") | {
        "id": comment.id,
        "user": _user(comment.author),
        "body": comment.text,
        "created_at": _time(comment.time),
        "updated_at": _time(comment.time),
        "html_url": f"{forge.build_url(pull_request)}#issuecomment-{comment.id}",
    }
