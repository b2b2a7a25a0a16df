"""The undocumented attributes and methods of uvicorn that Docyard uses, and their signatures."""

from __future__ import annotations

import asyncio
import inspect

import h11
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState


async def app(scope: object, receive: object, send: object) -> None:
    """Send no response."""


@pytest.mark.anyio
async def test_protocol_has_the_attributes_that_docyard_uses() -> None:
    state = ServerState()
    protocol = H11Protocol(uvicorn.Config(app, http=H11Protocol, log_config=None), state, {})
    assert isinstance(protocol.conn, h11.Connection)
    assert protocol.conn.their_state is h11.IDLE
    assert protocol.cycle is None
    assert protocol.loop is asyncio.get_running_loop()
    assert protocol.connections is state.connections
    assert "transport" in vars(protocol)
    assert "response_complete" in inspect.getsource(RequestResponseCycle.__init__)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (H11Protocol.connection_made, ["self", "transport"]),
        (H11Protocol.data_received, ["self", "data"]),
        (H11Protocol.connection_lost, ["self", "exc"]),
        (H11Protocol.pause_writing, ["self"]),
        (H11Protocol.resume_writing, ["self"]),
        (H11Protocol.on_response_complete, ["self"]),
        (uvicorn.Server.startup, ["self", "sockets"]),
        (uvicorn.Server.shutdown, ["self", "sockets"]),
    ],
)
def test_overridden_methods_have_the_expected_parameters(method: object, parameters: list[str]) -> None:
    assert list(inspect.signature(method).parameters) == parameters  # type: ignore[arg-type]


def test_overridden_methods_are_called_by_uvicorn() -> None:
    assert "self.startup(" in (source := inspect.getsource(uvicorn.Server))
    assert "self.shutdown(" in source
    assert "self.handle_exit" in source
    assert "self.on_response_complete" in inspect.getsource(H11Protocol)


def test_server_has_the_attributes_that_docyard_uses() -> None:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    assert (server.started, server.should_exit, server.force_exit) == (False, False, False)
    assert server.server_state.connections == set()
