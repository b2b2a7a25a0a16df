"""The organization `default`: that of a server with a file of sources, which records its searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.organizations.audit import append_audit_entry, lock_audit_log
from docyard.organizations.authority import PATH_FIELDS
from docyard.organizations.objects import (
    Fields,
    Kind,
    ObjectKey,
    OrganizationsTable,
    OrganizationTable,
    ServerTable,
    State,
    list_objects,
)
from docyard.organizations.plan import Plan, diff_states
from docyard.organizations.storage import has_records, read_state, write_changes

if TYPE_CHECKING:
    from docyard.database.database import Database
    from index.sources.settings import SourceSettings, SourcesFile

DEFAULT_NAME = "default"
"""The slug of the organization, and that of its server."""

_PRINCIPAL_KEY = "server"


def import_sources_file(database: Database, content: SourcesFile, folder: Path) -> Plan:
    """Make the organization `default` the same as a file of sources, and return the changes.

    `folder` is that of the file; paths are stored as absolute ones. The namespace of a source that was
    removed from the file loses its association, and its row stays as long as records refer to it. Rules, and
    other servers of the organization, are not changed. No rule is added, so a server of organizations with
    the same database serves these namespaces only if its operator adds one.
    """
    with database.begin() as connection:
        lock_audit_log(connection)
        state = read_state(connection, DEFAULT_NAME)
        target: dict[ObjectKey, Fields] = {
            key: fields
            for key, fields in state.items()
            if key.kind is not Kind.NAMESPACE or has_records(connection, key)
        }
        target |= _list_objects(content, folder, state)
        plan = diff_states(state, target)
        write_changes(connection, plan.changes)
        for change in plan.changes:
            append_audit_entry(
                connection,
                _PRINCIPAL_KEY,
                f"{change.key.kind}.{change.action}",
                change.key.path,
                organization=DEFAULT_NAME,
            )
        return plan


def _list_objects(content: SourcesFile, folder: Path, state: State) -> State:
    server_key = ObjectKey(DEFAULT_NAME, Kind.SERVER, DEFAULT_NAME)
    server = ServerTable.model_validate(
        {
            **state.get(server_key, {}),
            **content.features.model_dump(),
            **content.limits.model_dump(include={"max_tokens"}),
            "namespaces": tuple(content.sources),
        }
    )
    sources = {
        name: settings.model_copy(update=dict(_find_absolute_paths(settings, folder)))
        for name, settings in content.sources.items()
    }
    organization = OrganizationTable.model_validate(
        {
            **state.get(ObjectKey(DEFAULT_NAME), {}),
            "servers": {DEFAULT_NAME: server},
            "namespaces": sources,
        }
    )
    return list_objects(OrganizationsTable(organizations={DEFAULT_NAME: organization}))


def _find_absolute_paths(settings: SourceSettings, folder: Path) -> Iterator[tuple[str, str]]:
    for name in PATH_FIELDS:
        value = getattr(settings, name)
        if value is not None:
            yield name, str(folder.absolute() / Path(value).expanduser())
