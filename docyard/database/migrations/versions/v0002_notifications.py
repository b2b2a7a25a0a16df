"""The queue of notifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "notified_events",
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id", "organization_id"],
            ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
            name=op.f("notified_events_namespace_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("notified_events_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "event_id", name=op.f("notified_events_pkey")),
    )
    op.create_table(
        "notifications",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("organization_id", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("channel IN ('webhook', 'email')", name=op.f("notifications_channel_check")),
        sa.CheckConstraint(
            "state IN ('waiting', 'delivered', 'failed')", name=op.f("notifications_state_check")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id", "organization_id"],
            ["retrieval_namespaces.id", "retrieval_namespaces.organization_id"],
            name=op.f("notifications_namespace_id_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organizations.id"],
            name=op.f("notifications_organization_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("notifications_pkey")),
        sa.UniqueConstraint(
            "namespace_id",
            "event_id",
            "channel",
            "recipient",
            name=op.f("notifications_namespace_id_event_id_channel_recipient_key"),
        ),
    )
    op.create_index(
        "notifications_state_idx",
        "notifications",
        ["namespace_id", "state", "next_attempt_at"],
        unique=False,
    )
