"""Which webhooks were answered already: a bounded memory of their ids and their bodies."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

_MOST = 2_000
_BODY_SECONDS = 600.0
"""How long the same body counts as the same webhook, whatever id it comes with; a signature covers no id."""

_ID_SECONDS = 3 * 86_400.0
_ID_LENGTH = 200
_IDS = {
    "github": ("x-github-delivery",),
    "gitea": ("x-gitea-delivery", "x-forgejo-delivery", "x-github-delivery"),
    "gitlab": ("idempotency-key", "webhook-id", "x-gitlab-event-uuid"),
}


class Deliveries:
    """Webhooks that were done. One that could not be done is not kept: the forge sends it again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def is_done(self, forge: str, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether a webhook of this id, or lately of this very body, was done."""
        now = self._clock()
        return any(self._until.get(key, now) > now for key, _ in _keys(forge, headers, body))

    def done(self, forge: str, headers: Mapping[str, str], body: bytes) -> None:
        """Remember a webhook; the oldest is forgotten for it."""
        now = self._clock()
        for key, seconds in _keys(forge, headers, body):
            self._until[key] = now + seconds
            self._until.move_to_end(key)
        while len(self._until) > _MOST:
            self._until.popitem(last=False)


def _keys(forge: str, headers: Mapping[str, str], body: bytes) -> list[tuple[str, float]]:
    keys = [(f"body:{hashlib.sha256(body).hexdigest()}", _BODY_SECONDS)]
    id = next((headers[name] for name in _IDS[forge] if headers.get(name)), "")
    if 0 < len(id) <= _ID_LENGTH:
        keys.append((f"{forge}:{id}", _ID_SECONDS))
    return keys
