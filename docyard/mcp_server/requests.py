"""The execution of requests other than tool calls in worker threads. Their errors become protocol errors."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from docyard.mcp_server.calls import Workers, WorkRejected, escape_surrogates
from tools.dispatcher import Dispatcher
from tools.tool import Context
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from tools.prompts.prompt import OfferedPrompts

log = logging.getLogger("docyard")

T = TypeVar("T")

_REPORTED_DETAILS = ("nearest", "field")
_MAX_TEXT_CHARACTERS = 500


class Requests:
    """The requests of one server, run in its workers. Each request reads the current index."""

    def __init__(self, dispatcher: Dispatcher, workers: Workers) -> None:
        self._dispatcher = dispatcher
        self._workers = workers

    def context(self) -> Context:
        """Return the current read context."""
        return self._dispatcher.context()

    async def run_with_context(self, work: Callable[[Context], T]) -> T:
        """Run work with the current read context, and return its result.

        Raises MCPError: with a fix for an expected error, with a reference for a bug.
        """

        def run() -> T:
            return work(self._dispatcher.context())

        return await self.run(run)

    async def run_with_prompts(self, work: Callable[[OfferedPrompts[Any]], T]) -> T:
        """Run work with the prompts that are offered now, and return its result.

        Raises the errors of `run_with_context`.
        """
        return await self.run(lambda: work(self._dispatcher.list_prompts()))

    async def run(self, work: Callable[[], T]) -> T:
        """Run work that needs no read context, and return its result.

        Raises the errors of `run_with_context`.
        """
        try:
            return await self._workers.run(work)
        except WorkspaceError as error:
            raise to_mcp_error(error) from None
        except WorkRejected:
            raise
        except Exception:
            reference = secrets.token_hex(4)
            log.exception("a request failed, reference %s", reference)
            raise MCPError(
                code=INTERNAL_ERROR,
                message="The request failed because of a bug in Docyard, not because of the request. "
                f"The server's log has the details under {reference}.",
                data={"code": "INTERNAL_ERROR", "reference": reference},
            ) from None


def to_mcp_error(error: WorkspaceError) -> MCPError:
    """Convert an error that a client can fix to an error for invalid parameters.

    MCP 2026-07-28, "Resources", error handling: -32602 for a resource that does not exist.
    """
    message, fix = escape_invisible(error.message), escape_invisible(error.fix)
    data: dict[str, Any] = {"code": error.code}
    if fix:
        data["fix"] = fix[:_MAX_TEXT_CHARACTERS]
    data.update({name: error.details[name] for name in _REPORTED_DETAILS if error.details.get(name)})
    return MCPError(
        code=INVALID_PARAMS,
        message=escape_surrogates(f"{message[:_MAX_TEXT_CHARACTERS]}. {fix[:_MAX_TEXT_CHARACTERS]}".strip()),
        data=escape_surrogates(data),
    )
