"""The audit log: entries in the transaction of their change, in a chain of hashes."""

from __future__ import annotations

import hashlib
import json
import threading

import pytest
from sqlalchemy import delete, insert, update

from docyard.database.database import Database
from docyard.database.tables import AUDIT_LOG, ORGANIZATIONS
from docyard.organizations.audit import (
    append_audit_entry,
    list_audit_entries,
    lock_audit_log,
    verify_audit_log,
)
from tests.databases import *  # noqa: F403
from tests.docyard.organizations.organizations import add_two_organizations, namespace

ACME_API = namespace("api")


def append(database: Database, count: int) -> None:
    for number in range(count):
        with database.begin() as connection:
            append_audit_entry(connection, "operator", "token.add", f"t{number}", organization="acme")


def verify(database: Database) -> int | None:
    with database.connect() as connection:
        return verify_audit_log(connection).first_wrong_number


def test_changes_are_recorded_without_content(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.change(ACME_API, {"description": "Secret plan"})
    with database.connect() as connection:
        entries = list_audit_entries(connection, organization="acme", limit=2)
    assert [(entry.action, entry.object, entry.outcome) for entry in entries] == [
        ("namespace.change", "acme/api (description)", "ok"),
        ("server.add", "acme/docs", "ok"),
    ]
    assert entries[0].principal == "operator"
    assert "Secret" not in repr(entries)


def test_failed_change_leaves_no_entry(database: Database) -> None:
    def append_and_fail() -> None:
        with database.begin() as connection:
            append_audit_entry(connection, "operator", "organization.add", "acme")
            raise KeyError

    with pytest.raises(KeyError):
        append_and_fail()
    with database.connect() as connection:
        assert verify_audit_log(connection)[:2] == (0, "")


def test_changed_entry_is_found(database: Database) -> None:
    append(database, 5)
    assert verify(database) is None
    for number in (1, 3, 5):
        for field in ("object", "principal", "action", "outcome", "created_at", "organization"):
            value = 7 if field == "created_at" else "x"
            with database.connect() as connection:  # the change is rolled back
                connection.execute(
                    update(AUDIT_LOG).where(AUDIT_LOG.c.number == number).values({field: value})
                )
                assert verify_audit_log(connection).first_wrong_number == number
    assert verify(database) is None


def test_changed_entry_with_a_hash_of_its_own_is_found(database: Database) -> None:
    append(database, 3)
    with database.begin() as connection:
        last_hash = verify_audit_log(connection).last_hash
        row = connection.execute(AUDIT_LOG.select().where(AUDIT_LOG.c.number == 1)).mappings().one()
        fields = {**row, "object": "other"}
        del fields["hash"]
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        new_hash = hashlib.sha256(text.encode()).hexdigest()  # there is no entry before the first one
        connection.execute(
            update(AUDIT_LOG).where(AUDIT_LOG.c.number == 1).values(object="other", hash=new_hash)
        )
        check = verify_audit_log(connection)
    assert (check.entry_count, check.last_hash, check.first_wrong_number) == (1, new_hash, 2)
    assert last_hash != new_hash


def test_removed_and_inserted_entries_are_found(database: Database) -> None:
    append(database, 5)
    with database.begin() as connection:
        row = connection.execute(AUDIT_LOG.select().where(AUDIT_LOG.c.number == 3)).mappings().one()
        connection.execute(delete(AUDIT_LOG).where(AUDIT_LOG.c.number == 3))
    assert verify(database) == 3
    with database.begin() as connection:
        connection.execute(insert(AUDIT_LOG).values(dict(row)))
        connection.execute(insert(AUDIT_LOG).values({**row, "number": 6}))
    assert verify(database) == 6


def test_removal_of_the_last_entries_changes_the_last_hash(database: Database) -> None:
    append(database, 3)
    with database.begin() as connection:
        before = verify_audit_log(connection)
        connection.execute(delete(AUDIT_LOG).where(AUDIT_LOG.c.number == 3))
        after = verify_audit_log(connection)
    assert (after.first_wrong_number, after.entry_count) == (None, 2)
    assert after.last_hash != before.last_hash


def test_entries_appended_at_the_same_time_are_one_chain(database: Database) -> None:
    errors: list[Exception] = []

    def append_in_thread() -> None:
        try:
            append(database, 10)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=append_in_thread) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with database.connect() as connection:
        assert verify_audit_log(connection).entry_count == 50
    assert verify(database) is None


def test_transaction_that_locks_first_may_read_and_append(database: Database) -> None:
    with database.begin() as connection:
        lock_audit_log(connection)
        connection.execute(insert(ORGANIZATIONS).values(slug="acme"))
        connection.execute(ORGANIZATIONS.select()).all()
        append_audit_entry(connection, "operator", "organization.add", "acme\nx\0" + "y" * 1_000)
    with database.connect() as connection:
        entry = list_audit_entries(connection)[0]
    assert entry.object.startswith("acme?x?y")
    assert len(entry.object) == 500
    assert verify(database) is None
