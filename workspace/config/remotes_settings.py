"""How a workspace speaks with its remote: the `[remote]` table of `docyard.toml`."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

_SECRETS = ("token", "password", "secret", "key", "user", "username", "credentials")
_PLACES = ("url", "push_url", "pushurl", "host")
_EVERY = re.compile("([0-9]{1,6})(s|m|h|d)?")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SHORTEST = 5
_LONGEST = 86_400 * 7


class RemoteSettings(BaseModel):
    """Which remote is meant, when a server exchanges with it unasked, and how long and how much that takes.

    `name` is a remote of the repository's own Git settings: no document says where anything is sent, and none
    holds a secret. `every` is the time between two exchanges, in seconds, or such as "30s", "5m", "1h"; with
    `push = "commit"` each commit is pushed when its call was answered. Neither is done unless asked for.
    `answer_seconds` is how long the remote may stay silent, `seconds` how long one exchange may take in all,
    `fetch_bytes` how much one fetch may bring.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    name: str | None = Field(default=None, min_length=1, max_length=200)
    every: int | None = None
    push: Literal["commit"] | None = None
    answer_seconds: int = Field(default=30, ge=1, le=600)
    seconds: int = Field(default=600, ge=1, le=86_400)
    fetch_bytes: int = Field(default=2_000_000_000, ge=1_000, le=100_000_000_000)

    @property
    def is_automatic(self) -> bool:
        """Whether a server exchanges with the remote without being asked."""
        return self.every is not None or self.push is not None

    @model_validator(mode="before")
    @classmethod
    def _holds_no_secret(cls, value: Any) -> Any:
        given = value if isinstance(value, dict) else {}
        names = {name.lower() for name in given if isinstance(name, str)}
        if not names.isdisjoint(_SECRETS):
            raise ValueError(
                "must hold no secret, because everyone who reads the repository reads it; put tokens into "
                "DOCYARD_REMOTE_TOKEN or the credential file (docs/remotes.md)"
            )
        if not names.isdisjoint(_PLACES):
            raise ValueError(
                "must not say where anything is sent; git remote add does, and `name` names that remote"
            )
        return value

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("must hold visible characters only")
        if value is not None and ("://" in value or "@" in value):
            raise ValueError("must be the name of a remote, not its URL")
        return value

    @field_validator("every", mode="before")
    @classmethod
    def _in_seconds(cls, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError('must be a number of seconds, or such as "5m"')
        found = _EVERY.fullmatch(str(value))
        if found is None:
            raise ValueError('must be a number of seconds, or such as "30s", "5m", "1h"')
        seconds = int(found[1]) * _SECONDS[found[2] or "s"]
        if not _SHORTEST <= seconds <= _LONGEST:
            raise ValueError(f"must be between {_SHORTEST} seconds and 7 days")
        return seconds
