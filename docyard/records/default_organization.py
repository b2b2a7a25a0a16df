"""The organization `default` of a server whose sources are in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, insert, select

from docyard.database.database import Database, open_database
from docyard.database.schema import check_schema
from docyard.database.tables import NAMESPACES, ORGANIZATIONS, SERVERS
from docyard.records.recorder import Recorder, ServerRecorder
from docyard.records.retention import lock_for_writing
from docyard.records.rows import RecordTarget
from docyard.settings.settings import RecordsSection

if TYPE_CHECKING:
    from index.sources.settings import Analytics

DEFAULT_SLUG = "default"
"""The name of the organization and of its server."""


def find_or_create_default_target(connection: Connection, names: Iterable[str]) -> RecordTarget:
    """Return the ids of the organization, its server and its namespaces; create missing rows."""
    lock_for_writing(connection)
    organization_id = connection.execute(
        select(ORGANIZATIONS.c.id).where(ORGANIZATIONS.c.slug == DEFAULT_SLUG)
    ).scalar_one_or_none()
    if organization_id is None:
        statement = insert(ORGANIZATIONS).values(slug=DEFAULT_SLUG).returning(ORGANIZATIONS.c.id)
        organization_id = connection.execute(statement).scalar_one()
    server_id = connection.execute(
        select(SERVERS.c.id).where(
            SERVERS.c.organization_id == organization_id, SERVERS.c.slug == DEFAULT_SLUG
        )
    ).scalar_one_or_none()
    if server_id is None:
        values = {"organization_id": organization_id, "slug": DEFAULT_SLUG}
        server_id = connection.execute(insert(SERVERS).values(**values).returning(SERVERS.c.id)).scalar_one()
    rows = connection.execute(
        select(NAMESPACES.c.name, NAMESPACES.c.id).where(NAMESPACES.c.organization_id == organization_id)
    )
    namespace_ids = {row.name: row.id for row in rows}
    for name in names:
        if name not in namespace_ids:
            values = {"organization_id": organization_id, "name": name}
            namespace_ids[name] = connection.execute(
                insert(NAMESPACES).values(**values, settings={}).returning(NAMESPACES.c.id)
            ).scalar_one()
    return RecordTarget(organization_id, server_id, {name: namespace_ids[name] for name in names})


class SourcesRecords(NamedTuple):
    """The records of a server with a file of sources: start and close `recorder`, and pass `observer`."""

    database: Database
    recorder: Recorder
    observer: ServerRecorder


def open_sources_records(
    analytics: Analytics, folder: Path, list_names: Callable[[], Iterable[str]]
) -> SourcesRecords:
    """Return the records of a file in a folder; `list_names` returns the current names of its sources.

    The database is created by the thread that writes, so that a server starts without it. Raises
    InvalidDatabaseURL.
    """
    database = open_database(analytics.database_url, folder)
    settings = RecordsSection(mode=analytics.mode, retention_days=analytics.retention_days)
    target = _DefaultTarget(database, list_names)
    recorder = Recorder(database, settings, prepare=target.get)
    return SourcesRecords(database, recorder, recorder.observe_server(target.get))


class _DefaultTarget:
    """The ids of the organization `default`, which are read again if the names of sources change."""

    def __init__(self, database: Database, list_names: Callable[[], Iterable[str]]) -> None:
        self._database = database
        self._list_names = list_names
        self._names: tuple[str, ...] = ()
        self._target: RecordTarget | None = None

    def get(self) -> RecordTarget:
        """Return the ids. Raises DatabaseUnavailable and SchemaMismatch."""
        names = tuple(self._list_names())
        if self._target is None or names != self._names:
            if self._target is None:
                check_schema(self._database)
            with self._database.begin() as connection:
                self._target = find_or_create_default_target(connection, names)
            self._names = names
        return self._target
