"""Changes of organizations by an administrator. Commands and pages use these functions.

Each change is validated like a file of organizations, and is written with its entry of the audit log in one
transaction. Changes never run at the same time. `expected` is the version of an object as the administrator
saw it (`compute_version`): if the object has changed since, nothing is written, and the error says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from docyard.organizations.audit import append_audit_entry, lock_audit_log
from docyard.organizations.authority import (
    Administrator,
    NotPermitted,
    PlaceNotPermitted,
    Places,
    check_change,
    check_rename,
    restrict_settings,
)
from docyard.organizations.file import InvalidOrganizations, OrganizationsFile, parse_tables
from docyard.organizations.objects import (
    AlreadyExists,
    Fields,
    Kind,
    ObjectKey,
    State,
    build_tables,
    compute_version,
    find_contradictions,
    find_object,
    list_objects,
)
from docyard.organizations.plan import Action, Change, Plan, add_state, diff_states
from docyard.organizations.storage import read_state, rename_object, write_changes
from index.sources.settings import Mistake
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.database.database import Database

_RENAMED_KINDS = (Kind.ORGANIZATION, Kind.SERVER, Kind.NAMESPACE)


class ChangeConflict(WorkspaceError):
    """Another administrator has changed the object, or the database, in the meantime."""

    code: ClassVar[str] = "CONFLICT"


class Administration:
    """The changes that one administrator makes. `places` are the repositories that they may name."""

    def __init__(self, database: Database, administrator: Administrator, places: Places) -> None:
        self.administrator = administrator
        self._database = database
        self._places = places

    def read_state(self) -> State:
        """Return the objects that the administrator may see: all, or those of their organization."""
        with self._database.connect() as connection:
            return read_state(connection, self.administrator.organization)

    def find(self, key: ObjectKey) -> Fields:
        """Return the fields of an object. Raises ObjectNotFound."""
        return find_object(self.read_state(), key)

    def add(self, key: ObjectKey, fields: Mapping[str, Any]) -> Change:
        """Add an object. A field with the value None has its default.

        Raises AlreadyExists, ObjectNotFound for an unknown organization, InvalidOrganizations, NotPermitted,
        PlaceNotPermitted.
        """
        with self._begin(f"{key.kind}.add", key) as connection:
            state = self._lock_state(connection)
            if key.kind is Kind.ORGANIZATION and self.administrator.organization is not None:
                raise NotPermitted("only the operator may add organizations", fix="Ask the operator.")
            if key.kind is not Kind.ORGANIZATION:
                find_object(state, ObjectKey(key.organization))
            if key in state:
                raise _make_exists_error(key)
            checked_fields = _check_fields(key, fields)
            return self._write(connection, state, key, checked_fields)

    def change(
        self, key: ObjectKey, fields: Mapping[str, Any], *, expected: str | None = None
    ) -> Change | None:
        """Change some fields of an object; None is the default. Return None if nothing changes.

        Raises ObjectNotFound, ChangeConflict, InvalidOrganizations, NotPermitted, PlaceNotPermitted.
        """
        with self._begin(f"{key.kind}.change", key) as connection:
            state = self._lock_state(connection)
            old_fields = _find_expected(state, key, expected)
            new_fields = _check_fields(key, {**old_fields, **fields})
            if new_fields == old_fields:
                return None
            return self._write(connection, state, key, new_fields)

    def associate(self, server: ObjectKey, namespace: str, *, expected: str | None = None) -> Change | None:
        """Associate a server with a namespace of its organization. Return None if it was associated."""
        return self._change_associations(server, frozenset({namespace}), frozenset(), expected)

    def dissociate(self, server: ObjectKey, namespace: str, *, expected: str | None = None) -> Change | None:
        """End the association of a server with a namespace. Return None if there was none."""
        return self._change_associations(server, frozenset(), frozenset({namespace}), expected)

    def _change_associations(
        self, server: ObjectKey, added: frozenset[str], removed: frozenset[str], expected: str | None
    ) -> Change | None:
        with self._begin("server.change", server) as connection:
            state = self._lock_state(connection)
            old_fields = _find_expected(state, server, expected)
            for name in added | removed:
                find_object(state, ObjectKey(server.organization, Kind.NAMESPACE, name))
            names = (set(old_fields.get("namespaces", ())) | added) - removed
            new_fields = _check_fields(server, {**old_fields, "namespaces": sorted(names)})
            if new_fields == old_fields:
                return None
            return self._write(connection, state, server, new_fields)

    def rename(self, key: ObjectKey, new_name: str, *, expected: str | None = None) -> ObjectKey:
        """Give an organization, a server or a namespace another name, and return its key.

        Raises ObjectNotFound, AlreadyExists, ChangeConflict, InvalidOrganizations, NotPermitted.
        """
        assert key.kind in _RENAMED_KINDS
        new_key = (
            key._replace(organization=new_name)
            if key.kind is Kind.ORGANIZATION
            else key._replace(name=new_name)
        )
        with self._begin(f"{key.kind}.rename", key) as connection:
            state = self._lock_state(connection)
            fields = _find_expected(state, key, expected)
            check_rename(self.administrator, key)
            if new_key == key:
                return key
            if new_key in state:
                raise _make_exists_error(new_key)
            _check_fields(new_key, fields)
            others = {other: value for other, value in state.items() if other != key}
            if key.kind is Kind.NAMESPACE:
                _check_contradictions({**others, new_key: fields}, [new_key])
            with _translate_constraint(new_key):
                rename_object(connection, key, new_name)
            self._append(connection, f"{key.kind}.rename", key, f"{key.path} -> {new_key.path}")
            return new_key

    def remove(self, key: ObjectKey, *, expected: str | None = None) -> Change:
        """Remove an object, with everything that it owns and its records.

        Raises ObjectNotFound, ChangeConflict, NotPermitted.
        """
        with self._begin(f"{key.kind}.remove", key) as connection:
            state = self._lock_state(connection)
            change = Change(Action.REMOVE, key, _find_expected(state, key, expected), {})
            check_change(self.administrator, change)
            write_changes(connection, [change])
            self._append(connection, f"{key.kind}.remove", key, key.path)
            return change

    def plan(self, file: OrganizationsFile, *, prune: bool = False) -> Plan:
        """Return the changes that the file would make; without `prune`, nothing is removed.

        Raises InvalidOrganizations, NotPermitted, PlaceNotPermitted.
        """
        return self._plan(self.read_state(), file, prune=prune)

    def apply(self, file: OrganizationsFile, *, prune: bool = False, digest: str | None = None) -> Plan:
        """Make the changes of a file in one transaction. `digest` is that of the plan that was shown.

        Raises ChangeConflict if the plan is another one now, and the errors of `plan`.
        """
        with self._begin("organizations.apply", None) as connection:
            plan = self._plan(self._lock_state(connection), file, prune=prune)
            if digest is not None and digest != plan.digest:
                raise ChangeConflict(
                    "the database or the file has changed since the plan was made",
                    fix="Make the plan again, and apply it with its new digest.",
                )
            with _translate_constraint(None):
                write_changes(connection, plan.changes)
            for change in plan.changes:
                self._append_change(connection, change)
            return plan

    def _plan(self, state: State, file: OrganizationsFile, *, prune: bool) -> Plan:
        new_state = file.state if prune else add_state(state, file.state)
        file.check(new_state)
        plan = diff_states(state, new_state)
        for change in plan.changes:
            if self.administrator.organization not in (None, change.key.organization):
                raise NotPermitted(
                    "only the operator may change other organizations", fix="Ask the operator."
                )
            check_change(self.administrator, change)
        return diff_states(state, {**new_state, **dict(self._restrict(plan))})

    def _restrict(self, plan: Plan) -> Iterator[tuple[ObjectKey, Fields]]:
        for change in plan.changes:
            if change.key.kind is Kind.NAMESPACE and change.action is not Action.REMOVE:
                yield (
                    change.key,
                    restrict_settings(self.administrator, self._places, change.old, change.new),
                )

    @contextmanager
    def _begin(self, action: str, key: ObjectKey | None) -> Iterator[Connection]:
        """Yield a transaction. A change that is not permitted is recorded in a transaction of its own."""
        try:
            with self._database.begin() as connection:
                yield connection
        except (NotPermitted, PlaceNotPermitted) as error:
            with self._database.begin() as connection:
                self._append(connection, action, key, key.path if key else "", outcome=error.code)
            raise

    def _lock_state(self, connection: Connection) -> State:
        lock_audit_log(connection)
        return read_state(connection, self.administrator.organization)

    def _write(self, connection: Connection, state: State, key: ObjectKey, fields: Fields) -> Change:
        old_fields = state.get(key, {})
        if key.kind is Kind.NAMESPACE:
            fields = restrict_settings(self.administrator, self._places, old_fields, fields)
        change = Change(Action.CHANGE if key in state else Action.ADD, key, old_fields, fields)
        check_change(self.administrator, change)
        _check_contradictions({**state, key: fields}, [key])
        with _translate_constraint(key):
            write_changes(connection, [change])
        self._append_change(connection, change)
        return change

    def _append_change(self, connection: Connection, change: Change) -> None:
        names = f" ({', '.join(change.field_names)})" if change.action is Action.CHANGE else ""
        self._append(
            connection, f"{change.key.kind}.{change.action}", change.key, f"{change.key.path}{names}"
        )

    def _append(
        self, connection: Connection, action: str, key: ObjectKey | None, object: str, outcome: str = "ok"
    ) -> None:
        append_audit_entry(
            connection,
            self.administrator.principal.key,
            action,
            object,
            organization=self.administrator.organization or (key.organization if key else None),
            outcome=outcome,
        )


def _find_expected(state: State, key: ObjectKey, expected: str | None) -> Fields:
    """Return the fields of an object. Raises ObjectNotFound, and ChangeConflict for another version."""
    fields = find_object(state, key)
    if expected is not None and expected != compute_version(fields):
        raise ChangeConflict(
            f"the {key.label} has been changed since you opened it",
            fix="Open it again, and repeat your change.",
        )
    return fields


def _check_fields(key: ObjectKey, fields: Mapping[str, Any]) -> Fields:
    """Return the checked fields of an object, without defaults. Raises InvalidOrganizations."""
    given_fields = {name: value for name, value in fields.items() if value is not None}
    organization_key = ObjectKey(key.organization)
    tables = build_tables({organization_key: {}, key: given_fields})
    try:
        return list_objects(parse_tables(tables))[key]
    except InvalidOrganizations as error:
        prefix = f"organizations.{key.organization}."
        own_prefix = "rules.0." if key.kind is Kind.RULE else f"{key.kind}s.{key.name}."
        mistakes = [
            Mistake(None, setting, item.message.replace(item.setting, setting, 1), item.fix)
            for item in error.mistakes
            for setting in [item.setting.removeprefix(prefix).removeprefix(own_prefix)]
        ]
        raise InvalidOrganizations(None, mistakes) from None


def _check_contradictions(state: State, keys: list[ObjectKey]) -> None:
    mistakes = [
        Mistake(None, item.field, f"{item.field}: {item.message}" if item.field else item.message, item.fix)
        for item in find_contradictions(state, keys)
    ]
    if mistakes:
        raise InvalidOrganizations(None, mistakes)


@contextmanager
def _translate_constraint(key: ObjectKey | None) -> Iterator[None]:
    """Raise AlreadyExists for a name that an organization has which the administrator may not see."""
    try:
        yield
    except IntegrityError as error:
        raise (
            _make_exists_error(key)
            if key
            else AlreadyExists("a name or a host exists", fix="Choose another.")
        ) from error


def _make_exists_error(key: ObjectKey) -> AlreadyExists:
    return AlreadyExists(f"the {key.label} exists", fix="Choose another name, or change the existing one.")
