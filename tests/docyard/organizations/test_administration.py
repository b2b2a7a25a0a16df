"""Changes of organizations by the operator and by administrators."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, ORGANIZATIONS
from docyard.organizations.administration import Administration, ChangeConflict
from docyard.organizations.audit import list_audit_entries, verify_audit_log
from docyard.organizations.authority import NotPermitted, Places
from docyard.organizations.directory import read_directory_version
from docyard.organizations.file import InvalidOrganizations
from docyard.organizations.objects import AlreadyExists, ObjectKey, ObjectNotFound, compute_version
from docyard.organizations.storage import InvalidStoredSettings
from index.sources.settings import MAX_SOURCES
from tests.databases import *  # noqa: F403
from tests.docyard.organizations.organizations import (
    ACME,
    GLOBEX,
    add_two_organizations,
    administer,
    namespace,
    operate,
    rule,
    server,
)
from tests.loops import loop_over

PLACES = Places(Path("/srv"))


def test_objects_are_added_changed_renamed_and_removed(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.change(server("docs"), {"host": "Docs.Example.org", "max_tokens": 900, "tool_prefix": "d_"})
    operator.add(rule("engineers:api-"), {"role": "reader"})
    operator.change(rule("engineers:api-"), {"role": "writer"})
    operator.add(namespace("guides"), {"url": "https://github.com/acme/guides.git", "every": "5m"})
    operator.associate(server("docs"), "guides")
    operator.dissociate(server("docs"), "api")
    assert operator.rename(namespace("guides"), "manuals") == namespace("manuals")
    assert operator.rename(ACME, "acme-inc") == ObjectKey("acme-inc")
    operator.remove(GLOBEX)

    assert operator.read_state() == {
        ObjectKey("acme-inc"): {"name": "Acme"},
        server("docs", "acme-inc"): {
            "host": "docs.example.org",
            "max_tokens": 900,
            "tool_prefix": "d_",
            "namespaces": ["manuals"],
        },
        namespace("api", "acme-inc"): {"repo": "/srv/acme/api.git"},
        namespace("manuals", "acme-inc"): {"url": "https://github.com/acme/guides.git", "every": 300},
        rule("engineers:api-", "acme-inc"): {"role": "writer"},
    }


def test_default_replaces_a_field_that_is_none(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.change(server("docs"), {"host": "docs.example.org"})
    operator.change(server("docs"), {"host": None})
    assert operator.find(server("docs")) == {"namespaces": ["api"]}
    assert operator.change(server("docs"), {"host": None}) is None


@pytest.fixture
def operator(database: Database) -> Administration:
    return add_two_organizations(database)


@loop_over(
    ("key", "fields", "field"),
    [
        (ObjectKey("Acme!"), {}, "Acme!"),
        (ObjectKey("-acme"), {}, "-acme"),
        (server("a b"), {}, "a b"),
        (server("new"), {"max_tokens": 10}, "max_tokens"),
        (server("new"), {"host": "a b"}, "host"),
        (server("new"), {"tool_prefix": "Docs"}, "tool_prefix"),
        (server("new"), {"namespaces": ["apy"]}, "namespaces"),
        (server("new"), {"namespace": ["api"]}, "namespace"),
        (namespace("new"), {}, "repo"),
        (namespace("new"), {"repo": "/a", "url": "https://github.com/a/b"}, "repo"),
        (namespace("new"), {"url": "https://ana:secret@github.com/a/b"}, "url"),
        (namespace("new"), {"repo": "/a", "permalink": "https://{pth}"}, "permalink"),
        (namespace("API"), {"repo": "/a"}, "case"),
        (namespace("a/b"), {"repo": "/a"}, "a/b"),
        (rule("a:b/"), {"role": "reader"}, "namespace_prefix"),
        (rule("a:b"), {"role": "owner"}, "role"),
        (rule("a:b"), {}, "role"),
        (rule(":b"), {"role": "reader"}, "group"),
        (rule("*:"), {"role": "admin"}, "role"),
    ],
)
def test_invalid_fields_are_refused_and_nothing_is_written(
    operator: Administration, key: ObjectKey, fields: dict[str, object], field: str
) -> None:
    state = operator.read_state()
    with pytest.raises(InvalidOrganizations) as raised:
        operator.add(key, fields)
    assert field in raised.value.message
    assert "organizations.acme" not in raised.value.message
    assert "secret" not in raised.value.message
    assert raised.value.fix
    assert operator.read_state() == state


def test_unknown_names_suggest_the_nearest(database: Database) -> None:
    operator = add_two_organizations(database)
    for key, nearest in (
        (ObjectKey("acmee"), "acme"),
        (server("doc"), "docs"),
        (namespace("apis"), "api"),
        (server("docs", "acmee"), "acme"),
    ):
        with pytest.raises(ObjectNotFound) as raised:
            operator.change(key, {"name": "x"})
        assert raised.value.details["nearest"] == [nearest]
        assert raised.value.fix == f"Did you mean '{nearest}'?"


def test_organization_has_a_limited_number_of_namespaces(database: Database) -> None:
    operator = operate(database)
    operator.add(ACME, {})
    with database.begin() as connection:
        organization_id = connection.scalar(select(ORGANIZATIONS.c.id))
        rows = [
            {"organization_id": organization_id, "name": f"n{number}", "settings": {"repo": "/srv/x"}}
            for number in range(MAX_SOURCES)
        ]
        connection.execute(insert(NAMESPACES), rows)
    with pytest.raises(InvalidOrganizations) as raised:
        operator.add(namespace("more"), {"repo": "/srv/x"})
    assert raised.value.message == "the organization has more than 1,000 namespaces"
    operator.change(namespace("n7"), {"ref": "v2"})


def test_second_object_with_a_name_is_refused(database: Database) -> None:
    operator = add_two_organizations(database)
    for key in (ACME, server("docs"), namespace("api")):
        with pytest.raises(AlreadyExists):
            operator.add(key, {"repo": "/x"} if key == namespace("api") else {})
    with pytest.raises(AlreadyExists):
        operator.rename(ACME, "globex")


def test_host_of_another_server_is_refused(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.change(server("docs"), {"host": "docs.example.org"})
    with pytest.raises(InvalidOrganizations) as raised:
        operator.change(server("docs", "globex"), {"host": "docs.example.org"})
    assert "acme/docs" in raised.value.message


def test_change_of_an_older_version_is_a_conflict(database: Database) -> None:
    operator = add_two_organizations(database)
    version = compute_version(operator.find(server("docs")))
    operator.change(server("docs"), {"name": "First"}, expected=version)
    for change in (
        lambda: operator.change(server("docs"), {"name": "Second"}, expected=version),
        lambda: operator.rename(server("docs"), "second", expected=version),
        lambda: operator.remove(server("docs"), expected=version),
        lambda: operator.dissociate(server("docs"), "api", expected=version),
    ):
        with pytest.raises(ChangeConflict) as raised:
            change()
        assert raised.value.code == "CONFLICT"
    assert operator.find(server("docs"))["name"] == "First"


def test_administrators_at_the_same_time_lose_no_change(database: Database) -> None:
    add_two_organizations(database)
    results: list[str] = []
    version = compute_version(operate(database).find(server("docs")))

    def change(number: int) -> None:
        operator = operate(database)
        operator.add(namespace(f"n{number}"), {"repo": f"/srv/{number}"})
        operator.associate(server("docs"), f"n{number}")
        try:
            operator.change(ACME, {"name": f"Acme {number}"}, expected=compute_version({"name": "Acme"}))
            results.append("changed")
        except ChangeConflict:
            results.append("conflict")

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == ["changed", *["conflict"] * 5]
    operator = operate(database)
    assert operator.find(server("docs"))["namespaces"] == ["api", *(f"n{number}" for number in range(6))]
    assert compute_version(operator.find(server("docs"))) != version
    with database.connect() as connection:
        check = verify_audit_log(connection)
    assert (check.entry_count, check.first_wrong_number) == (6 + 6 * 2 + 1, None)


def test_object_of_another_organization_answers_like_an_unknown_one(database: Database) -> None:
    add_two_organizations(database)
    admin = administer(database, PLACES)
    assert {key.organization for key in admin.read_state()} == {"acme"}
    for known, unknown in (
        (GLOBEX, ObjectKey("glabex")),
        (server("docs", "globex"), server("docs", "glabex")),
        (namespace("api", "globex"), namespace("api", "glabex")),
    ):
        messages = []
        for key in (known, unknown):
            errors = []
            for attempt in (
                lambda key=key: admin.find(key),
                lambda key=key: admin.change(key, {"name": "x"}, expected="0"),
                lambda key=key: admin.remove(key),
                lambda key=key: admin.add(key, {"repo": "/x"}),
                lambda key=key: admin.rename(key, "x"),
            ):
                with pytest.raises((ObjectNotFound, NotPermitted)) as raised:
                    attempt()
                error = raised.value
                errors.append((error.code, error.message, error.fix, repr(error.details)))
            messages.append(repr(errors).replace("glabex", "globex"))
        assert messages[0] == messages[1]
    assert len(operate(database).read_state()) == 6


def test_administrator_changes_their_organization(database: Database) -> None:
    add_two_organizations(database)
    admin = administer(database, PLACES)
    admin.change(ACME, {"name": "Acme Inc."})
    admin.add(server("more"), {"namespaces": ["api"]})
    admin.rename(server("more"), "most")
    admin.change(namespace("api"), {"description": "All functions"})
    admin.add(rule("*:"), {"role": "reader"})
    admin.remove(rule("*:"))
    assert set(admin.read_state()) == {ACME, server("docs"), server("most"), namespace("api")}


def test_administrator_changes_nothing_that_the_operator_decides(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.change(server("docs"), {"host": "docs.example.org"})
    state, version = operator.read_state(), read_directory_version(database)
    admin = administer(database, PLACES)
    for attempt in (
        lambda: admin.add(ObjectKey("new"), {}),
        lambda: admin.remove(ACME),
        lambda: admin.rename(ACME, "new"),
        lambda: admin.add(server("new"), {"host": "new.example.org"}),
        lambda: admin.change(server("docs"), {"host": "new.example.org"}),
        lambda: admin.change(server("docs"), {"host": None}),
    ):
        with pytest.raises(NotPermitted):
            attempt()
    assert operator.read_state() == state
    assert read_directory_version(database) == version
    with database.connect() as connection:
        refused = [entry for entry in list_audit_entries(connection) if entry.outcome == "NOT_PERMITTED"]
    assert len(refused) == 6
    assert {entry.organization for entry in refused} == {"acme"}


def test_settings_that_are_not_valid_any_more_are_reported(database: Database) -> None:
    operator = add_two_organizations(database)
    with database.begin() as connection:
        connection.execute(update(NAMESPACES).values(settings={"rep": "/srv/api.git"}))
    with pytest.raises(InvalidStoredSettings) as raised:
        operator.read_state()
    assert "acme/api" in raised.value.message or "globex/api" in raised.value.message
