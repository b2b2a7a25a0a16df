"""Organizations, servers, namespaces and rules as values: the fields that differ from their defaults.

A `State` has the fields of each object by its key. The namespaces that a server is associated with are its
field `namespaces`. The file of organizations has the same fields in nested tables.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from docyard.identity.rules import EVERYONE
from index.sources.settings import MAX_SOURCES, AnswerLimits, Features, SourceTables, check_line
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

_SLUG_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_PREFIX_PATTERN = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,63})?")
_HOST_PATTERN = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*|\[[0-9a-f:]+\])"
    r"(?::[1-9][0-9]{0,4})?"
)
_MAX_HOST_LENGTH = 259
_MAX_RULES = 10_000
_VERSION_LENGTH = 16


class Kind(StrEnum):
    """The kind of an object."""

    ORGANIZATION = "organization"
    SERVER = "server"
    NAMESPACE = "namespace"
    RULE = "rule"


class ObjectKey(NamedTuple):
    """The name of an object: its organization, and its name there; empty for the organization itself.

    The name of a rule is its group and its prefix of namespaces, as `format_rule_name` returns it.
    """

    organization: str
    kind: Kind = Kind.ORGANIZATION
    name: str = ""

    @property
    def sort_key(self) -> tuple[str, int, str]:
        """The organization comes before its servers, namespaces and rules."""
        return self.organization, list(Kind).index(self.kind), self.name

    @property
    def label(self) -> str:
        """The kind and the name, for messages."""
        return f"{self.kind} '{(self.name or self.organization)[:100]}'"

    @property
    def path(self) -> str:
        """The organization and the name, separated by a slash."""
        return f"{self.organization}/{self.name}" if self.name else self.organization


Fields = Mapping[str, Any]
State = Mapping[ObjectKey, Fields]


def format_rule_name(group: str, namespace_prefix: str) -> str:
    """Return the name of a rule. A prefix contains no colon."""
    return f"{group}:{namespace_prefix}"


def parse_rule_name(name: str) -> tuple[str, str]:
    """Return the group and the prefix of a rule."""
    group, _, namespace_prefix = name.rpartition(":")
    return group, namespace_prefix


def compute_version(fields: Fields) -> str:
    """Return a digest of the fields of an object, which changes with each of them."""
    return compute_digest(fields)[:_VERSION_LENGTH]


def compute_digest(value: object) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return hashlib.sha256(format_canonical_json(value).encode()).hexdigest()


def format_canonical_json(value: object) -> str:
    """Return a value as JSON without spaces, with sorted keys, in ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _check_slug(slug: str) -> str:
    if not _SLUG_PATTERN.fullmatch(slug):
        raise ValueError("must be 1 to 64 lower-case letters, digits and - that begin and end with no -")
    return slug


def _check_host(host: str) -> str:
    host = host.lower()
    if len(host) > _MAX_HOST_LENGTH or not _HOST_PATTERN.fullmatch(host):
        raise ValueError(
            "must be a host name, such as docs.example.org, with a port if it is not the default"
        )
    return host


def _check_group(group: str) -> str:
    if check_line(group) != group:
        raise ValueError("must not begin or end with a space, or contain several in a row")
    return group


def _check_prefix(prefix: str) -> str:
    if not _PREFIX_PATTERN.fullmatch(prefix):
        raise ValueError(
            "must be at most 64 letters, digits and . _ - that begin with a letter or digit, or empty"
        )
    return prefix


def _check_size(tables: Any) -> Any:
    if isinstance(tables, dict) and len(tables) > MAX_SOURCES:
        raise ValueError(f"must have at most {MAX_SOURCES:,} entries, and has {len(tables):,}")
    return tables


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Slug = Annotated[str, AfterValidator(_check_slug)]
_Title = Annotated[str, Field(max_length=200), AfterValidator(check_line)]


class ServerTable(Features, AnswerLimits):
    """The fields of a server: its host, its options, and the namespaces that it is associated with."""

    name: _Title = ""
    host: Annotated[str, AfterValidator(_check_host)] | None = None
    namespaces: Annotated[
        tuple[str, ...],
        Field(max_length=MAX_SOURCES),
        AfterValidator(lambda names: tuple(sorted(set(names)))),
    ] = ()


class RuleTable(_Table):
    """A rule: the role of a group in the namespaces whose names begin with a prefix."""

    group: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_group)]
    namespace_prefix: Annotated[str, AfterValidator(_check_prefix)] = ""
    role: Literal["none", "reader", "writer", "admin"]


class OrganizationTable(_Table):
    """An organization with its servers, namespaces and rules."""

    name: _Title = ""
    servers: Annotated[dict[_Slug, ServerTable], BeforeValidator(_check_size)] = {}
    namespaces: SourceTables = {}
    rules: Annotated[tuple[RuleTable, ...], Field(max_length=_MAX_RULES)] = ()


class OrganizationsTable(_Table):
    """All organizations: the content of a file."""

    organizations: Annotated[dict[_Slug, OrganizationTable], BeforeValidator(_check_size)] = {}


def list_objects(table: OrganizationsTable) -> dict[ObjectKey, dict[str, Any]]:
    """Return the state that nested tables describe. Of several equal rules, the last one counts."""
    state: dict[ObjectKey, dict[str, Any]] = {}
    for slug, organization in table.organizations.items():
        state[ObjectKey(slug)] = {"name": organization.name} if organization.name else {}
        for kind, tables in (
            (Kind.SERVER, organization.servers),
            (Kind.NAMESPACE, organization.namespaces),
        ):
            for name, fields in tables.items():
                state[ObjectKey(slug, kind, name)] = fields.model_dump(mode="json", exclude_defaults=True)
        for rule in organization.rules:
            key = ObjectKey(slug, Kind.RULE, format_rule_name(rule.group, rule.namespace_prefix))
            state[key] = {"role": rule.role}
    return state


def build_tables(state: State) -> dict[str, Any]:
    """Return a state as nested tables, as in a file, in the order of the names."""
    organizations: dict[str, Any] = {}
    for key in sorted(state, key=lambda key: key.sort_key):
        fields = dict(state[key])
        organization = organizations.setdefault(key.organization, {})
        if key.kind is Kind.ORGANIZATION:
            organization |= fields
        elif key.kind is Kind.RULE:
            group, prefix = parse_rule_name(key.name)
            rule = {"group": group} | ({"namespace_prefix": prefix} if prefix else {}) | fields
            organization.setdefault("rules", []).append(rule)
        else:
            organization.setdefault(f"{key.kind}s", {})[key.name] = fields
    return {"organizations": organizations}


class Contradiction(NamedTuple):
    """A mistake that concerns several objects: the object and the field to correct, and a fix."""

    key: ObjectKey
    field: str
    message: str
    fix: str


def find_contradictions(state: State, keys: Iterable[ObjectKey]) -> Iterator[Contradiction]:
    """Yield the contradictions of some objects of a state."""
    counts = Counter((key.organization, key.kind) for key in state)
    names: dict[str, dict[str, str]] = {}
    hosts: dict[str, list[ObjectKey]] = {}
    for key, fields in state.items():
        if key.kind is Kind.NAMESPACE:
            names.setdefault(key.organization, {}).setdefault(key.name.lower(), key.name)
        if fields.get("host"):
            hosts.setdefault(fields["host"], []).append(key)
    for key in keys:
        fields = state[key]
        own_names = names.get(key.organization, {})
        limit = _MAX_RULES if key.kind is Kind.RULE else MAX_SOURCES
        if counts[key.organization, key.kind] > limit:
            message = f"the organization has more than {limit:,} {key.kind}s"
            yield Contradiction(key, "", message, "Remove one first, or add another organization.")
        if key.kind is Kind.NAMESPACE and own_names[key.name.lower()] != key.name:
            first_name = own_names[key.name.lower()]
            message = f"'{first_name}' and '{key.name}' must not differ in case alone"
            yield Contradiction(key, "", message, "Choose another name.")
        for name in fields.get("namespaces", ()):
            if (
                own_names.get(name.lower()) != name
                and ObjectKey(key.organization, Kind.NAMESPACE, name) not in state
            ):
                nearest = find_nearest(name, own_names.values())
                fix = f"Did you mean '{nearest[0]}'?" if nearest else "Add the namespace first."
                yield Contradiction(key, "namespaces", f"there is no namespace '{name[:100]}'", fix)
        others = [other for other in hosts.get(fields.get("host") or "", ()) if other != key]
        if others:
            message = f"the host {fields['host']} belongs to the server {others[0].path}"
            yield Contradiction(key, "host", message, "Choose another host.")
        if key.kind is Kind.RULE and parse_rule_name(key.name)[0] == EVERYONE and fields["role"] == "admin":
            message = "the group of everyone must not have the role admin"
            yield Contradiction(key, "role", message, "Name a group of the identity provider or of a token.")


class ObjectNotFound(WorkspaceError):
    """There is no such object. The objects of other organizations are not found either."""

    code: ClassVar[str] = "OBJECT_NOT_FOUND"


class AlreadyExists(WorkspaceError):
    """An object with this name exists."""

    code: ClassVar[str] = "ALREADY_EXISTS"


def find_object(state: State, key: ObjectKey) -> Fields:
    """Return the fields of an object. Raises ObjectNotFound, also if its organization is unknown."""
    if ObjectKey(key.organization) not in state:
        key = ObjectKey(key.organization)
    if key in state:
        return state[key]
    is_organization = key.kind is Kind.ORGANIZATION
    names = [
        other.organization if is_organization else other.name
        for other in sorted(state)
        if other.kind is key.kind and (is_organization or other.organization == key.organization)
    ]
    nearest = find_nearest(key.organization if is_organization else key.name, names)
    where = "" if is_organization else f" in the organization '{key.organization}'"
    raise ObjectNotFound(
        f"there is no {key.label}{where}",
        fix=f"Did you mean '{nearest[0]}'?" if nearest else f"List the {key.kind}s.",
        kind=key.kind.value,
        nearest=nearest,
    )
