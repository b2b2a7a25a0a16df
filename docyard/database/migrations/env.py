"""Run the migrations on the connection that `docyard/database/schema.py` has opened, in its transaction."""

from __future__ import annotations

from alembic import context

from docyard.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,  # the caller's transaction includes the migrations
)
context.run_migrations()
