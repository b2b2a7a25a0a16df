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

import ipaddress
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator


class Section(BaseModel):
    """A table of the file. Unknown settings are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


Text = Annotated[str, Field(min_length=1, max_length=2_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Rate = Annotated[int, Field(ge=1, le=1_000_000, examples=[120])]


def _check_network(text: str) -> str:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError("must be an address or a network, such as 127.0.0.1 or 10.0.0.0/8") from None
    if network.prefixlen == 0:
        raise ValueError("must not contain all addresses: every client could then choose its own address")
    return text


class HttpSection(Section):
    """The address of the server, and its names."""

    listen: Text = "127.0.0.1:8000"
    """The address and the port to listen on, such as `127.0.0.1:8000` or `[::1]:8000`."""
    allow_hosts: tuple[Text, ...] = Field(default=(), examples=[("docs.example.org",)])
    """The public host names of the server. Those of organizations are allowed in addition."""
    page_url: Text | None = Field(default=None, examples=["https://docs.example.org"])
    """The URL of the pages, such as `https://docs.example.org`, which hosts open for their users."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """The processes that answer requests. They share the limits per minute."""
    trusted_proxies: tuple[Annotated[Text, AfterValidator(_check_network)], ...] = ("127.0.0.1", "::1")
    """The addresses and networks whose `X-Forwarded-*` headers are trusted."""


class DatabaseSection(Section):
    """The database of organizations, identities and records."""

    url: Text = "sqlite:///server.sqlite"
    """`sqlite:///FILE`, or `postgresql://USER@HOST/NAME`. A URL with a password is set by the variable."""


class OperatorSection(Section):
    """Operators and monitors of the server, and the places that administrators of organizations may name."""

    groups: tuple[Text, ...] = Field(default=(), examples=[("operators",)])
    """The groups of the identity provider whose members operate the server."""
    roots: tuple[Text, ...] = Field(default=(), examples=[("/srv/git",)])
    """The folders in which administrators of organizations may name repositories."""
    url_hosts: tuple[Text, ...] = Field(default=(), examples=[("github.com",)])
    """The hosts whose URLs administrators of organizations may name."""
    token: Annotated[SecretStr, Field(min_length=32)] | None = None
    """The token of monitors, for `/metrics` and the details of `/readyz`: at least 32 characters."""


class MappedPerson(Section):
    """A person whose approvals are sealed: the identity at a provider, and the name of their token."""

    issuer: Text = Field(examples=["https://login.example.org"])
    """The URL of the identity provider."""
    subject: Text = Field(examples=["248289761001"])
    """The claim `sub` of the person in tokens."""
    person: Text = Field(examples=["ana"])
    """The name of the person's token in the repository."""


class GroupRole(Section):
    """The role of a group at a server of one repository. A user without a role may do nothing."""

    group: Text = Field(examples=["staff"])
    """The name of the group in tokens, or `*` for every user."""
    role: Literal["none", "reader", "writer", "admin"] = Field(examples=["reader"])
    """The role of its members."""


class IdentitySection(Section):
    """The identity provider. Without an issuer, only tokens of Docyard are accepted."""

    issuer: Text | None = Field(default=None, examples=["https://login.example.org"])
    """The URL of the identity provider. Without it, only tokens of Docyard are accepted."""
    audience: Text | None = Field(default=None, examples=["https://docs.example.org"])
    """The URL of this server, for which access tokens must be issued."""
    client_id: Text | None = Field(default=None, examples=["docyard"])
    """The client of the pages at the identity provider. With it, people sign in on the pages."""
    client_secret: SecretStr | None = None
    """The secret of this client, if it has one."""
    groups_claim: Text = "groups"
    """The claim of a token that lists groups."""
    organization_claim: Text = "organization"
    """The claim of a token that names the organization."""
    shared_groups: bool = False
    """Let the groups of users without an organization count in all organizations; with one they always do."""
    sign_in_scopes: tuple[Text, ...] = ("openid", "profile")
    """The scopes that the pages request from the identity provider."""
    rules: tuple[GroupRole, ...] = ()
    """The roles of groups at a server of one repository."""
    people: tuple[MappedPerson, ...] = ()
    """The people whose approvals are sealed: issuer, subject, and the name of their repository token."""


class RecordsSection(Section):
    """The records of searches and calls."""

    mode: Literal["off", "hash", "text"] = "hash"
    """`off` records nothing, `hash` a keyed hash of each question and its counts, `text` also its words."""
    retention_days: Annotated[int, Field(ge=1, le=3_650)] = 90
    """The days after which records are deleted."""
    store_embeddings: bool = False
    """Store the vector of each question. Texts can be guessed from vectors, so `mode` must be `text`."""

    @model_validator(mode="after")
    def _check_embeddings(self) -> RecordsSection:
        if self.store_embeddings and self.mode != "text":
            raise ValueError('must not have store_embeddings unless mode is "text": a vector tells the words')
        return self


class LimitsSection(Section):
    """The limits by principal, organization and namespace, for each minute. Not set: no limit."""

    searches_per_minute: Rate | None = None
    """Questions of each caller. Each question of a batch counts."""
    calls_per_minute: Rate | None = None
    """Calls of tools of each caller."""
    writes_per_minute: Rate | None = None
    """Operations of writing tools of each caller."""
    organization_searches_per_minute: Rate | None = None
    """Questions of all callers to servers of an organization."""
    organization_calls_per_minute: Rate | None = None
    """Calls of all callers to servers of an organization."""
    organization_writes_per_minute: Rate | None = None
    """Write operations of all callers to servers of an organization."""
    namespace_searches_per_minute: Rate | None = None
    """Questions in each namespace. A question in all namespaces counts in each."""
    namespace_calls_per_minute: Rate | None = None
    """Calls that name a namespace."""
    namespace_writes_per_minute: Rate | None = None
    """Write operations in a namespace."""
    calls_in_flight: Rate | None = None
    """Calls of a caller that run at the same time."""
    organization_calls_in_flight: Rate | None = None
    """Calls to servers of an organization that run at the same time."""
    requests_per_minute: Rate | None = None
    """Requests from each address, before they are authenticated; an IPv6 network of /64 is one address."""

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
    """Offer `/metrics` in the format of Prometheus."""
    access_log: bool = False
    """Log each request: kind, method, status, duration and bytes, without path, query and address."""
    log_content: bool = False
    """Keep texts in messages of the log. They may be content of documents."""
    log_format: Literal["text", "json"] = "text"
    """The format of the log on standard error."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The least severe messages that are logged."""
