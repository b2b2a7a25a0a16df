"""The views that callers have of servers, and the sources behind them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, update

from docyard.caller import READ_SCOPE, SCOPES, WRITE_SCOPE
from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.tables import ASSOCIATIONS, GROUP_RULES, NAMESPACES, ORGANIZATIONS
from docyard.hosting.organization_sources import OrganizationFolders, OrganizationSources
from docyard.hosting.views import build_view, select_administered
from docyard.identity.rules import Role, Rule
from docyard.organizations.directory import Directory, OrganizationEntry, ServerEntry
from index.sources.settings import AnswerLimits, Features, SourceSettings
from tests.databases import *  # noqa: F403
from tests.organizations import build_member, create_two_organizations, mark_change, open_hosting


@pytest.fixture
def hosting(database: Database, tmp_path: Path) -> Iterator[OrganizationSources]:
    create_two_organizations(database, tmp_path)
    hosting = open_hosting(database, tmp_path)
    yield hosting
    hosting.close()


def find_names(
    hosting: OrganizationSources, organization: str, server: str, *member: object
) -> set[str] | None:
    principal = build_member(*member) if member else None  # type: ignore[arg-type]
    view = hosting.find_view(organization, server, principal)
    return None if view is None else set(view.namespaces)


def test_everyone_reads_what_a_rule_gives_to_everyone(hosting: OrganizationSources) -> None:
    assert find_names(hosting, "acme", "docs") == {"api", "guides"}
    assert find_names(hosting, "acme", "team") == {"api", "guides"}
    assert find_names(hosting, "globex", "docs") is None


def test_member_reads_what_a_group_gives(hosting: OrganizationSources) -> None:
    assert find_names(hosting, "acme", "team", "acme", "staff") == {"api", "guides", "internal-notes"}
    assert find_names(hosting, "globex", "docs", "globex", "staff") == {"api"}


def test_member_of_another_organization_is_like_everyone(hosting: OrganizationSources) -> None:
    assert find_names(hosting, "acme", "team", "globex", "staff") == {"api", "guides"}
    assert find_names(hosting, "globex", "docs", "acme", "staff") is None


def test_unknown_server_is_like_one_that_may_not_be_read(hosting: OrganizationSources) -> None:
    assert find_names(hosting, "globex", "unknown", "acme", "staff") is None
    assert find_names(hosting, "unknown", "docs", "acme", "staff") is None


def test_token_without_the_scope_for_reading_reads_nothing(hosting: OrganizationSources) -> None:
    principal = build_member("acme", "staff", scopes=(WRITE_SCOPE,))
    assert hosting.find_view("acme", "docs", principal) is None


def test_server_without_namespaces_offers_no_searches(hosting: OrganizationSources) -> None:
    """Compare with the integration test of the design of `search_documentation`."""
    view = hosting.find_view("acme", "empty", build_member("acme", "staff"))
    assert view is not None
    dispatcher = hosting.build_dispatcher(view)
    assert dispatcher is not None
    assert "search_documentation" not in dispatcher.tool_names()
    view = hosting.find_view("acme", "docs", build_member("acme", "staff"))
    assert view is not None
    dispatcher = hosting.build_dispatcher(view)
    assert dispatcher is not None
    assert "search_documentation" in dispatcher.tool_names()
    assert hosting.find_view("acme", "empty", None) is None


def test_host_finds_the_server(hosting: OrganizationSources) -> None:
    view = hosting.find_host_view("docs.acme.example", None)
    assert view is not None
    assert view.server.slug == "docs"
    assert hosting.find_host_view("docs.globex.example", None) is None
    assert hosting.find_host_view("other.example", None) is None


def test_dispatcher_of_a_view_knows_its_namespaces_only(hosting: OrganizationSources) -> None:
    view = hosting.find_view("acme", "docs", None)
    assert view is not None
    dispatcher = hosting.build_dispatcher(view)
    assert dispatcher is not None
    answer = dispatcher.call("list_documentation_sources", {}, client="test")
    assert [entry["name"] for entry in answer.data["namespaces"]] == ["api", "guides"]
    answer = dispatcher.call(
        "search_documentation", {"query": "cursor", "namespace": "internal-notes"}, client="test"
    )
    assert answer.data["code"] == "NAMESPACE_NOT_FOUND"
    assert "internal" not in str({**answer.data, "error": "", "example": ""})


def test_change_of_the_database_is_followed(hosting: OrganizationSources, database: Database) -> None:
    changed_ids: list[frozenset[str]] = []
    hosting.on_change = changed_ids.append
    old_view = hosting.find_view("acme", "docs", None)
    globex = hosting.directory.organizations["globex"]
    with database.begin() as connection:
        connection.execute(delete(ASSOCIATIONS).where(ASSOCIATIONS.c.namespace_id == "ns_acme_guides"))
    mark_change(database)
    hosting.reload()
    assert find_names(hosting, "acme", "docs") == {"api"}
    assert changed_ids == [frozenset({"org_acme"})]
    assert hosting.directory.organizations["globex"] is globex
    assert old_view is not None
    assert hosting.build_dispatcher(old_view) is None


def test_unchanged_namespace_stays_open_and_a_changed_one_does_not(
    hosting: OrganizationSources, database: Database
) -> None:
    old_sources = {(source.organization, source.name): source for source in hosting}
    with database.begin() as connection:
        connection.execute(
            update(NAMESPACES).where(NAMESPACES.c.id == "ns_acme_api").values(settings={"repo": "acme/api"})
        )
    mark_change(database)
    hosting.reload()
    new_sources = {(source.organization, source.name): source for source in hosting}
    changed = {key for key, source in new_sources.items() if source is not old_sources[key]}
    assert changed == {("org_acme", "api")}


def test_removed_organization_and_rule_close_the_server(
    hosting: OrganizationSources, database: Database
) -> None:
    with database.begin() as connection:
        connection.execute(delete(GROUP_RULES).where(GROUP_RULES.c.group_name == "*"))
        connection.execute(delete(ORGANIZATIONS).where(ORGANIZATIONS.c.slug == "globex"))
        connection.execute(
            insert(GROUP_RULES).values(
                organization_id="org_acme", group_name="staff", namespace_prefix="internal-", role="none"
            )
        )
    mark_change(database)
    hosting.reload()
    assert find_names(hosting, "acme", "docs") is None
    assert find_names(hosting, "globex", "docs", "globex", "staff") is None
    assert find_names(hosting, "acme", "team", "acme", "staff") == {"api", "guides"}


def test_organizations_share_no_index(hosting: OrganizationSources) -> None:
    for organization in ("acme", "globex"):
        view = hosting.find_view(organization, "docs", build_member(organization, "staff"))
        assert view is not None
        dispatcher = hosting.build_dispatcher(view)
        assert dispatcher is not None
        assert not dispatcher.call(
            "search_documentation", {"query": "cursor", "namespace": "api"}, client="test"
        ).is_error
    folders = {source._cache_folder.name for source in hosting}
    assert folders == {"org_acme", "org_globex"}


def test_unavailable_database_keeps_the_last_directory(
    hosting: OrganizationSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(database: Database) -> int:
        raise DatabaseUnavailable("down", "the database cannot be reached", "Start it.")

    with monkeypatch.context() as patch:
        patch.setattr("docyard.hosting.organization_sources.read_directory_version", fail)
        hosting.reload()
        assert hosting.failure is not None
        assert find_names(hosting, "acme", "docs") == {"api", "guides"}
    hosting.reload()
    assert hosting.failure is None


def test_administrators_administer_their_organization_only(
    hosting: OrganizationSources, database: Database
) -> None:
    with database.begin() as connection:
        for slug in ("acme", "globex"):
            connection.execute(
                insert(GROUP_RULES).values(
                    organization_id=f"org_{slug}", group_name="lead", namespace_prefix="", role="admin"
                )
            )
    mark_change(database)
    hosting.reload()

    def list_slugs(*member: str | None, scopes: tuple[str, ...] = SCOPES) -> list[str] | None:
        organizations = select_administered(
            hosting.directory,
            build_member(member[0], *filter(None, member[1:]), scopes=scopes),
        )
        return None if organizations is None else list(organizations)

    assert list_slugs("acme", "lead") == ["acme"]
    assert list_slugs("acme", "staff") == []
    assert list_slugs(None, "lead") == ["acme", "globex"]  # a token of the operator
    assert list_slugs("acme", "lead", scopes=(READ_SCOPE,)) == []
    operator = build_member(None, scopes=SCOPES)._replace(is_operator=True)
    assert select_administered(hosting.directory, operator) is None
    assert select_administered(hosting.directory, None) == {}


def test_groups_of_a_user_without_an_organization_count_only_if_they_are_shared(
    hosting: OrganizationSources, database: Database, tmp_path: Path
) -> None:
    user = build_member(None, "staff")._replace(key="user:https://login.example#1")
    assert hosting.find_view("globex", "docs", user) is None
    assert hosting.find_view("globex", "docs", user._replace(organization="globex")) is not None
    sharing = OrganizationSources(
        database, OrganizationFolders(tmp_path, tmp_path / "c", tmp_path / "i"), shares_groups=True
    )
    sharing.reload()
    assert sharing.find_view("globex", "docs", user) is not None
    with database.begin() as connection:
        connection.execute(delete(ORGANIZATIONS).where(ORGANIZATIONS.c.slug == "acme"))
    mark_change(database)
    hosting.reload()
    assert hosting.find_view("globex", "docs", user) is not None


def test_view_of_many_rules_and_namespaces_is_found_quickly() -> None:
    names = tuple(f"n{number:03}" for number in range(1_000))
    server = ServerEntry("mcp_1", "docs", "", None, Features(), AnswerLimits(), names)
    settings = SourceSettings(repo="docs")
    rules = tuple(Rule("*", name, Role.READER) for name in names) + tuple(
        Rule(f"g{number}", "", Role.READER) for number in range(9_000)
    )
    organization = OrganizationEntry(
        "org_1", "acme", "", dict.fromkeys(names, settings), {}, {"docs": server}, rules
    )
    directory = Directory(1, {"acme": organization})
    start_time = time.process_time()
    view = build_view(directory, organization, server, None)
    assert time.process_time() - start_time < 0.2  # it keeps the event loop busy; a search of all took 1 s
    assert view is not None
    assert len(view.namespaces) == 1_000
