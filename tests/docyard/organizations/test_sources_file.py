"""The organization `default` of a file of sources."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import delete, insert, select

from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, SEARCH_QUERIES, SERVERS
from docyard.organizations.objects import Kind, ObjectKey
from docyard.organizations.sources_file import import_sources_file
from index.sources.settings import SourcesFile
from tests.databases import *  # noqa: F403
from tests.docyard.organizations.organizations import add_two_organizations, namespace, operate, server

DEFAULT = ObjectKey("default")


def make_file(*names: str, **options: object) -> SourcesFile:
    return SourcesFile.model_validate(
        {"sources": {name: {"repo": f"git/{name}"} for name in names}, **options}
    )


def record_search(database: Database, name: str) -> None:
    with database.begin() as connection:
        row = connection.execute(select(NAMESPACES).where(NAMESPACES.c.name == name)).one()
        server_id = connection.scalar(
            select(SERVERS.c.id).where(SERVERS.c.organization_id == row.organization_id)
        )
        connection.execute(
            insert(SEARCH_QUERIES).values(
                organization_id=row.organization_id,
                mcp_server_id=server_id,
                namespace_id=row.id,
                query_text="q",
                search_type="bm25",
            )
        )


def test_file_becomes_the_default_organization(database: Database) -> None:
    content = make_file(
        "api", "guides", features={"tool_prefix": "d_"}, limits={"max_tokens": 900, "searches_per_minute": 60}
    )
    import_sources_file(database, content, Path("/srv"))
    assert operate(database).read_state() == {
        DEFAULT: {},
        server("default", "default"): {
            "namespaces": ["api", "guides"],
            "tool_prefix": "d_",
            "max_tokens": 900,
        },
        namespace("api", "default"): {"repo": "/srv/git/api"},
        namespace("guides", "default"): {"repo": "/srv/git/guides"},
    }
    assert import_sources_file(database, content, Path("/srv")).changes == ()


def test_removed_source_stays_while_records_need_it(database: Database) -> None:
    import_sources_file(database, make_file("api", "guides", "old"), Path("/srv"))
    record_search(database, "old")
    import_sources_file(database, make_file("api"), Path("/srv"))
    state = operate(database).read_state()
    assert {key.name for key in state if key.kind is Kind.NAMESPACE} == {"api", "old"}
    assert state[server("default", "default")]["namespaces"] == ["api"]
    with database.begin() as connection:
        connection.execute(delete(SEARCH_QUERIES))
    plan = import_sources_file(database, make_file("api"), Path("/srv"))
    assert [change.key for change in plan.changes] == [namespace("old", "default")]


def test_source_that_returns_has_its_records(database: Database) -> None:
    import_sources_file(database, make_file("api"), Path("/srv"))
    record_search(database, "api")
    import_sources_file(database, make_file("other"), Path("/srv"))
    import_sources_file(database, make_file("api"), Path("/srv"))
    with database.connect() as connection:
        assert (
            connection.scalar(
                select(NAMESPACES.c.name).join(
                    SEARCH_QUERIES, SEARCH_QUERIES.c.namespace_id == NAMESPACES.c.id
                )
            )
            == "api"
        )


def test_other_organizations_are_not_changed(database: Database) -> None:
    operator = add_two_organizations(database)
    state = operator.read_state()
    operator.add(DEFAULT, {"name": "Ours"})
    operator.add(server("own", "default"), {"host": "docs.example.org"})
    import_sources_file(database, make_file("api"), Path("/srv"))
    new_state = operator.read_state()
    assert state.items() <= new_state.items()
    assert new_state[DEFAULT] == {"name": "Ours"}
    assert new_state[server("own", "default")] == {"host": "docs.example.org"}
