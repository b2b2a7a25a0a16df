"""The rules of groups: the role of a caller in a namespace, and the scopes of a role.

A rule gives a role to a group, in all namespaces whose names begin with a prefix. The group "*" is everyone,
also a caller without a token. Only the rules with the longest matching prefix decide:

1. A rule `none` for a named group of the caller denies, whatever other rules of this prefix give.
2. Otherwise the strongest role wins. So `none` for "*" is only a default, which a named group can exceed.

A namespace without a matching rule is denied.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, REVIEW_SCOPE, WRITE_SCOPE

EVERYONE = "*"


class Role(IntEnum):
    """A role, the weakest first."""

    NONE = 0
    READER = 1
    WRITER = 2
    ADMIN = 3

    @classmethod
    def parse(cls, name: str) -> Role:
        """Return the role with a name in lower case, as the database and the file store it."""
        return cls[name.upper()]


ROLE_SCOPES = {
    Role.NONE: frozenset[str](),
    Role.READER: frozenset({READ_SCOPE}),
    Role.WRITER: frozenset({READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE}),
    Role.ADMIN: frozenset({READ_SCOPE, WRITE_SCOPE, REVIEW_SCOPE, ADMIN_SCOPE}),
}


class Rule(NamedTuple):
    """The role of a group in the namespaces whose names begin with a prefix; an empty prefix is all."""

    group: str
    namespace_prefix: str
    role: Role


class GroupRules:
    """The rules that apply to a caller with some groups, by their prefixes.

    An organization can have many namespaces and rules, and each request needs the roles in all namespaces of
    a server.
    """

    def __init__(self, rules: Iterable[Rule], groups: Iterable[str]) -> None:
        own_groups = {*groups, EVERYONE}
        self._roles: dict[str, Role] = {}
        denied_prefixes = set()
        for rule in rules:
            if rule.group in own_groups:
                prefix = rule.namespace_prefix
                self._roles[prefix] = max(rule.role, self._roles.get(prefix, Role.NONE))
                if rule.role is Role.NONE and rule.group != EVERYONE:
                    denied_prefixes.add(prefix)
        self._roles.update(dict.fromkeys(denied_prefixes, Role.NONE))
        self._lengths = sorted({len(prefix) for prefix in self._roles}, reverse=True)

    def find_role(self, namespace: str) -> Role:
        """Return the role in a namespace."""
        for length in self._lengths:
            # A shorter name is no prefix of this length.
            role = self._roles.get(namespace[:length]) if length <= len(namespace) else None
            if role is not None:
                return role
        return Role.NONE


def find_role(rules: Iterable[Rule], groups: Iterable[str], namespace: str) -> Role:
    """Return the role of a caller with these groups in a namespace."""
    return GroupRules(rules, groups).find_role(namespace)


def narrow_scopes(scopes: Iterable[str], role: Role) -> frozenset[str]:
    """Return the scopes that both a request and a role have: a request cannot widen a role."""
    return ROLE_SCOPES[role].intersection(scopes)
