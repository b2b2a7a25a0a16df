"""Values of organizations for tests."""

from __future__ import annotations

from pathlib import Path

from docyard.caller import Principal
from docyard.database.database import Database
from docyard.organizations.administration import Administration
from docyard.organizations.authority import OPERATOR, Administrator, Places
from docyard.organizations.objects import Kind, ObjectKey

ACME, GLOBEX = ObjectKey("acme"), ObjectKey("globex")


def server(name: str, organization: str = "acme") -> ObjectKey:
    return ObjectKey(organization, Kind.SERVER, name)


def namespace(name: str, organization: str = "acme") -> ObjectKey:
    return ObjectKey(organization, Kind.NAMESPACE, name)


def rule(name: str, organization: str = "acme") -> ObjectKey:
    return ObjectKey(organization, Kind.RULE, name)


def operate(database: Database, folder: Path = Path("/srv")) -> Administration:
    return Administration(database, OPERATOR, Places(folder))


def administer(database: Database, places: Places, organization: str = "acme") -> Administration:
    principal = Principal("user:https://login.example.org#1", "Ana", organization)
    return Administration(database, Administrator(principal, organization), places)


def add_two_organizations(database: Database) -> Administration:
    """Add acme and globex, each with a server `docs` and its namespace `api`."""
    operator = operate(database)
    for slug in ("acme", "globex"):
        operator.add(ObjectKey(slug), {"name": slug.title()})
        operator.add(namespace("api", slug), {"repo": f"/srv/{slug}/api.git"})
        operator.add(server("docs", slug), {"namespaces": ["api"]})
    return operator
