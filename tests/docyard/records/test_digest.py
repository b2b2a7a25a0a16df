"""The digest of a day: its numbers, and texts of callers that stay text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from docyard.commands.admin import command
from docyard.database.database import Database
from docyard.database.ids import read_clock_ms
from docyard.records.counts import DAY_MS
from docyard.records.digest import write_digest
from docyard.records.problem_reports import build_report_receiver
from docyard.records.recorder import Recorder
from docyard.records.rows import RecordTarget
from docyard.records.summary import OrganizationName
from tests.docyard.records.conftest import make_search, observe
from tools.records.problem_reports import ReaderReport

ACME = OrganizationName("org_acme", "acme", "")


def test_digest_has_numbers_and_escaped_texts(
    database: Database,
    target: RecordTarget,
    build_recorder: Callable[..., Recorder],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = build_recorder()
    observe(recorder, target, make_search("retry budget"))
    observe(
        recorder,
        target,
        make_search("# [x](javascript:1)\n<img src=x>", result_counts={"guides": 0}, missing_words=("img",)),
    )
    assert recorder._work()
    build_report_receiver(database, lambda: target)(
        ReaderReport("api", "errors.md", "A `quote`\n# heading", "", None)
    )
    today = read_clock_ms() // DAY_MS * DAY_MS
    with database.connect() as connection:
        text = write_digest(connection, ACME, today)
        empty_text = write_digest(connection, ACME, today - DAY_MS)
    assert "2 searches, of which 1 found nothing. p50 below 5 ms" in text
    assert "1. `# [x](javascript:1) <img src=x>` (1, `guides`)" in text
    assert "## Words that occur nowhere\n\n1. `img` (1, `guides`)" in text
    assert "- `api errors.md`: ``A `quote` # heading``" in text
    assert "Nothing was searched on this day" in empty_text
    monkeypatch.setenv("DOCYARD_SERVER__DATABASE__URL", database_url)
    result = CliRunner().invoke(command, ["records", "digest", "--day", "today"])
    assert result.output == text
    assert CliRunner().invoke(command, ["records", "digest", "--day", "soon"]).exit_code == 2
