"""The settings of a server of organizations, or of a team's repository, as values.

    [http]
    listen = "127.0.0.1:8000"
    allow_hosts = ["docs.example.org"]

    [database]
    url = "sqlite:///server.sqlite"           or postgresql://USER@HOST/NAME

    [operator]
    roots = ["/srv/git"]                      the folders in which administrators may name repositories
    url_hosts = ["github.com"]                the hosts whose URLs they may name

    [identity]
    issuer = "https://login.example.org"
    audience = "https://docs.example.org"
    client_id = "docyard"                     with it, people sign in on the pages
    sign_in_scopes = ["openid", "profile"]
    groups_claim = "groups"
    organization_claim = "organization"

    [[identity.rules]]
    group = "staff"                           the name of a group in tokens, or "*" for every user
    role = "reader"                           none, reader, writer, admin; for a server of one repository

    [[identity.people]]
    issuer = "https://login.example.org"
    subject = "248289761001"
    person = "ana"                            the name of their token in the repository

    [records]
    mode = "hash"
    retention_days = 90

    [limits]
    searches_per_minute = 120

    [telemetry]
    metrics = true
    log_format = "json"

Paths are relative to the folder of the file. The variable `DOCYARD_SERVER__DATABASE__URL` overrides the
setting `url` of [database], and so on. Secrets are set by variables only.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


class Section(BaseModel):
    """A table of the file. Unknown settings are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Rate = Annotated[int, Field(ge=1, le=1_000_000)]


class HttpSection(Section):
    """The address of the server, and its names."""

    listen: Text = "127.0.0.1:8000"
    allow_hosts: tuple[Text, ...] = ()
    page_url: Text | None = None
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    trusted_proxies: tuple[Text, ...] = ()


class DatabaseSection(Section):
    """The database of organizations, identities and records."""

    url: Text = "sqlite:///server.sqlite"


class OperatorSection(Section):
    """The places that administrators of organizations may name."""

    roots: tuple[Text, ...] = ()
    url_hosts: tuple[Text, ...] = ()


class MappedPerson(Section):
    """A person whose approvals are sealed: the identity at a provider, and the name of their token."""

    issuer: Text
    subject: Text
    person: Text


class GroupRole(Section):
    """The role of a group at a server of one repository. A user without a role may do nothing."""

    group: Text
    role: Literal["none", "reader", "writer", "admin"]


class IdentitySection(Section):
    """The identity provider. Without an issuer, only tokens of Docyard are accepted."""

    issuer: Text | None = None
    audience: Text | None = None
    client_id: Text | None = None
    client_secret: SecretStr | None = None
    groups_claim: Text = "groups"
    organization_claim: Text = "organization"
    sign_in_scopes: tuple[Text, ...] = ("openid", "profile")
    rules: tuple[GroupRole, ...] = ()
    people: tuple[MappedPerson, ...] = ()


class RecordsSection(Section):
    """The records of searches and calls."""

    mode: Literal["off", "hash", "text"] = "hash"
    retention_days: Annotated[int, Field(ge=1, le=3_650)] = 90
    store_embeddings: bool = False


class LimitsSection(Section):
    """The limits by principal, organization and namespace, for each minute. None is no limit."""

    searches_per_minute: Rate | None = None
    calls_per_minute: Rate | None = None
    writes_per_minute: Rate | None = None
    organization_searches_per_minute: Rate | None = None
    organization_calls_per_minute: Rate | None = None
    organization_writes_per_minute: Rate | None = None
    namespace_searches_per_minute: Rate | None = None
    namespace_calls_per_minute: Rate | None = None
    namespace_writes_per_minute: Rate | None = None
    calls_in_flight: Rate | None = None
    organization_calls_in_flight: Rate | None = None
    requests_per_minute: Rate | None = None

    @model_validator(mode="after")
    def _check_organization_limits(self) -> LimitsSection:
        for name in ("searches_per_minute", "calls_per_minute", "writes_per_minute", "calls_in_flight"):
            own, shared = getattr(self, name), getattr(self, f"organization_{name}")
            if own is not None and shared is not None and shared < own:
                raise ValueError(
                    f"organization_{name} ({shared:,}) must be at least {name} ({own:,}): all callers of "
                    "an organization share it"
                )
        return self


class TelemetrySection(Section):
    """Metrics and logs. `log_content` keeps texts in messages, which may be content of documents."""

    metrics: bool = False
    access_log: bool = False
    log_content: bool = False
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
