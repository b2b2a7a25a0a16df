"""Webhooks for the served branch: each triggers an exchange with its remote and its forge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from docyard.forges.errors import ForgeError
from docyard.forges.open_forge import find_forge_repository
from docyard.forges.pull_request_sync import check_result_to_data
from docyard.forges.webhooks.events import read_repository
from docyard.forges.webhooks.receiver import WebhookResponse, respond
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.forges.forge_repository import ForgeAccess
    from docyard.forges.webhooks.events import EventScope
    from docyard.forges.webhooks.exchange_queue import ExchangeQueue, ExchangeResult
    from workspace.workspace import Workspace

_EXCHANGE_TIMEOUT_S = 20.0  # then the response is 503; GitHub waits for only 10 s
_RETRY_AFTER_S = "30"


class BranchWebhooks:
    """The webhooks of one served branch, from the forge in its settings.

    `access` returns the forge settings of the environment. `timeout_s` limits the wait for an exchange.
    """

    def __init__(
        self,
        workspace: Workspace,
        exchanges: ExchangeQueue,
        access: Callable[[], ForgeAccess],
        *,
        timeout_s: float = _EXCHANGE_TIMEOUT_S,
    ) -> None:
        self._workspace = workspace
        self._exchanges = exchanges
        self._access = access
        self._timeout_s = timeout_s

    def check_repository(self, forge: str, data: dict[str, Any]) -> WebhookResponse | None:
        """Return the refusal if a webhook is not for the served repository; else None."""
        try:
            repository = find_forge_repository(self._workspace, self._access())
        except WorkspaceError as error:  # for example, no token is set
            return _respond_retry(error)
        if repository is None or repository.kind != forge:
            fix = f'Set [forge] kind = "{forge}" in docyard.toml, or use the webhook URL of that forge.'
            return respond(404, f"the forge of the repository is not {forge}", fix)
        own_path, webhook_path = "/".join(repository.segments), read_repository(forge, data)
        if webhook_path is None or webhook_path.casefold() != own_path.casefold():
            return respond(
                422,
                f"the webhook is not for {own_path}, the served repository",
                "Remove it from that repository.",
            )
        return None

    async def apply(self, forge: str, data: dict[str, Any], scope: EventScope) -> WebhookResponse:
        """Run an exchange, and return its result; status 503 if it failed or takes too long."""
        future = asyncio.wrap_future(self._exchanges.request(scope))
        try:
            # Other requests share the exchange, so a timeout must not cancel it.
            result = await asyncio.wait_for(asyncio.shield(future), self._timeout_s)
        except TimeoutError:
            message = f"the exchange takes more than {self._timeout_s:g} seconds"
            return respond(503, message, "Send the webhook again.", {"Retry-After": _RETRY_AFTER_S})
        if not result.is_applied:
            return _respond_retry(_get_error(result))
        sync_result = result.sync_result
        return WebhookResponse(
            200,
            {
                "commit": sync_result.commit if sync_result is not None else None,
                "followed": check_result_to_data(result.check_result),
            },
        )


def _get_error(result: ExchangeResult) -> WorkspaceError:
    if result.error is not None:
        return result.error
    if result.check_result is not None and result.check_result.error is not None:
        return result.check_result.error
    state = result.sync_result.state.value if result.sync_result is not None else "unknown"
    return WorkspaceError(
        f"the served branch is {state} after the fetch", fix="Run `docyard sync`, which shows the next step."
    )


def _respond_retry(error: WorkspaceError) -> WebhookResponse:
    """Return the response to a webhook that was not applied, after which the forge sends it again."""
    retry_after = error.details.get("retry_after") if isinstance(error, ForgeError) else None
    seconds = str(int(retry_after) + 1) if isinstance(retry_after, int | float) else _RETRY_AFTER_S
    return respond(503, error.message, error.fix, {"Retry-After": seconds})
