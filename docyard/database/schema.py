"""The schema of a database: its version is checked at each start, and only a command upgrades it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from docyard.database.database import Database
from workspace.errors import WorkspaceError

UPGRADE_COMMAND = "docyard admin database upgrade"

_MIGRATIONS = Path(__file__).parent / "migrations"
CONNECTION_ATTRIBUTE = "connection"
"""The attribute by which `migrations/env.py` receives the connection."""

# The key of the lock under which one process at a time upgrades PostgreSQL; any constant number.
_UPGRADE_LOCK = 7_263_190_544


class SchemaMismatch(WorkspaceError):
    """The schema of the database is older or newer than this version of Docyard needs."""

    code: ClassVar[str] = "SCHEMA_MISMATCH"


class SchemaState(NamedTuple):
    """The version of a database, and the version that this program needs. None is an empty database."""

    current: str | None
    needed: str
    is_known: bool

    @property
    def is_current(self) -> bool:
        """Return True if the database can be used."""
        return self.current == self.needed


def read_schema_state(database: Database) -> SchemaState:
    """Return the version of a database. Raises DatabaseUnavailable."""
    with database.connect() as connection:
        return _read_state(connection)


def check_schema(database: Database) -> None:
    """Create the tables of an empty database; raise SchemaMismatch if its schema is of another version.

    Raises DatabaseUnavailable.
    """
    state = read_schema_state(database)
    if state.is_current:
        return
    if state.current is None:
        upgrade_schema(database)
        return
    if state.is_known:
        raise SchemaMismatch(
            f"the database has the schema {state.current}, and this version of Docyard needs {state.needed}",
            fix=f"Make a backup, then run `{UPGRADE_COMMAND}`.",
        )
    raise SchemaMismatch(
        f"the database has the schema {state.current}, which a newer version of Docyard has written",
        fix="Install the newer version of Docyard, or restore the backup from before the upgrade.",
    )


def upgrade_schema(database: Database) -> SchemaState:
    """Upgrade the schema in one transaction, and return the version from before.

    Raises DatabaseUnavailable, and SchemaMismatch for a schema of a newer version.
    """
    with database.begin() as connection:
        # Two processes that start at the same time must not both create the tables.
        if database.is_sqlite:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})")
        state = _read_state(connection)
        if state.current is not None and not state.is_known:
            raise SchemaMismatch(
                f"the database has the schema {state.current}, which a newer version of Docyard has written",
                fix="Install the newer version of Docyard.",
            )
        if not state.is_current:
            config = _build_config()
            config.attributes[CONNECTION_ATTRIBUTE] = connection
            command.upgrade(config, "head")
        return state


def _read_state(connection: Connection) -> SchemaState:
    scripts = ScriptDirectory.from_config(_build_config())
    needed = scripts.get_current_head()
    assert needed is not None
    context = MigrationContext.configure(connection)
    current = context.get_current_revision() if inspect(connection).has_table("alembic_version") else None
    is_known = current in {script.revision for script in scripts.walk_revisions()}
    return SchemaState(current, needed, is_known)


def _build_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
