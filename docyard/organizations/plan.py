"""The changes from one state of organizations to another."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from docyard.organizations.objects import (
    Fields,
    Kind,
    ObjectKey,
    State,
    compute_digest,
    format_canonical_json,
    parse_rule_name,
)


class Action(StrEnum):
    """The kind of a change."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


class Change(NamedTuple):
    """The change of one object: its fields before and after; empty if it is added or removed."""

    action: Action
    key: ObjectKey
    old: Fields
    new: Fields

    @property
    def field_names(self) -> list[str]:
        """The sorted names of the fields that differ."""
        return [name for name in sorted({*self.old, *self.new}) if self.old.get(name) != self.new.get(name)]


class Plan(NamedTuple):
    """The changes, and a digest of the state before and of the changes."""

    changes: tuple[Change, ...]
    unchanged_count: int
    digest: str


def diff_states(old: State, new: State) -> Plan:
    """Return the changes from one state to another, sorted by key."""
    changes = []
    for key in sorted({*old, *new}, key=lambda key: key.sort_key):
        if key not in old:
            changes.append(Change(Action.ADD, key, {}, new[key]))
        elif key not in new:
            changes.append(Change(Action.REMOVE, key, old[key], {}))
        elif old[key] != new[key]:
            changes.append(Change(Action.CHANGE, key, old[key], new[key]))
    unchanged_count = sum(new.get(key) == fields for key, fields in old.items())
    digest = compute_digest([sorted(_to_list(old)), sorted(_to_list(new))])
    return Plan(tuple(changes), unchanged_count, digest)


def _to_list(state: State) -> Iterator[str]:
    return (format_canonical_json([*key, fields]) for key, fields in state.items())


def add_state(old: State, new: State) -> dict[ObjectKey, Fields]:
    """Return the union of two states: the fields of `new`, and the associations of both."""
    union = {**old, **new}
    for key, fields in new.items():
        if key.kind is Kind.SERVER and key in old:
            names = {*old[key].get("namespaces", ()), *fields.get("namespaces", ())}
            if names:
                union[key] = {**fields, "namespaces": sorted(names)}
    return union


def describe_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan as data."""
    return {
        "changes": [describe_change(change) for change in plan.changes],
        "unchanged": plan.unchanged_count,
        "digest": plan.digest,
    }


def describe_change(change: Change) -> dict[str, Any]:
    """Return a change as data: the fields that differ, each with its value before and after."""
    return {
        "action": change.action.value,
        **describe_key(change.key),
        "fields": {name: [change.old.get(name), change.new.get(name)] for name in change.field_names},
    }


def describe_key(key: ObjectKey) -> dict[str, str]:
    """Return the parts of a key as data."""
    data = {"kind": key.kind.value, "organization": key.organization}
    if key.kind is Kind.RULE:
        group, prefix = parse_rule_name(key.name)
        return {**data, "group": group, "namespace_prefix": prefix}
    return {**data, "name": key.name} if key.name else data


def format_plan(plan: Plan) -> Iterator[str]:
    """Yield the lines of a plan: one for each change, and one for each of its fields."""
    for change in plan.changes:
        yield from format_change(change)
    yield f"{plan.unchanged_count} unchanged"


def format_change(change: Change) -> Iterator[str]:
    """Yield the lines of a change; those of its fields unless it is a removal."""
    yield f"{change.action:<6}  {change.key.kind}  {change.key.path}"
    if change.action is Action.REMOVE:
        return
    for name in change.field_names:
        old_value = f"{format_value(change.old.get(name))} -> " if change.action is Action.CHANGE else ""
        yield f"        {name}: {old_value}{format_value(change.new.get(name))}"


def format_value(value: object) -> str:
    """Return the value of a field for people."""
    if value is None:
        return "(default)"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
