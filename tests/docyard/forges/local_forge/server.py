"""The server of the local forge, which runs in a thread, checks tokens, and records requests."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from tests.docyard.forges.local_forge import gitea_api, github_api, gitlab_api
from tests.docyard.forges.local_forge.faults import Fault
from tests.docyard.forges.local_forge.state import ForgeState, PullRequest, RequestRefused

FULL_TOKEN = "forge-7c1d90e2"
"""The token that permits all requests."""

BOT = "docyard-bot"
_READ_ONLY_TOKEN = "reader-5b2f"
_APIS: dict[str, Any] = {"github": github_api, "gitlab": gitlab_api, "gitea": gitea_api}


class ReceivedRequest(NamedTuple):
    """A recorded request and its response. The status is 0 if a fault replaced the response."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int
    response: Any


class LocalForge:
    """A forge of one kind over one bare repository.

    `page_size` is the maximum number of items in a page. The first of the `faults` that matches a request
    applies. `bot` is the name of the user of API requests. `read_only_token` permits only GET requests.
    """

    def __init__(self, kind: str, bare_path: Path) -> None:
        self.kind = kind
        self.state = ForgeState(bare_path)
        self.faults: list[Fault] = []
        self.requests: list[ReceivedRequest] = []
        self.page_size = 2
        self.has_reviewers_endpoint = True
        self.bot = BOT
        self.read_only_token = _READ_ONLY_TOKEN
        self.url = ""
        self.git_path = "ana/teams/docs.git" if kind == "gitlab" else "ana/docs.git"

    def build_url(self, pull_request: PullRequest) -> str:
        """Return the URL of a pull request's page."""
        path = self.git_path.removesuffix(".git")
        segment = {"github": "pull", "gitlab": "-/merge_requests", "gitea": "pulls"}[self.kind]
        return f"https://forge.example/{path}/{segment}/{pull_request.number}"

    def build_page(self, request: Request, items: list[Any], size_parameter: str) -> Response:
        """Return a page of a list, with the headers that name the next page in the APIs' formats."""
        query = request.query_params
        size = min(self.page_size, int(query.get(size_parameter, "20")))
        number = int(query.get("page", "1"))
        headers = {"x-total-count": str(len(items)), "x-ratelimit-remaining": "4999"}
        if number * size < len(items):
            next_url = request.url.include_query_params(page=number + 1)
            url = f"{self.url}{request.scope['raw_path'].decode()}?{next_url.query}"
            headers["link"] = f'<{url}>; rel="next", <{self.url}/last>; rel="last"'
            headers["x-next-page"] = str(number + 1)
        return JSONResponse(items[(number - 1) * size : number * size], headers=headers)

    def build_app(self) -> Any:
        """Return the application: the API with a token check and faults; it records requests."""
        api = _APIS[self.kind]
        api_app = Starlette(
            routes=[Mount(api.PREFIX, routes=api.make_routes(self))],
            exception_handlers={RequestRefused: lambda request, error: api.make_refusal(error)},
        )

        async def handle(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                return
            # GitLab names a project by its path with %2F, which a server decodes, so routes use the raw path.
            scope["path"] = scope["raw_path"].decode() if self.kind == "gitlab" else scope["path"]
            body = await _read_body(receive)
            request = Request(scope, _replay_body(body))
            fault = next((candidate for candidate in self.faults if candidate.matches(request)), None)
            if fault is not None:
                fault.times -= 1
            replacing_fault = fault if fault is not None and fault.kind != "after_request" else None
            if replacing_fault is not None:
                self._record(request, body, 0, None)
                await (await replacing_fault.create_response(Request(scope, receive)))(scope, receive, send)
                return
            refusal = self._check_token(request, api.read_token(request))
            if refusal is not None:
                self._record(request, body, refusal.status_code, None)
                await refusal(scope, receive, send)
                return
            messages: list[Any] = []

            async def record_message(message: Any) -> None:
                messages.append(message)

            await api_app(scope, _replay_body(body), record_message)
            status = messages[0]["status"]
            data = b"".join(message.get("body", b"") for message in messages[1:])
            self._record(request, body, status, data)
            if fault is not None:
                await (await Fault(status=fault.status, body=fault.body).create_response(request))(
                    scope, receive, send
                )
                return
            for message in messages:
                await send(message)

        return handle

    def _check_token(self, request: Request, token: str) -> Response | None:
        if token == FULL_TOKEN or (token == self.read_only_token and request.method == "GET"):
            return None
        if token == self.read_only_token:
            return JSONResponse({"message": "Resource not accessible by personal access token"}, 403)
        return JSONResponse({"message": "Bad credentials"}, 401)

    def _record(self, request: Request, body: bytes, status: int, response: bytes | None) -> None:
        self.requests.append(
            ReceivedRequest(
                request.method,
                request.url.path,
                dict(request.query_params),
                json.loads(body) if body else None,
                status,
                json.loads(response) if response else None,
            )
        )


async def _read_body(receive: Callable[[], Awaitable[Any]]) -> bytes:
    body, is_more = b"", True
    while is_more:
        message = await receive()
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
    return body


def _replay_body(body: bytes) -> Callable[[], Awaitable[Any]]:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


@contextmanager
def start_local_forge(kind: str, bare_path: Path) -> Iterator[LocalForge]:
    """Start a forge of a kind ("github", "gitlab", "gitea") over a bare repository, and yield it."""
    forge = LocalForge(kind, bare_path)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    forge.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        forge.build_app(),
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the local forge has not started"
            time.sleep(0.01)
        yield forge
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
