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

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, WRITE_SCOPE

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
    Role.WRITER: frozenset({READ_SCOPE, WRITE_SCOPE}),
    Role.ADMIN: frozenset({READ_SCOPE, WRITE_SCOPE, ADMIN_SCOPE}),
}


class Rule(NamedTuple):
    """The role of a group in the namespaces whose names begin with a prefix; an empty prefix is all."""

    group: str
    namespace_prefix: str
    role: Role


def find_role(rules: Iterable[Rule], groups: Iterable[str], namespace: str) -> Role:
    """Return the role of a caller with these groups in a namespace."""
    own_groups = {*groups, EVERYONE}
    longest_prefix, role, is_denied = -1, Role.NONE, False
    for rule in rules:
        if rule.group not in own_groups or not namespace.startswith(rule.namespace_prefix):
            continue
        if len(rule.namespace_prefix) > longest_prefix:
            longest_prefix, role, is_denied = len(rule.namespace_prefix), Role.NONE, False
        if len(rule.namespace_prefix) == longest_prefix:
            role = max(role, rule.role)
            is_denied = is_denied or (rule.role is Role.NONE and rule.group != EVERYONE)
    return Role.NONE if is_denied else role


def narrow_scopes(scopes: Iterable[str], role: Role) -> frozenset[str]:
    """Return the scopes that both a request and a role have: a request cannot widen a role."""
    return ROLE_SCOPES[role].intersection(scopes)
