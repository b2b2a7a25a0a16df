"""Fields of a forge's JSON, each with the kind that its API documents, and fit to be shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from docyard.forges.errors import ForgeUnclear
from workspace.proposals.events import MAX_TEXT, one_line, plain

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r"[\s<>()\"'`\\^{|}]")
_NAME = 100
_LINE = 500
_URL = 2_000
NOBODY = "ghost"
"""Who wrote what was written by somebody who is gone, as forges show it."""


class Fields:
    """An object of an answer. Each reading raises ForgeUnclear for what is not of its kind."""

    def __init__(self, forge: str, data: object) -> None:
        self._forge = forge
        if not isinstance(data, dict):
            raise ForgeUnclear(forge, "it is no object")
        self._data: dict[str, Any] = data

    def has(self, name: str) -> bool:
        """Whether a field is there, and not null."""
        return self._data.get(name) is not None

    def word(self, name: str) -> str:
        """A text on one line, of at most 500 characters."""
        return one_line(self._text(name))[:_LINE]

    def text(self, name: str) -> str:
        """A text of several lines, as it would be kept; "" for null."""
        found = plain(self._text(name)) if self.has(name) else ""
        return found if len(found) <= MAX_TEXT else found[: MAX_TEXT - 1] + "…"

    def number(self, name: str) -> int:
        """A number above 0."""
        found = self._data.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 < found < 10**18:
            raise self._wrong(name)
        return found

    def flag(self, name: str) -> bool | None:
        """True, false, or None where it is not said."""
        found = self._data.get(name)
        return found if isinstance(found, bool) else None

    def time(self, name: str) -> datetime:
        """A moment, in UTC."""
        try:
            found = datetime.fromisoformat(self._text(name))
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):  # such as the first moment of all, east of Greenwich
            raise self._wrong(name) from None

    def maybe_time(self, name: str) -> datetime | None:
        """A moment, in UTC; None where none is said."""
        return self.time(name) if self.has(name) else None

    def sha(self, name: str) -> str | None:
        """The id of a commit; None where there is none."""
        found = self._data.get(name)
        return found if isinstance(found, str) and _SHA.fullmatch(found) else None

    def url(self, name: str) -> str:
        """A link that may be shown, in Markdown too: to the web, and nowhere else; "" for anything else."""
        found = self._data.get(name)
        if not isinstance(found, str) or not found.isprintable() or len(found) > _URL or _ODD.search(found):
            return ""
        try:
            parts = urlsplit(found)
        except ValueError:
            return ""
        is_web = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        return found if is_web else ""

    def name_of(self, name: str, key: str) -> str:
        """The name of a user, who may be gone."""
        if not self.has(name):
            return NOBODY
        return self.below(name).word(key)[:_NAME] or NOBODY

    def below(self, name: str) -> Fields:
        """An object in a field."""
        return Fields(self._forge, self._data.get(name))

    def each(self, name: str) -> list[Fields]:
        """The objects of a list in a field; none where there is no list."""
        found = self._data.get(name)
        return [Fields(self._forge, one) for one in found] if isinstance(found, list) else []

    def _text(self, name: str) -> str:
        found = self._data.get(name)
        if not isinstance(found, str):
            raise self._wrong(name)
        return _SURROGATE.sub("�", found)

    def _wrong(self, name: str) -> ForgeUnclear:
        return ForgeUnclear(self._forge, f"'{name}' is not as documented")
