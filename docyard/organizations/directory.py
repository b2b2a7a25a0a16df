"""The directory of a server: its organizations, servers, namespaces and rules, as one value.

A directory is read in one transaction, so it is consistent. Each change adds an entry to the audit log in the
same transaction; the number of the last entry tells whether a directory is current.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import ValidationError
from sqlalchemy import Connection, select

from docyard.database.database import Database
from docyard.database.tables import (
    ASSOCIATIONS,
    AUDIT_LOG,
    GROUP_RULES,
    NAMESPACES,
    ORGANIZATIONS,
    SERVERS,
)
from docyard.identity.rules import Role, Rule
from index.sources.settings import AnswerLimits, Features, SourceSettings, SourcesFile

log = logging.getLogger("docyard")


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server of an organization. `namespaces` are the names of its namespaces, in their order."""

    id: str
    slug: str
    name: str
    host: str | None
    features: Features
    limits: AnswerLimits
    namespaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrganizationEntry:
    """One organization: its namespaces by name, their ids, its servers by slug, and its rules."""

    id: str
    slug: str
    name: str
    namespaces: Mapping[str, SourceSettings]
    namespace_ids: Mapping[str, str]
    servers: Mapping[str, ServerEntry]
    rules: tuple[Rule, ...]

    def build_sources_file(self) -> SourcesFile:
        """Return all namespaces of the organization as a file of sources."""
        return SourcesFile(sources=dict(self.namespaces))


@dataclass(frozen=True)
class Directory:
    """All organizations by slug. `version` is the number of the last change.

    If `shares_groups` is True, the groups of users without an organization count in all organizations.
    """

    version: int
    organizations: Mapping[str, OrganizationEntry]
    shares_groups: bool = False

    def find_server(self, organization: str, server: str) -> tuple[OrganizationEntry, ServerEntry] | None:
        """Return a server by the slugs of its path; None if there is none."""
        entry = self.organizations.get(organization)
        found_server = entry.servers.get(server) if entry is not None else None
        return (entry, found_server) if entry is not None and found_server is not None else None

    def find_host(self, host: str) -> tuple[OrganizationEntry, ServerEntry] | None:
        """Return the server with a host, in lower case and with a port unless it is the default one."""
        return self._servers_by_host.get(host)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts of all servers."""
        return frozenset(self._servers_by_host)

    @cached_property
    def _servers_by_host(self) -> Mapping[str, tuple[OrganizationEntry, ServerEntry]]:
        return {server.host: (entry, server) for entry, server in self if server.host is not None}

    def __iter__(self) -> Iterator[tuple[OrganizationEntry, ServerEntry]]:
        for entry in self.organizations.values():
            for server in entry.servers.values():
                yield entry, server


EMPTY_DIRECTORY = Directory(version=-1, organizations={})


def read_directory_version(database: Database) -> int:
    """Return the number of the last change of a database. Raises DatabaseUnavailable."""
    with database.connect() as connection:
        return _read_version(connection)


def read_directory(database: Database) -> Directory:
    """Return the directory of a database. Raises DatabaseUnavailable."""
    with database.connect() as connection:
        if not database.is_sqlite:  # several statements must see one state
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        version = _read_version(connection)
        names_by_server = _read_associations(connection)
        servers = _read_servers(connection, names_by_server)
        rules = _read_rules(connection)
        namespaces, namespace_ids = _read_namespaces(connection)
        organizations = {
            row.slug: OrganizationEntry(
                id=row.id,
                slug=row.slug,
                name=row.name,
                namespaces=namespaces[row.id],
                namespace_ids=namespace_ids[row.id],
                servers=servers[row.id],
                rules=tuple(rules[row.id]),
            )
            for row in connection.execute(select(ORGANIZATIONS).order_by(ORGANIZATIONS.c.slug))
        }
    return Directory(version, organizations)


def _read_version(connection: Connection) -> int:
    # A refused change has an entry, too, and must not have all organizations read again.
    last_change = (
        select(AUDIT_LOG.c.number)
        .where(AUDIT_LOG.c.outcome == "ok")
        .order_by(AUDIT_LOG.c.number.desc())
        .limit(1)
    )
    return connection.scalar(last_change) or 0


def _read_associations(connection: Connection) -> Mapping[str, list[str]]:
    """Return the names of the namespaces of each server, by its id, in the order of their association."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    query = (
        select(ASSOCIATIONS.c.mcp_server_id, NAMESPACES.c.name)
        .join(NAMESPACES, NAMESPACES.c.id == ASSOCIATIONS.c.namespace_id)
        .order_by(NAMESPACES.c.name)
    )
    for server_id, name in connection.execute(query):
        names[server_id].append(name)
    return names


def _read_servers(
    connection: Connection, names: Mapping[str, list[str]]
) -> Mapping[str, dict[str, ServerEntry]]:
    servers: defaultdict[str, dict[str, ServerEntry]] = defaultdict(dict)
    for row in connection.execute(select(SERVERS).order_by(SERVERS.c.slug)):
        servers[row.organization_id][row.slug] = ServerEntry(
            id=row.id,
            slug=row.slug,
            name=row.name,
            host=row.host,
            features=Features(contextual_search=row.contextual_search, tool_prefix=row.tool_prefix),
            limits=AnswerLimits(max_tokens=row.max_tokens),
            namespaces=tuple(names.get(row.id, ())),
        )
    return servers


def _read_rules(connection: Connection) -> Mapping[str, list[Rule]]:
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for row in connection.execute(select(GROUP_RULES).order_by(GROUP_RULES.c.id)):
        rules[row.organization_id].append(Rule(row.group_name, row.namespace_prefix, Role.parse(row.role)))
    return rules


def _read_namespaces(
    connection: Connection,
) -> tuple[Mapping[str, dict[str, SourceSettings]], Mapping[str, dict[str, str]]]:
    namespaces: defaultdict[str, dict[str, SourceSettings]] = defaultdict(dict)
    ids: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in connection.execute(select(NAMESPACES).order_by(NAMESPACES.c.name)):
        try:
            settings = SourceSettings.model_validate(row.settings)
        except ValidationError as error:  # the row was not written by Docyard
            log.error("the namespace %s is ignored: its settings are invalid (%s)", row.id, error.title)
            continue
        namespaces[row.organization_id][row.name] = settings
        ids[row.organization_id][row.name] = row.id
    return namespaces, ids
