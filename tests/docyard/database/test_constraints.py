"""The constraints of the schema, as SQL itself enforces them."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from docyard.database.database import Database
from docyard.database.tables import (
    ASSOCIATIONS,
    METADATA,
    NAMESPACES,
    ORGANIZATIONS,
    SEARCH_QUERIES,
    SERVERS,
)
from tests.databases import *  # noqa: F403


@pytest.fixture(autouse=True)
def _two_organizations(database: Database) -> None:
    with database.begin() as connection:
        for slug in ("acme", "globex"):
            connection.execute(insert(ORGANIZATIONS).values(id=f"org_{slug}", slug=slug))
            connection.execute(
                insert(SERVERS).values(id=f"mcp_{slug}", organization_id=f"org_{slug}", slug="docs")
            )
            connection.execute(
                insert(NAMESPACES).values(
                    id=f"ns_{slug}", organization_id=f"org_{slug}", name="api", settings={"repo": "/srv/api"}
                )
            )


def associate(database: Database, organization: str, server: str, namespace: str) -> None:
    values = {"organization_id": organization, "mcp_server_id": server, "namespace_id": namespace}
    with database.begin() as connection:
        connection.execute(insert(ASSOCIATIONS).values(**values))


def record_search(
    database: Database, organization: str, server: str, namespace: str, **fields: object
) -> None:
    values = {"organization_id": organization, "mcp_server_id": server, "namespace_id": namespace}
    with database.begin() as connection:
        connection.execute(
            insert(SEARCH_QUERIES).values(**values, **{"query_text": "q", "search_type": "bm25", **fields})
        )


def test_association_within_an_organization_is_stored(database: Database) -> None:
    associate(database, "org_acme", "mcp_acme", "ns_acme")

    with database.connect() as connection:
        row = connection.execute(select(ASSOCIATIONS)).one()
    assert row.id.startswith("msdn_")
    assert row.created_at > 1_700_000_000_000


@pytest.mark.parametrize("organization", ["org_acme", "org_globex"])
@pytest.mark.parametrize(("server", "namespace"), [("mcp_acme", "ns_globex"), ("mcp_globex", "ns_acme")])
def test_association_across_organizations_is_refused(
    database: Database, organization: str, server: str, namespace: str
) -> None:
    with pytest.raises(IntegrityError):
        associate(database, organization, server, namespace)


def test_association_of_another_organization_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError):
        associate(database, "org_globex", "mcp_acme", "ns_acme")


def test_second_association_of_a_pair_is_refused(database: Database) -> None:
    associate(database, "org_acme", "mcp_acme", "ns_acme")
    with pytest.raises(IntegrityError):
        associate(database, "org_acme", "mcp_acme", "ns_acme")


def test_namespace_cannot_move_to_another_organization(database: Database) -> None:
    associate(database, "org_acme", "mcp_acme", "ns_acme")
    with pytest.raises(IntegrityError), database.begin() as connection:
        connection.execute(
            NAMESPACES.update().where(NAMESPACES.c.id == "ns_acme").values(organization_id="org_globex")
        )


def test_search_across_organizations_is_refused(database: Database) -> None:
    record_search(database, "org_acme", "mcp_acme", "ns_acme")
    with pytest.raises(IntegrityError):
        record_search(database, "org_acme", "mcp_acme", "ns_globex")
    with pytest.raises(IntegrityError):
        record_search(database, "org_globex", "mcp_acme", "ns_globex")


def test_search_of_an_unknown_type_is_refused(database: Database) -> None:
    with pytest.raises(IntegrityError):
        record_search(database, "org_acme", "mcp_acme", "ns_acme", search_type="exact")


def test_removed_organization_takes_its_rows_along(database: Database) -> None:
    associate(database, "org_acme", "mcp_acme", "ns_acme")
    record_search(database, "org_acme", "mcp_acme", "ns_acme")
    record_search(database, "org_globex", "mcp_globex", "ns_globex")
    with database.begin() as connection:
        connection.execute(delete(ORGANIZATIONS).where(ORGANIZATIONS.c.slug == "acme"))
        counts = {
            table.name: connection.scalar(select(func.count()).select_from(table))
            for table in (ORGANIZATIONS, SERVERS, NAMESPACES, ASSOCIATIONS, SEARCH_QUERIES)
        }
    assert list(counts.values()) == [1, 1, 1, 0, 1]


def test_seed_columns_and_indexes_exist() -> None:
    """Compare with the schema of the design of `search_documentation`."""
    names = (
        "id mcp_server_id mcp_server_user_id mcp_server_session_id namespace_id organization_id query_text "
        "search_type result_count walkthrough_id walkthrough_step_id response_time_ms query_embedding "
        "created_at"
    )
    assert set(names.split()) <= set(SEARCH_QUERIES.c.keys())
    assert {index.name for index in SEARCH_QUERIES.indexes} == {
        "documentation_search_queries_namespace_idx",
        "documentation_search_queries_walkthrough_idx",
        "documentation_search_queries_session_idx",
        "documentation_search_queries_organization_idx",  # not in the design: exports, and deletion by age
    }
    assert {index.name for index in METADATA.tables["mcp_server_documentation_namespaces"].indexes} == {
        "mcp_server_documentation_namespaces_mcp_server_id_idx",
        "mcp_server_documentation_namespaces_namespace_id_idx",
    }
