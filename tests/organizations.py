"""Two organizations for tests: acme and globex, each with servers, namespaces, and rules of groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import insert

from docyard.caller import READ_SCOPE, Principal
from docyard.database.database import Database
from docyard.database.tables import ASSOCIATIONS, GROUP_RULES, NAMESPACES, ORGANIZATIONS, SERVERS
from docyard.hosting.organization_sources import OrganizationFolders, OrganizationSources
from docyard.organizations.audit import append_audit_entry
from tests.documentation_sources import create_source_repositories


def create_organization(
    database: Database,
    slug: str,
    namespaces: dict[str, dict[str, Any]],
    servers: dict[str, list[str]],
    rules: list[tuple[str, str, str]],
    hosts: dict[str, str] | None = None,
) -> None:
    """Create an organization.

    `servers` has the namespaces of each server by its slug. A rule is a group, a prefix and a role.
    """
    owner = {"organization_id": f"org_{slug}"}
    with database.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id=f"org_{slug}", slug=slug))
        for name, settings in namespaces.items():
            connection.execute(
                insert(NAMESPACES).values(id=f"ns_{slug}_{name}", name=name, settings=settings, **owner)
            )
        for server, names in servers.items():
            host = (hosts or {}).get(server)
            connection.execute(
                insert(SERVERS).values(id=f"mcp_{slug}_{server}", slug=server, host=host, **owner)
            )
            for name in names:
                connection.execute(
                    insert(ASSOCIATIONS).values(
                        mcp_server_id=f"mcp_{slug}_{server}", namespace_id=f"ns_{slug}_{name}", **owner
                    )
                )
        for group, prefix, role in rules:
            connection.execute(
                insert(GROUP_RULES).values(group_name=group, namespace_prefix=prefix, role=role, **owner)
            )
    mark_change(database)


def mark_change(database: Database) -> None:
    """Add an entry to the audit log, as each change of the administration does."""
    with database.begin() as connection:
        append_audit_entry(connection, "operator", "test", "")


def create_two_organizations(database: Database, folder: Path) -> None:
    """Create acme (public `docs`, internal `team`) and globex (`docs`), each with own repositories."""
    for slug in ("acme", "globex"):
        (folder / slug).mkdir()
        create_source_repositories(folder / slug)
    create_organization(
        database,
        "acme",
        {
            "api": {"repo": "acme/api", "folder": "docs"},
            "internal-notes": {"repo": "acme/api"},
            "guides": {"repo": "acme/guides"},
        },
        {"docs": ["api", "guides"], "team": ["api", "guides", "internal-notes"], "empty": []},
        [("*", "api", "reader"), ("*", "guides", "reader"), ("staff", "", "reader")],
        {"docs": "docs.acme.example"},
    )
    create_organization(
        database,
        "globex",
        {"api": {"repo": "globex/api", "folder": "docs"}},
        {"docs": ["api"]},
        [("staff", "", "reader")],
        {"docs": "docs.globex.example"},
    )


def open_hosting(database: Database, folder: Path) -> OrganizationSources:
    """Open the organizations of a database, whose paths are relative to a folder."""
    hosting = OrganizationSources(
        database, OrganizationFolders(folder, folder / "clones", folder / "indexes")
    )
    hosting.reload()
    return hosting


def build_member(
    organization: str | None, *groups: str, scopes: tuple[str, ...] = (READ_SCOPE,)
) -> Principal:
    """Return a member of an organization with some groups."""
    return Principal(f"token:{organization}", "member", organization, frozenset(groups), frozenset(scopes))
