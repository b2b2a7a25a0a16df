"""The settings of a server of organizations, or of a team's repository, as values.

    [http]
    listen = "127.0.0.1:8000"
    allow_hosts = ["docs.example.org"]

    [database]
    url = "sqlite:///server.sqlite"           or postgresql://USER@HOST/NAME

    [engine]
    url = "postgresql://USER@HOST/NAME"       a database for the indexes of several nodes; else files
    node_url = "http://10.0.0.2:8000"         where other nodes reach this one, so that all of them write

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

    [notify]                                  for a server of one repository
    webhook_url = "https://hooks.example.org/docyard"
    smtp_host = "smtp.example.org"
    smtp_from = "docyard@example.org"
    reminder_days = 3

    [[notify.people]]
    person = "ana"                            the name of their token, or their address in Git
    email = "ana@example.org"

Paths are relative to the folder of the file. The variable `DOCYARD_SERVER__DATABASE__URL` overrides the
setting `url` of [database], and so on. Secrets are set by variables only.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

if TYPE_CHECKING:
    from index.postgres.options import EngineOptions


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


def _check_node_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_valid = parts.port != 0 and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("must be a URL such as http://10.0.0.2:8000, without user, query and fragment")
    return text.rstrip("/")


NodeUrl = Annotated[Text, AfterValidator(_check_node_url)]


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


class EngineSection(Section):
    """The storage of search indexes: files of each node, or a database of PostgreSQL that nodes share."""

    url: Text | None = Field(default=None, examples=["postgresql://docyard@db.example.org/docyard"])
    """`postgresql://USER@HOST,HOST/NAME`. Not set: files. A URL with a password is set by the variable."""
    read_url: Text | None = Field(default=None, examples=["postgresql://docyard@replica.example.org/docyard"])
    """The URL of a replica, from which indexes are read. Not set: they are read from `url`."""
    node_url: NodeUrl | None = Field(default=None, examples=["http://10.0.0.2:8000"])
    """The URL at which other nodes reach this one, if several write a repository. Not set: only one does."""
    max_lag: Annotated[int, Field(ge=1, le=86_400)] = 600
    """The seconds after which a node whose index lags behind is not ready, for `/readyz`."""

    def create_options(self) -> EngineOptions:
        """Return the storage of indexes. Raises InvalidEngine."""
        from index.postgres.options import create_engine_options

        return create_engine_options(self.url, self.read_url, self.max_lag)

    @model_validator(mode="after")
    def _check_urls(self) -> EngineSection:
        for url in (self.url, self.read_url):
            if url is not None and not url.startswith(("postgresql://", "postgres://")):
                raise ValueError("must have URLs that begin with postgresql://")
        if self.read_url is not None and self.url is None:
            raise ValueError("must have the url of the database that is written, not only read_url")
        if self.node_url is not None and self.url is None:
            raise ValueError("must have the url of the database with node_url: nodes agree in it who writes")
        return self


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


_MIN_SIGNING_SECRET_CHARACTERS = 16
_MAX_SIGNING_SECRETS = 2
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


def _check_email_address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("must be an e-mail address of ASCII characters without a name")
    return text


def _check_host(text: str) -> str:
    if not _HOST_NAME.fullmatch(text):
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise ValueError("must be the name of a host, or its address, of ASCII characters") from None
    return text


def _check_webhook_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        _check_host(parts.hostname or "")
        is_valid = parts.port != 0 and parts.scheme in ("http", "https") and re.fullmatch("[!-~]+", text)
    except ValueError:
        is_valid = None
    if not is_valid:
        raise ValueError("must be a URL of ASCII characters that begins with https://")
    if "@" in parts.netloc or parts.fragment:
        raise ValueError("must have no user, no password and no fragment")
    return text


EmailAddress = Annotated[Text, AfterValidator(_check_email_address)]
Host = Annotated[Text, AfterValidator(_check_host)]
WebhookUrl = Annotated[Text, AfterValidator(_check_webhook_url)]
Days = Annotated[int, Field(ge=1, le=365)]
IntervalDays = Annotated[int, Field(ge=1, le=30)]
EventName = Literal[
    "submitted", "commented", "mentioned", "approved", "changes_requested", "merged", "reminder"
]


class NotifiedPerson(Section):
    """A person who gets e-mail: their name in the repository, and the address to send to."""

    person: Text = Field(examples=["ana"])
    """The name of the person's token in the repository, or their e-mail address in its commits."""
    email: EmailAddress = Field(examples=["ana@example.org"])
    """The address to which notifications are sent."""


class MissingHalf(NamedTuple):
    """A setting of [notify] in the file and a secret in a variable, of which one is missing."""

    setting: str
    secret: str
    message: str

    @property
    def variable(self) -> str:
        """The variable of the secret."""
        return f"DOCYARD_SERVER__NOTIFY__{self.secret.upper()}"

    @property
    def fix(self) -> str:
        """The fix, which can be typed."""
        return (
            f"Set both: notify.{self.setting} in the file, and the variable {self.variable}, which the file "
            "must not contain."
        )


class NotifySection(Section):
    """Notifications of the proposals of a repository: a webhook, and e-mail. Only the operator sets them."""

    webhook_url: WebhookUrl | None = Field(default=None, examples=["https://hooks.example.org/docyard"])
    """The URL that receives each event as JSON. `http://` only to a host in `private_hosts`."""
    webhook_secret: SecretStr | None = None
    """The key of the signatures: at least 16 characters. While it changes: new, comma, old."""
    private_hosts: tuple[Host, ...] = Field(default=(), examples=[("hooks.internal",)])
    """The hosts of `webhook_url` that may have a private address, or no HTTPS."""
    events: tuple[EventName, ...] = Field(
        default=get_args(EventName), examples=[("submitted", "changes_requested", "reminder")]
    )
    """The events of which people and the webhook are notified."""
    smtp_host: Host | None = Field(default=None, examples=["smtp.example.org"])
    """The server that sends e-mail."""
    smtp_port: Annotated[int, Field(ge=1, le=65_535)] = 587
    """The port of this server: usually 587 with `starttls`, 465 with `tls`."""
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """The encryption of the connection. With `none`, no password is sent."""
    smtp_user: Text | None = Field(default=None, examples=["docyard"])
    """The user at this server. Without it, the connection has no login."""
    smtp_password: SecretStr | None = None
    """The password of this user."""
    smtp_from: EmailAddress | None = Field(default=None, examples=["docyard@example.org"])
    """The sender of e-mail."""
    reminder_days: Days | None = Field(default=None, examples=[3])
    """The days after which people are reminded of a review that waits for them. Not set: never."""
    reminder_interval_days: IntervalDays = 7
    """The days between two reminders of a review."""
    people: tuple[NotifiedPerson, ...] = ()
    """The people who get e-mail. Others get none."""

    @property
    def signing_secrets(self) -> tuple[str, ...]:
        """The keys of signatures, the newest first."""
        secrets = read_secret_value(self.webhook_secret).split(",")
        return tuple(stripped for secret in secrets if (stripped := secret.strip()))

    def find_missing_halves(self) -> list[MissingHalf]:
        """Return the settings that need a secret of a variable, and the secrets that need a setting.

        A server does not start then. A command that sends nothing needs no secret, so it can show the rest.
        """
        halves = []
        if (self.webhook_url is None) != (not self.signing_secrets):
            message = "must have webhook_url and webhook_secret together: each webhook is signed"
            halves.append(MissingHalf("webhook_url", "webhook_secret", message))
        if (self.smtp_user is None) != (not read_secret_value(self.smtp_password)):
            message = "must have smtp_user and smtp_password together"
            halves.append(MissingHalf("smtp_user", "smtp_password", message))
        return halves

    @property
    def is_enabled(self) -> bool:
        """True if anything is sent."""
        return self.webhook_url is not None or self.smtp_host is not None

    def is_private_host(self, host: str) -> bool:
        """Return True if a host may have a private address, or no HTTPS."""
        return host.lower() in (name.lower() for name in self.private_hosts)

    @model_validator(mode="after")
    def _check_webhook(self) -> NotifySection:
        secrets = self.signing_secrets
        if len(secrets) > _MAX_SIGNING_SECRETS or any(
            len(secret) < _MIN_SIGNING_SECRET_CHARACTERS for secret in secrets
        ):
            raise ValueError(
                f"must have a webhook_secret of at least {_MIN_SIGNING_SECRET_CHARACTERS} characters, or two "
                "with a comma between them"
            )
        if self.webhook_url is None:
            return self
        url = urlsplit(self.webhook_url)
        if url.scheme != "https" and not self.is_private_host(url.hostname or ""):
            raise ValueError("must have a webhook_url with https://, unless its host is in private_hosts")
        return self

    @model_validator(mode="after")
    def _check_email(self) -> NotifySection:
        if self.smtp_host is not None and self.smtp_from is None:
            raise ValueError("must have smtp_from, the sender, with smtp_host")
        if self.people and self.smtp_host is None:
            raise ValueError("must have smtp_host with people")
        if self.smtp_user is not None and self.smtp_security == "none":
            raise ValueError('must not have smtp_security = "none" with a password: anyone could read it')
        names = [person.person.casefold() for person in self.people]
        if len(set(names)) < len(names):
            raise ValueError("must name each person once in people")
        return self


def read_secret_value(secret: SecretStr | None) -> str:
    """Return a secret; empty if it is not set."""
    return "" if secret is None else secret.get_secret_value()
