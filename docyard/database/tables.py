"""The tables of a server's database. Times are milliseconds since 1970 (UTC).

An organization owns servers and namespaces. Composite foreign keys contain the organization, so SQL itself
refuses a row that connects two organizations.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from docyard.database.ids import LONG_ID_CHARACTERS, create_id, read_clock_ms

METADATA = MetaData(
    naming_convention={
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "pk": "%(table_name)s_pkey",
    }
)


def _id_column(prefix: str, characters: int | None = None) -> Column[str]:
    create = partial(create_id, prefix) if characters is None else partial(create_id, prefix, characters)
    return Column("id", Text, primary_key=True, default=create)


def _time_column(name: str = "created_at") -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=read_clock_ms)


def _organization_column() -> Column[str]:
    return Column("organization_id", Text, ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False)


def _owned_by_server() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["mcp_server_id", "organization_id"],
        ["mcp_servers.id", "mcp_servers.organization_id"],
        ondelete="CASCADE",
    )


def _owned_by_namespace() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["namespace_id", "organization_id"],
        ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
        ondelete="CASCADE",
    )


ORGANIZATIONS = Table(
    "organizations",
    METADATA,
    _id_column("org"),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False, default=""),
    _time_column(),
)

SERVERS = Table(
    "mcp_servers",
    METADATA,
    _id_column("mcp"),
    _organization_column(),
    Column("slug", Text, nullable=False),
    Column("name", Text, nullable=False, default=""),
    # A host in lower case, with its port if that is not the default one.
    Column("host", Text, unique=True),
    Column("contextual_search", Boolean, nullable=False, default=False),
    Column("tool_prefix", Text, nullable=False, default=""),
    Column("max_tokens", Integer, nullable=False, default=5_000),
    _time_column(),
    UniqueConstraint("organization_id", "slug"),
    UniqueConstraint("id", "organization_id"),
)

NAMESPACES = Table(
    "retrieval_namespaces",
    METADATA,
    _id_column("ns"),
    _organization_column(),
    Column("name", Text, nullable=False),
    # The fields of a source, as in a file of sources: repo, artifact or url, ref, folder, description, ...
    Column("settings", JSON, nullable=False),
    _time_column(),
    UniqueConstraint("organization_id", "name"),
    UniqueConstraint("id", "organization_id"),
)

ASSOCIATIONS = Table(
    "mcp_server_documentation_namespaces",
    METADATA,
    _id_column("msdn"),
    Column("mcp_server_id", Text, nullable=False, index=True),
    Column("namespace_id", Text, nullable=False, index=True),
    _organization_column(),
    _time_column(),
    UniqueConstraint("mcp_server_id", "namespace_id"),
    _owned_by_server(),
    _owned_by_namespace(),
)

GROUP_RULES = Table(
    "group_rules",
    METADATA,
    _id_column("gr"),
    _organization_column(),
    # The name of a group in tokens; "*" is everyone, also without a token.
    Column("group_name", Text, nullable=False),
    # The beginning of the names of namespaces; empty for all.
    Column("namespace_prefix", Text, nullable=False, default=""),
    Column("role", Text, nullable=False),
    _time_column(),
    UniqueConstraint("organization_id", "group_name", "namespace_prefix"),
    CheckConstraint("role IN ('none', 'reader', 'writer', 'admin')", name="role"),
)

ACCESS_TOKENS = Table(
    "access_tokens",
    METADATA,
    _id_column("tok"),
    # None for a token of the operator, which is valid for all organizations.
    Column("organization_id", Text, ForeignKey("organizations.id", ondelete="CASCADE")),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("scopes", JSON, nullable=False),
    Column("group_names", JSON, nullable=False),
    _time_column(),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    UniqueConstraint("organization_id", "name"),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    # The SHA-256 of the value of a browser's cookie.
    Column("digest", Text, primary_key=True),
    # The key of the principal who signed in, and what the sign-in proved.
    Column("principal", Text, nullable=False),
    Column("principal_name", Text, nullable=False),
    # The slug of the organization of the principal.
    Column("organization", Text),
    Column("group_names", JSON, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("is_operator", Boolean, nullable=False, default=False),
    # That of the access token; empty for a user of an identity provider.
    Column("token_digest", Text, nullable=False),
    Column("expires_at", BigInteger),
    _time_column(),
    _time_column("last_used_at"),
)

SEARCH_QUERIES = Table(
    "documentation_search_queries",
    METADATA,
    _id_column("dsq", LONG_ID_CHARACTERS),
    Column("mcp_server_id", Text, nullable=False),
    # The key of the principal; an address for a session without one.
    Column("mcp_server_user_id", Text),
    Column("mcp_server_session_id", Text),
    Column("namespace_id", Text, nullable=False),
    _organization_column(),
    # The words, or `hash:` and a keyed hash of them, as the mode of the records says.
    Column("query_text", Text, nullable=False),
    Column("search_type", Text, nullable=False),
    Column("result_count", Integer, nullable=False, default=0),
    Column("walkthrough_id", Text),
    Column("walkthrough_step_id", Text),
    Column("response_time_ms", Integer),
    # 32-bit floats, in the byte order of the machine; stored only if the operator asks for them.
    Column("query_embedding", LargeBinary),
    _time_column(),
    Column("commit", Text),
    # The number of searched namespaces. With several, `namespace_id` is that of the best result.
    Column("namespace_count", Integer, nullable=False, default=1),
    Column("cache_hit", Boolean, nullable=False, default=False),
    Column("clicked", Boolean, nullable=False, default=False),
    # The words of the question that occur nowhere; None if words are not recorded.
    Column("missing_words", JSON(none_as_null=True)),
    CheckConstraint("search_type IN ('vector', 'bm25', 'hybrid')", name="search_type"),
    _owned_by_server(),
    _owned_by_namespace(),
    Index("documentation_search_queries_namespace_idx", "namespace_id", "created_at"),
    Index("documentation_search_queries_walkthrough_idx", "walkthrough_id", "walkthrough_step_id"),
    Index("documentation_search_queries_session_idx", "mcp_server_session_id"),
    Index("documentation_search_queries_organization_idx", "organization_id", "created_at"),
)

# The counts below are sums of rows of the table above. `docyard.records.counts` changes both together.

SEARCH_COUNTS = Table(
    "documentation_search_counts",
    METADATA,
    # Every column but the last two is part of the key.
    Column("organization_id", Text, ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("mcp_server_id", Text, primary_key=True),
    # Empty for questions in several namespaces, which belong to none of them.
    Column("namespace_id", Text, primary_key=True),
    # "hour" or "day", which begins at `start` (UTC).
    Column("unit", Text, primary_key=True),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    # The searches took less than this time, and at least that of the bucket below.
    Column("latency_below_ms", Integer, primary_key=True, autoincrement=False),
    Column("searches", Integer, nullable=False),
    Column("empty_searches", Integer, nullable=False),
    _owned_by_server(),
    Index("documentation_search_counts_period_idx", "organization_id", "unit", "start"),
)

TERM_COUNTS = Table(
    "documentation_term_counts",
    METADATA,
    Column("organization_id", Text, ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    # "question", "unanswered" (a question without results) or "missing" (a word that occurs nowhere).
    Column("kind", Text, primary_key=True),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, primary_key=True),
    Column("namespace_id", Text, primary_key=True),
    Column("searches", Integer, nullable=False),
    # The rows of a day are together on disk.
    sqlite_with_rowid=False,
)

TERM_TOTALS = Table(
    "documentation_term_totals",
    METADATA,
    Column("organization_id", Text, ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", Text, primary_key=True),
    # That of the text. A text is too long for an index.
    Column("digest", Text, primary_key=True),
    Column("namespace_id", Text, primary_key=True),
    Column("text", Text, nullable=False),
    # The sum of the counts of all days.
    Column("searches", Integer, nullable=False),
    Index("documentation_term_totals_searches_idx", "organization_id", "kind", "searches", "digest"),
)

TOOL_CALLS = Table(
    "tool_calls",
    METADATA,
    _id_column("tcl", LONG_ID_CHARACTERS),
    _organization_column(),
    Column("mcp_server_id", Text, nullable=False),
    Column("mcp_server_user_id", Text),
    Column("mcp_server_session_id", Text),
    Column("tool", Text, nullable=False),
    # "ok", or the code of the error.
    Column("outcome", Text, nullable=False),
    Column("response_time_ms", Integer, nullable=False),
    _time_column(),
    _owned_by_server(),
    Index("tool_calls_organization_idx", "organization_id", "created_at"),
)

PROBLEM_REPORTS = Table(
    "problem_reports",
    METADATA,
    _id_column("rpt", LONG_ID_CHARACTERS),
    _organization_column(),
    Column("namespace_id", Text, nullable=False),
    Column("mcp_server_user_id", Text),
    Column("address", Text, nullable=False),
    Column("problem", Text, nullable=False),
    Column("suggestion", Text, nullable=False, default=""),
    Column("is_resolved", Boolean, nullable=False, default=False),
    _time_column(),
    _owned_by_namespace(),
    Index("problem_reports_organization_idx", "organization_id", "created_at"),
)

NOTIFIED_EVENTS = Table(
    "notified_events",
    METADATA,
    Column("namespace_id", Text, primary_key=True),
    # That of the activity; `start` for the moment at which the server began to notify.
    Column("event_id", Text, primary_key=True),
    _organization_column(),
    # The later of the time of the event, and the time at which the server found it.
    Column("time", BigInteger, nullable=False),
    _owned_by_namespace(),
)

NOTIFICATIONS = Table(
    "notifications",
    METADATA,
    _id_column("ntf", LONG_ID_CHARACTERS),
    _organization_column(),
    Column("namespace_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("channel", Text, nullable=False),
    # The name of a person in the operator's settings; empty for the webhook.
    Column("recipient", Text, nullable=False),
    # The facts that are sent, as JSON. Addresses and secrets are those of the settings at the delivery.
    Column("content", Text, nullable=False),
    Column("state", Text, nullable=False, default="waiting"),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_attempt_at", BigInteger, nullable=False),
    # The reason of the last failed attempt.
    Column("reason", Text, nullable=False, default=""),
    Column("ended_at", BigInteger),
    _time_column(),
    UniqueConstraint("namespace_id", "event_id", "channel", "recipient"),
    CheckConstraint("channel IN ('webhook', 'email')", name="channel"),
    CheckConstraint("state IN ('waiting', 'delivered', 'failed')", name="state"),
    _owned_by_namespace(),
    Index("notifications_state_idx", "namespace_id", "state", "next_attempt_at"),
)

OPT_OUTS = Table(
    "record_opt_outs",
    METADATA,
    # The key of a principal, or `client:` and the name of a client.
    Column("key", Text, primary_key=True),
    _time_column(),
)

AUDIT_LOG = Table(
    "audit_log",
    METADATA,
    # The number of the entry; an entry's hash contains the hash of the entry before.
    Column("number", Integer, primary_key=True, autoincrement=False),
    _time_column(),
    Column("organization", Text),
    Column("principal", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("object", Text, nullable=False, default=""),
    Column("outcome", Text, nullable=False, default="ok"),
    Column("hash", Text, nullable=False),
)
