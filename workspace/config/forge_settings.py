"""Whether proposals become pull requests on a forge: the `[forge]` table of `docyard.toml`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

_SECRETS = ("token", "password", "secret", "key", "user", "username", "credentials", "webhook_secret")
_PLACES = ("url", "api", "api_url", "host", "base", "repository", "owner")


class ForgeSettings(BaseModel):
    """Where it stands, even empty, a proposal that is submitted becomes a pull request.

    The forge is the one on which the remote is. `kind` is needed for a host that is not known: no document
    says where a token is sent, and none holds a secret.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    kind: Literal["github", "gitlab", "gitea"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _holds_neither_secret_nor_place(cls, value: Any) -> Any:
        given = value if isinstance(value, dict) else {}
        names = {name.lower() for name in given if isinstance(name, str)}
        if not names.isdisjoint(_SECRETS):
            raise ValueError(
                "must hold no secret, because everyone who reads the repository reads it; put the token into "
                "DOCYARD_FORGE_TOKEN (docs/forges.md)"
            )
        if not names.isdisjoint(_PLACES):
            raise ValueError(
                "must not say where anything is sent; the forge is the one of Git's remote, or that of "
                "DOCYARD_FORGE_URL"
            )
        return value
