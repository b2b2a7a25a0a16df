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


def token_of(request: Request) -> str:
    """Return the token of a request."""
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def refused(error: Refused) -> Response:
    """Return the response to a refused request."""
    body: dict[str, Any] = {"message": error.reason, "documentation_url": "https://docs.github.com/rest"}
    if error.kind in ("invalid", "exists"):
        body["message"] = "Validation Failed"
        body["errors"] = [{"resource": "PullRequest", "code": "custom", "message": error.reason}]
    return JSONResponse(body, _STATUSES[error.kind])


def routes(forge: LocalForge) -> list[Route]:
    """Return the routes of the API."""
    repo = "/repos/ana/docs"
    state = forge.state

    async def list_requests(request: Request) -> Response:
        query = request.query_params
        head = query.get("head", "").removeprefix("ana:")
        pull_requests = [
            state.refresh(one)
            for one in sorted(state.pull_requests, key=lambda one: one.updated, reverse=True)
            if head in ("", one.head) and query.get("base") in (None, one.target)
        ]
        response = query.get("state", "open")
        shown = [
            one for one in pull_requests if response == "all" or (one.state == "open") == (response == "open")
        ]
        return forge.page(request, [_pull_request(forge, one, "pull-request-simple") for one in shown], PAGES)

    async def open_request(request: Request) -> Response:
        body = await request.json()
        head = body["head"].removeprefix("ana:")
        one = state.open(body["title"], body.get("body") or "", head, body["base"], forge.bot)
        return JSONResponse(_pull_request(forge, one, "pull-request"), 201)

    async def one(request: Request) -> Response:
        return JSONResponse(_pull_request(forge, state.one(_number(request)), "pull-request"))

    async def edit_request(request: Request) -> Response:
        body = await request.json()
        pull_requests = state.edit(_number(request), body.get("title"), body.get("body"), body.get("state"))
        return JSONResponse(_pull_request(forge, pull_requests, "pull-request"))

    async def reviews(request: Request) -> Response:
        pull_requests = state.one(_number(request))
        return forge.page(
            request, [_review(forge, pull_requests, one) for one in pull_requests.reviews], PAGES
        )

    async def comments(request: Request) -> Response:
        pull_requests = state.one(_number(request))
        general = [
            one for one in pull_requests.comments if not (one.by_system or one.is_internal or one.on_line)
        ]
        return forge.page(request, [_comment(forge, pull_requests, one) for one in general], PAGES)

    async def add_comment(request: Request) -> Response:
        number = _number(request)
        comment = state.comment(number, forge.bot, (await request.json())["body"])
        return JSONResponse(_comment(forge, state.one(number), comment), 201)

    return [
        Route(f"{repo}/pulls", list_requests, methods=["GET"]),
        Route(f"{repo}/pulls", open_request, methods=["POST"]),
        Route(f"{repo}/pulls/{{number:int}}", one, methods=["GET"]),
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


def _pull_request(forge: LocalForge, one: PullRequest, schema: str) -> dict[str, Any]:
    is_open, is_merged = one.state == "open", one.state == "merged"
    response = _example(schema)
    response |= {
        "number": one.number,
        "html_url": forge.url_of(one),
        "title": one.title,
        "body": one.body or None,
        "state": "open" if is_open else "closed",
        "user": _user(one.author),
        "updated_at": _time(one.updated),
        "closed_at": _time(one.ended) if one.ended else None,
        "merged_at": _time(one.updated) if is_merged else None,
        # For an open pull request, GitHub returns a test merge.
        "merge_commit_sha": one.merge_sha or "e" * 40,
        # The published example of a team lacks fields that the published schema requires.
        "requested_teams": [],
    }
    ends: Iterable[tuple[str, str, str]] = (
        ("head", one.head, one.last_head),
        ("base", one.target, forge.state.tip(one.target) or ""),
    )
    for end, branch, sha in ends:
        response[end] |= {"ref": branch, "label": f"ana:{branch}", "sha": sha}
        response[end]["repo"] = copy.deepcopy(response["base"]["repo"])
    if schema == "pull-request":
        response |= {"merged": is_merged, "mergeable": forge.state.mergeable(one) if is_open else None}
    return response


def _review(forge: LocalForge, one: PullRequest, review: Review) -> dict[str, Any]:
    response = _example("pull-request-review")
    response |= {
        "id": review.id,
        "user": _user(review.author),
        "body": review.text,
        "state": _VERDICTS[review.verdict],
        "commit_id": review.commit,
        "submitted_at": _time(review.time),
        "html_url": f"{forge.url_of(one)}#pullrequestreview-{review.id}",
    }
    if review.verdict == "pending":
        del response["submitted_at"]
    return response


def _comment(forge: LocalForge, one: PullRequest, comment: Comment) -> dict[str, Any]:
    return _example("issue-comment") | {
        "id": comment.id,
        "user": _user(comment.author),
        "body": comment.text,
        "created_at": _time(comment.time),
        "updated_at": _time(comment.time),
        "html_url": f"{forge.url_of(one)}#issuecomment-{comment.id}",
    }
