"""Reading and writing of organizations in the tables, within a transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from pydantic import ValidationError
from sqlalchemy import Connection, Table, and_, delete, exists, insert, or_, select, update

from docyard.database.tables import (
    ASSOCIATIONS,
    GROUP_RULES,
    NAMESPACES,
    ORGANIZATIONS,
    PROBLEM_REPORTS,
    SEARCH_QUERIES,
    SERVERS,
)
from docyard.organizations.objects import (
    Fields,
    Kind,
    ObjectKey,
    ServerTable,
    format_rule_name,
    parse_rule_name,
)
from docyard.organizations.plan import Action, Change
from index.sources.settings import SourceSettings
from workspace.errors import WorkspaceError

_SERVER_COLUMNS = ("name", "host", "contextual_search", "tool_prefix", "max_tokens")
# Objects are removed from the top down, and added from the bottom up.
_REMOVE_ORDER = (Kind.RULE, Kind.SERVER, Kind.NAMESPACE, Kind.ORGANIZATION)
_ADD_ORDER = (Kind.ORGANIZATION, Kind.NAMESPACE, Kind.SERVER, Kind.RULE)


class InvalidStoredSettings(WorkspaceError):
    """The database has settings that this version does not accept."""

    code: ClassVar[str] = "INVALID_STORED_SETTINGS"


def read_state(connection: Connection, organization: str | None = None) -> dict[ObjectKey, dict[str, Any]]:
    """Return the state of one organization, or of all. Raises InvalidStoredSettings."""
    state: dict[ObjectKey, dict[str, Any]] = {}
    condition = () if organization is None else (ORGANIZATIONS.c.slug == organization,)
    for row in connection.execute(select(ORGANIZATIONS).where(*condition)):
        state[ObjectKey(row.slug)] = {"name": row.name} if row.name else {}
    association_names: dict[str, list[str]] = {}
    for row in connection.execute(
        select(ASSOCIATIONS.c.mcp_server_id, NAMESPACES.c.name)
        .join(NAMESPACES, NAMESPACES.c.id == ASSOCIATIONS.c.namespace_id)
        .join(ORGANIZATIONS, ORGANIZATIONS.c.id == ASSOCIATIONS.c.organization_id)
        .where(*condition)
    ):
        association_names.setdefault(row.mcp_server_id, []).append(row.name)
    for slug, row in _select_owned(connection, SERVERS, condition):
        fields = {name: row[name] for name in _SERVER_COLUMNS}
        server = ServerTable(**fields, namespaces=tuple(association_names.get(row["id"], ())))
        state[ObjectKey(slug, Kind.SERVER, row["slug"])] = server.model_dump(
            mode="json", exclude_defaults=True
        )
    for slug, row in _select_owned(connection, NAMESPACES, condition):
        key = ObjectKey(slug, Kind.NAMESPACE, row["name"])
        try:
            settings = SourceSettings.model_validate(row["settings"])
        except ValidationError:
            raise InvalidStoredSettings(
                f"the settings of the namespace {key.path} in the database are invalid",
                fix="Correct the column `settings` of its row in the table retrieval_namespaces.",
            ) from None
        state[key] = settings.model_dump(mode="json", exclude_defaults=True)
    for slug, row in _select_owned(connection, GROUP_RULES, condition):
        name = format_rule_name(row["group_name"], row["namespace_prefix"])
        state[ObjectKey(slug, Kind.RULE, name)] = {"role": row["role"]}
    return state


def _select_owned(connection: Connection, table: Table, condition: tuple[Any, ...]) -> Iterable[Any]:
    """Yield the slug of the organization and the row, for each row of a table."""
    slug = ORGANIZATIONS.c.slug.label("organization_slug")
    statement = (
        select(table, slug)
        .join(ORGANIZATIONS, ORGANIZATIONS.c.id == table.c.organization_id)
        .where(*condition)
    )
    return ((row["organization_slug"], row) for row in connection.execute(statement).mappings())


def write_changes(connection: Connection, changes: Iterable[Change]) -> None:
    """Write changes in an order that no constraint refuses. Errors of constraints are those of SQLAlchemy."""
    changes = list(changes)
    removed = [change for change in changes if change.action is Action.REMOVE]
    written = [change for change in changes if change.action is not Action.REMOVE]
    for change in sorted(removed, key=lambda item: _REMOVE_ORDER.index(item.key.kind)):
        table = _TABLES[change.key.kind]
        connection.execute(delete(table).where(_select_row(connection, change.key)))
    for change in written:  # a host may move from one server to another
        if change.key.kind is Kind.SERVER and "host" in change.old and "host" in change.field_names:
            connection.execute(update(SERVERS).where(_select_row(connection, change.key)).values(host=None))
    for change in sorted(written, key=lambda item: _ADD_ORDER.index(item.key.kind)):
        _write_object(connection, change)


def rename_object(connection: Connection, key: ObjectKey, new_name: str) -> None:
    """Give an organization, a server or a namespace another name."""
    table = _TABLES[key.kind]
    column = "name" if key.kind is Kind.NAMESPACE else "slug"
    connection.execute(update(table).where(_select_row(connection, key)).values({column: new_name}))


def has_records(connection: Connection, key: ObjectKey) -> bool:
    """Return True if there are searches or reports of a namespace."""
    namespace_id = _find_id(connection, key)
    return bool(
        connection.scalar(
            select(
                or_(
                    exists().where(SEARCH_QUERIES.c.namespace_id == namespace_id),
                    exists().where(PROBLEM_REPORTS.c.namespace_id == namespace_id),
                )
            )
        )
    )


_TABLES = {
    Kind.ORGANIZATION: ORGANIZATIONS,
    Kind.SERVER: SERVERS,
    Kind.NAMESPACE: NAMESPACES,
    Kind.RULE: GROUP_RULES,
}


def _write_object(connection: Connection, change: Change) -> None:
    key, table = change.key, _TABLES[change.key.kind]
    values = _build_values(key, change.new)
    if change.action is Action.CHANGE:
        connection.execute(update(table).where(_select_row(connection, key)).values(values))
    else:
        connection.execute(insert(table).values(**_build_key_values(connection, key), **values))
    if key.kind is Kind.SERVER:
        _write_associations(connection, key, change.new.get("namespaces", ()))


def _build_values(key: ObjectKey, fields: Fields) -> dict[str, Any]:
    """Return the values of the columns that are not part of the key."""
    if key.kind is Kind.ORGANIZATION:
        return {"name": fields.get("name", "")}
    if key.kind is Kind.SERVER:
        return ServerTable.model_validate(fields).model_dump(include=set(_SERVER_COLUMNS))
    return {"settings": dict(fields)} if key.kind is Kind.NAMESPACE else {"role": fields["role"]}


def _build_key_values(connection: Connection, key: ObjectKey) -> dict[str, Any]:
    """Return the values of the columns of the key."""
    if key.kind is Kind.ORGANIZATION:
        return {"slug": key.organization}
    organization_id = _find_id(connection, ObjectKey(key.organization))
    values: dict[str, Any] = {"organization_id": organization_id}
    if key.kind is Kind.RULE:
        group, prefix = parse_rule_name(key.name)
        return values | {"group_name": group, "namespace_prefix": prefix}
    return values | {"slug" if key.kind is Kind.SERVER else "name": key.name}


def _write_associations(connection: Connection, key: ObjectKey, names: Iterable[str]) -> None:
    organization_id, server_id = _find_id(connection, ObjectKey(key.organization)), _find_id(connection, key)
    own = NAMESPACES.c.organization_id == organization_id
    wanted_ids = set(
        connection.scalars(select(NAMESPACES.c.id).where(own, NAMESPACES.c.name.in_(list(names))))
    )
    of_server = ASSOCIATIONS.c.mcp_server_id == server_id
    old_ids = set(connection.scalars(select(ASSOCIATIONS.c.namespace_id).where(of_server)))
    for namespace_id in sorted(old_ids - wanted_ids):
        connection.execute(delete(ASSOCIATIONS).where(of_server, ASSOCIATIONS.c.namespace_id == namespace_id))
    for namespace_id in sorted(wanted_ids - old_ids):
        connection.execute(
            insert(ASSOCIATIONS).values(
                organization_id=organization_id, mcp_server_id=server_id, namespace_id=namespace_id
            )
        )


def _find_id(connection: Connection, key: ObjectKey) -> str:
    table = _TABLES[key.kind]
    found_id: str = connection.execute(select(table.c.id).where(_select_row(connection, key))).scalar_one()
    return found_id


def _select_row(connection: Connection, key: ObjectKey) -> Any:
    """Return the condition that selects the row of an object."""
    table = _TABLES[key.kind]
    return and_(*(table.c[name] == value for name, value in _build_key_values(connection, key).items()))
