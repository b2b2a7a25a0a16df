"""A minimal server of one short page, for comparison with Docyard's pages."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route


async def get_page(request: Request) -> HTMLResponse:
    """Return a page of a few kilobytes."""
    return HTMLResponse("<!doctype html><title>Minimal</title>" + "<p>Nothing.</p>" * 300)


def serve() -> None:
    """Print the address, and run the server until the process is terminated."""
    # Without an explicit protocol number, the event loop delays small responses.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
        server = uvicorn.Server(
            uvicorn.Config(Starlette(routes=[Route("/", get_page)]), log_level="warning", access_log=False)
        )
        server.run(sockets=[listener])


if __name__ == "__main__":
    serve()
