"""The first version of the schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "audit_log",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("organization", sa.Text(), nullable=True),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("audit_log_pkey")),
    )
    op.create_table(
        "organizations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("organizations_pkey")),
        sa.UniqueConstraint("slug", name=op.f("organizations_slug_key")),
    )
    op.create_table(
        "record_opt_outs",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("record_opt_outs_pkey")),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("principal_name", sa.Text(), nullable=False),
        sa.Column("organization", sa.Text(), nullable=True),
        sa.Column("group_names", sa.JSON(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("is_operator", sa.Boolean(), nullable=False),
        sa.Column("token_digest", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("sessions_pkey")),
    )
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("group_names", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("access_tokens_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("access_tokens_pkey")),
        sa.UniqueConstraint("digest", name=op.f("access_tokens_digest_key")),
        sa.UniqueConstraint("organization_id", "name", name=op.f("access_tokens_organization_id_name_key")),
    )
    op.create_table(
        "documentation_term_counts",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("day", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("searches", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("documentation_term_counts_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "organization_id",
            "kind",
            "day",
            "digest",
            "namespace_id",
            name=op.f("documentation_term_counts_pkey"),
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "documentation_term_totals",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("searches", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("documentation_term_totals_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "organization_id", "kind", "digest", "namespace_id", name=op.f("documentation_term_totals_pkey")
        ),
    )
    op.create_index(
        "documentation_term_totals_searches_idx",
        "documentation_term_totals",
        ["organization_id", "kind", "searches", "digest"],
        unique=False,
    )
    op.create_table(
        "group_rules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("namespace_prefix", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "role IN ('none', 'reader', 'writer', 'admin')", name=op.f("group_rules_role_check")
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("group_rules_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("group_rules_pkey")),
        sa.UniqueConstraint(
            "organization_id",
            "group_name",
            "namespace_prefix",
            name=op.f("group_rules_organization_id_group_name_namespace_prefix_key"),
        ),
    )
    op.create_table(
        "mcp_servers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("contextual_search", sa.Boolean(), nullable=False),
        sa.Column("tool_prefix", sa.Text(), nullable=False),
        sa.Column("max_tokens", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("mcp_servers_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("mcp_servers_pkey")),
        sa.UniqueConstraint("host", name=op.f("mcp_servers_host_key")),
        sa.UniqueConstraint("id", "organization_id", name=op.f("mcp_servers_id_organization_id_key")),
        sa.UniqueConstraint("organization_id", "slug", name=op.f("mcp_servers_organization_id_slug_key")),
    )
    op.create_table(
        "retrieval_namespaces",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("retrieval_namespaces_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("retrieval_namespaces_pkey")),
        sa.UniqueConstraint(
            "id", "organization_id", name=op.f("retrieval_namespaces_id_organization_id_key")
        ),
        sa.UniqueConstraint(
            "organization_id", "name", name=op.f("retrieval_namespaces_organization_id_name_key")
        ),
    )
    op.create_table(
        "documentation_search_counts",
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("mcp_server_id", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("latency_below_ms", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("searches", sa.Integer(), nullable=False),
        sa.Column("empty_searches", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mcp_server_id", "organization_id"],
            ["mcp_servers.id", "mcp_servers.organization_id"],
            name=op.f("documentation_search_counts_mcp_server_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("documentation_search_counts_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "organization_id",
            "mcp_server_id",
            "namespace_id",
            "unit",
            "start",
            "latency_below_ms",
            name=op.f("documentation_search_counts_pkey"),
        ),
    )
    op.create_index(
        "documentation_search_counts_period_idx",
        "documentation_search_counts",
        ["organization_id", "unit", "start"],
        unique=False,
    )
    op.create_table(
        "documentation_search_queries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("mcp_server_id", sa.Text(), nullable=False),
        sa.Column("mcp_server_user_id", sa.Text(), nullable=True),
        sa.Column("mcp_server_session_id", sa.Text(), nullable=True),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("query_text", sa.Text(), nullable=False),
        sa.Column("search_type", sa.Text(), nullable=False),
        sa.Column("result_count", sa.Integer(), nullable=False),
        sa.Column("walkthrough_id", sa.Text(), nullable=True),
        sa.Column("walkthrough_step_id", sa.Text(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=True),
        sa.Column("query_embedding", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("namespace_count", sa.Integer(), nullable=False),
        sa.Column("cache_hit", sa.Boolean(), nullable=False),
        sa.Column("clicked", sa.Boolean(), nullable=False),
        sa.Column("missing_words", sa.JSON(none_as_null=True), nullable=True),
        sa.CheckConstraint(
            "search_type IN ('vector', 'bm25', 'hybrid')",
            name=op.f("documentation_search_queries_search_type_check"),
        ),
        sa.ForeignKeyConstraint(
            ["mcp_server_id", "organization_id"],
            ["mcp_servers.id", "mcp_servers.organization_id"],
            name=op.f("documentation_search_queries_mcp_server_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id", "organization_id"],
            ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
            name=op.f("documentation_search_queries_namespace_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("documentation_search_queries_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("documentation_search_queries_pkey")),
    )
    op.create_index(
        "documentation_search_queries_namespace_idx",
        "documentation_search_queries",
        ["namespace_id", "created_at"],
        unique=False,
    )
    op.create_index(
        "documentation_search_queries_organization_idx",
        "documentation_search_queries",
        ["organization_id", "created_at"],
        unique=False,
    )
    op.create_index(
        "documentation_search_queries_session_idx",
        "documentation_search_queries",
        ["mcp_server_session_id"],
        unique=False,
    )
    op.create_index(
        "documentation_search_queries_walkthrough_idx",
        "documentation_search_queries",
        ["walkthrough_id", "walkthrough_step_id"],
        unique=False,
    )
    op.create_table(
        "mcp_server_documentation_namespaces",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("mcp_server_id", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mcp_server_id", "organization_id"],
            ["mcp_servers.id", "mcp_servers.organization_id"],
            name=op.f("mcp_server_documentation_namespaces_mcp_server_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id", "organization_id"],
            ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
            name=op.f("mcp_server_documentation_namespaces_namespace_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("mcp_server_documentation_namespaces_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("mcp_server_documentation_namespaces_pkey")),
        sa.UniqueConstraint(
            "mcp_server_id",
            "namespace_id",
            name=op.f("mcp_server_documentation_namespaces_mcp_server_id_namespace_id_key"),
        ),
    )
    op.create_index(
        op.f("mcp_server_documentation_namespaces_mcp_server_id_idx"),
        "mcp_server_documentation_namespaces",
        ["mcp_server_id"],
        unique=False,
    )
    op.create_index(
        op.f("mcp_server_documentation_namespaces_namespace_id_idx"),
        "mcp_server_documentation_namespaces",
        ["namespace_id"],
        unique=False,
    )
    op.create_table(
        "problem_reports",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("mcp_server_user_id", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("suggestion", sa.Text(), nullable=False),
        sa.Column("is_resolved", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id", "organization_id"],
            ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
            name=op.f("problem_reports_namespace_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("problem_reports_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("problem_reports_pkey")),
    )
    op.create_index(
        "problem_reports_organization_idx", "problem_reports", ["organization_id", "created_at"], unique=False
    )
    op.create_table(
        "tool_calls",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("mcp_server_id", sa.Text(), nullable=False),
        sa.Column("mcp_server_user_id", sa.Text(), nullable=True),
        sa.Column("mcp_server_session_id", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("response_time_ms", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mcp_server_id", "organization_id"],
            ["mcp_servers.id", "mcp_servers.organization_id"],
            name=op.f("tool_calls_mcp_server_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("tool_calls_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("tool_calls_pkey")),
    )
    op.create_index(
        "tool_calls_organization_idx", "tool_calls", ["organization_id", "created_at"], unique=False
    )
