"""Webhooks for the sources of a server: each push triggers a fetch of the sources with that repository."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from docyard.forges.webhooks.events import read_repository
from docyard.forges.webhooks.receiver import WebhookResponse, respond, respond_ignored

if TYPE_CHECKING:
    from docyard.forges.webhooks.events import EventScope
    from index.sources.source import Source
    from index.sources.sources import Sources


class SourceWebhooks:
    """The webhooks of the forges of the sources.

    `request_fetch` requests a fetch of some sources without blocking. A failed fetch is repeated at the
    interval of the source, so no webhook is sent again for it.
    """

    def __init__(self, sources: Sources, request_fetch: Callable[[Collection[Source]], object]) -> None:
        self._sources = sources
        self._request_fetch = request_fetch

    def check_repository(self, forge: str, data: dict[str, Any]) -> WebhookResponse | None:
        """Return the refusal if no source has the webhook's repository; else None."""
        if self._find_sources(forge, data):
            return None
        return respond(
            422, "no source of this server has the webhook's repository", "Remove it from that repository."
        )

    async def apply(self, forge: str, data: dict[str, Any], scope: EventScope) -> WebhookResponse:
        """Request a fetch of the repository's sources if it was pushed to, and return their names."""
        if not scope.is_push:
            return respond_ignored()
        sources = self._find_sources(forge, data)
        self._request_fetch(sources)
        return WebhookResponse(200, {"sources": [source.name for source in sources]})

    def _find_sources(self, forge: str, data: dict[str, Any]) -> list[Source]:
        path = read_repository(forge, data)
        if path is None or "/" not in path:  # a forge names the owner and the repository
            return []
        return [source for source in self._sources if _has_path(source, path)]


def _has_path(source: Source, path: str) -> bool:
    """Return True if the URL of a source ends with the path of a repository on its forge."""
    url = (source.settings.url or "").rstrip("/").removesuffix(".git").rstrip("/").casefold()
    return url.endswith((f"/{path.casefold()}", f":{path.casefold()}"))
