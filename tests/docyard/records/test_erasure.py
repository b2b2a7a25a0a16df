"""The removal of a text or a person: rows, counts, bytes of files, indexes, and what remains in Git."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import insert, select, update

from docyard.commands.admin import command
from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, NOTIFICATIONS, SESSIONS, TERM_TOTALS
from docyard.notifications.queue import NewEvent, NewNotification, NotificationQueue, QueueOwner
from docyard.records.erasure import count_person, count_text, erase_person, erase_text
from docyard.records.problem_reports import build_report_receiver, list_reports
from docyard.records.questions import HashKeys
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.terminal.exits import CommandError
from tests.docyard.notifications.test_webhook import CONTENT
from tests.docyard.records.conftest import make_search, observe, read_searches
from tests.docyard.records.test_counts import check_counts
from tests.repositories import create_repository
from tools.records.problem_reports import ReaderReport

SECRET = "Tok_9f%Z'x"
RunErase = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def _recorded(database: Database, target: RecordTarget, build_recorder: Callable[..., Recorder]) -> None:
    recorder = build_recorder()
    observe(recorder, target, make_search(f"why is  {SECRET} refused", result_counts={"api": 0}))
    observe(recorder, target, make_search("ünïcode wörd", missing_words=("wörd",)))
    for _ in range(3):
        observe(recorder, target, make_search("harmless"), principal="user:issuer#ben")
    assert recorder._work()
    hashing_recorder = build_recorder(mode="hash")
    observe(hashing_recorder, target, make_search(SECRET))
    assert hashing_recorder._work()
    receive = build_report_receiver(database, lambda: target)
    receive(ReaderReport("api", "a.md", f"It shows {SECRET}.", "", "user:issuer#ben"))
    receive(ReaderReport("api", "a.md", "Wrong.", "", "user:issuer#ana"))


def test_queued_notifications_are_searched_and_removed(
    database: Database, target: RecordTarget, tmp_path: Path
) -> None:
    def queue_titles(**titles: str) -> None:
        queue = NotificationQueue(
            database, lambda: QueueOwner(target.organization_id, target.namespace_ids["api"])
        )
        queue.put([])
        for recipient, title in titles.items():
            event_id = f"{recipient} {len(title)}"
            content = CONTENT._replace(event_id=event_id, title=title)
            channel = "email" if recipient in ("ana", "ben") else "webhook"
            recipient = recipient if channel == "email" else ""
            queue.put([NewEvent(event_id, 0, [NewNotification(channel, recipient, content)])])

    queue_titles(ana='Quote " and é', ben="Other", webhook=f"Shows {SECRET}")
    assert count_text(database, SECRET.upper(), HashKeys()).notifications == 1
    assert erase_text(database, SECRET, HashKeys()).notifications == 1
    assert erase_text(database, 'Quote " and é', HashKeys()).notifications == 1
    queue_titles(ana="Third", webhook="Fourth")
    assert count_person(database, "user:issuer#ana").notifications == 0
    assert erase_person(database, "token:").notifications == 0
    assert count_person(database, "token:ana").notifications == 1
    assert erase_person(database, "token:ana").notifications == 1
    with database.connect() as connection:
        assert set(connection.execute(select(NOTIFICATIONS.c.recipient)).scalars()) == {"ben", ""}
    if database.is_sqlite:
        data = b"".join(file.read_bytes() for file in tmp_path.glob("server.sqlite*"))
        assert b"Fourth" in data
        assert b"tok_9f" not in data.lower()


def test_text_is_removed_from_rows_counts_reports_and_files(database: Database, tmp_path: Path) -> None:
    assert count_text(database, SECRET.upper(), HashKeys())[:3] == (2, 0, 1)
    assert len(read_searches(database)) == 6
    assert erase_text(database, SECRET, HashKeys())[:3] == (2, 0, 1)
    assert {row.query_text for row in read_searches(database)} == {"harmless", "ünïcode wörd"}
    check_counts(database)
    with database.connect() as connection:
        assert [report.problem for report in list_reports(connection)] == ["Wrong."]
        assert not any("tok_9f" in text for text in connection.execute(select(TERM_TOTALS.c.text)).scalars())
    if database.is_sqlite:
        data = b"".join(file.read_bytes() for file in tmp_path.glob("server.sqlite*"))
        assert b"harmless" in data
        assert b"tok_9f" not in data.lower()
    assert erase_text(database, SECRET, HashKeys()) == (0, 0, 0, 0, 0)
    assert count_text(database, "wörd", HashKeys()).searches == 1


def test_text_with_letters_of_any_alphabet_is_found(
    database: Database, target: RecordTarget, build_recorder: Callable[..., Recorder]
) -> None:
    recorder = build_recorder()
    observe(recorder, target, make_search("Das ist ÜBER-Geheim", missing_words=("ÜBER-Geheim",)))
    assert recorder._work()
    receive = build_report_receiver(database, lambda: target)
    receive(ReaderReport("api", "a.md", "Der Schlüssel ist ÜBER-Geheim.", "", None))
    for text in ("ÜBER-Geheim", "über-geheim") if database.is_sqlite else ("ÜBER-Geheim",):
        assert count_text(database, text, HashKeys())[:3] == (1, 0, 1)
    assert erase_text(database, "ÜBER-Geheim", HashKeys())[:3] == (1, 0, 1)


def test_erased_person_is_signed_out(database: Database) -> None:
    values = {"principal_name": "Ben", "group_names": [], "scopes": [], "token_digest": "", "last_used_at": 0}
    with database.begin() as connection:
        for name in ("ana", "ben"):
            key = f"user:issuer#{name}"
            connection.execute(insert(SESSIONS).values(digest=name, principal=key, **values))
    erase_person(database, "user:issuer#ben")
    with database.connect() as connection:
        assert connection.execute(select(SESSIONS.c.digest)).scalars().all() == ["ana"]


def test_person_is_removed_from_searches_calls_and_reports(database: Database) -> None:
    assert count_person(database, "user:issuer#ben") == (3, 3, 1, 0, 0)
    assert erase_person(database, "user:issuer#ben") == (3, 3, 1, 0, 0)
    assert all(row.mcp_server_user_id != "user:issuer#ben" for row in read_searches(database))
    check_counts(database)
    assert count_person(database, "user:issuer#ben") == (0, 0, 0, 0, 0)


@pytest.fixture
def erase(database_url: str, monkeypatch: pytest.MonkeyPatch) -> RunErase:
    monkeypatch.setenv("DOCYARD_SERVER__DATABASE__URL", database_url)

    def run_command(*arguments: str, text: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(command, ["erase", *arguments], input=text, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.return_value, result.output

    return run_command


def test_command_names_what_only_a_rewrite_removes(
    erase: RunErase, database: Database, tmp_path: Path
) -> None:
    repo = create_repository(tmp_path / "specs")
    repo.commit({"leak.md": f"# Leak\n\n{SECRET}\n"})
    leaked_commit = repo.head()
    repo.commit({"leak.md": "# Leak\n\nremoved\n"}, message=f"Remove {SECRET}")
    places = {"api": {"repo": str(repo.path)}, "guides": {"url": "https://h/x.git"}}
    with database.begin() as connection:
        for name, settings in places.items():
            connection.execute(update(NAMESPACES).where(NAMESPACES.c.name == name).values(settings=settings))
    code, output = erase("--text", "-", "--dry-run", text=f"{SECRET}\n")
    assert code == 1
    assert "Would remove 2 searches, 0 calls, 1 reports and 0 notifications." in output
    assert f"    {leaked_commit} leak.md\n" in output
    assert f"    {repo.head()} (the message or the author)\n" in output
    assert "still in" not in output
    assert "not searched: acme/guides (https://h/x.git)" in output
    assert len(read_searches(database)) == 6
    code, output = erase("--text", SECRET, "--json")
    data = json.loads(output)
    assert data["records"]["searches"] == 2
    [report] = data["repositories"]
    assert report["index_rebuilt"]
    assert {"commit": leaked_commit, "path": "leak.md"} in report["commits"]
    assert report["refs"] == []


def test_text_that_is_still_in_a_document_is_named(erase: RunErase, tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "specs")
    repo.commit({"sub/leak.md": f"# Leak\n\n{SECRET}\n"})
    code, output = erase("--text", SECRET, "-C", str(repo.path))
    assert code == 1
    assert "still in main: sub/leak.md" in output
    assert "Removed" not in output
    assert erase("--text", "nowhere to be found", "-C", str(repo.path))[0] == 0


def test_person_is_erased_by_the_command(erase: RunErase) -> None:
    assert erase("--person", "user:issuer#ben")[1].startswith("Removed 3 searches, 3 calls, 1 reports and 0 ")


def test_short_text_is_refused(erase: RunErase) -> None:
    with pytest.raises(CommandError):
        erase("--text", "abc")
