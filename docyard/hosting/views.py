"""The views that callers have of servers, and the organizations that callers administer.

A view contains only the namespaces that its callers may read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from docyard.caller import ADMIN_SCOPE, READ_SCOPE, Principal
from docyard.identity.rules import GroupRules, Role, find_role
from docyard.organizations.directory import Directory, OrganizationEntry, ServerEntry


class ViewKey(NamedTuple):
    """The identity of a view: callers who may read the same namespaces of a server share one view."""

    server_id: str
    namespaces: frozenset[str]


class View(NamedTuple):
    """A server, restricted to the namespaces that a caller may read."""

    organization: OrganizationEntry
    server: ServerEntry
    namespaces: frozenset[str]

    @property
    def key(self) -> ViewKey:
        """The identity of the view."""
        return ViewKey(self.server.id, self.namespaces)


def build_view(
    directory: Directory,
    organization: OrganizationEntry,
    server: ServerEntry,
    principal: Principal | None,
) -> View | None:
    """Return the view of a caller, or None if the caller may read nothing of the server.

    A server without namespaces exists for the callers to whom a rule of its organization gives a role.
    """
    if principal is not None and READ_SCOPE not in principal.scopes:
        return None
    rules = GroupRules(organization.rules, _select_groups(directory, organization, principal))
    namespaces = frozenset(
        name
        for name in server.namespaces
        if name in organization.namespaces and rules.find_role(name) > Role.NONE
    )
    if not namespaces and (server.namespaces or rules.find_role("") is Role.NONE):
        return None
    return View(organization, server, namespaces)


def _select_groups(
    directory: Directory, organization: OrganizationEntry, principal: Principal | None
) -> frozenset[str]:
    """Return the groups of a caller that count in an organization: none for a member of another one.

    A user without an organization may belong to any tenant of their provider. So their groups count only if
    the organizations share the groups of the provider. The operator's tokens are for all organizations.
    """
    if principal is None or principal.organization not in (None, organization.slug):
        return frozenset()
    is_known = principal.organization is not None or principal.key.startswith("token:")
    return principal.groups if is_known or directory.shares_groups else frozenset()


def select_administered(
    directory: Directory, principal: Principal | None
) -> Mapping[str, OrganizationEntry] | None:
    """Return the organizations that a caller administers, by slug; None for an operator, who does all.

    An administrator has the scope for it, and the role in all namespaces of the organization.
    """
    if principal is None or ADMIN_SCOPE not in principal.scopes:
        return {}
    if principal.is_operator:
        return None
    return {
        slug: organization
        for slug, organization in directory.organizations.items()
        if find_role(organization.rules, _select_groups(directory, organization, principal), "") is Role.ADMIN
    }
