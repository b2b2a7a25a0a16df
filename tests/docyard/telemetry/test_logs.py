"""Logs without content: as JSON and as text, with the id of the request."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from docyard.telemetry.logs import FIELDS, ContentFreeFormatter, LogOptions, configure_logs
from docyard.telemetry.request_ids import choose_request_id, get_request_id, set_request_id
from index.port import EngineUnavailable
from tests.loops import loop_over

SECRET = "how do I rotate the payroll key?"


def format_record(
    message: str,
    *arguments: Any,
    logger: str = "docyard",
    error: BaseException | None = None,
    **options: bool,
) -> str:
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(
        logger, logging.WARNING, "/a/b/docyard/x/y.py", 7, message, arguments, exc_info
    )
    setattr(record, FIELDS, {"status": 200})
    return ContentFreeFormatter(is_json=options.pop("is_json", True), **options).format(record)


def raise_with_content() -> BaseException:
    try:
        try:
            {}[SECRET]
        except KeyError as error:
            raise ValueError(SECRET) from error
    except ValueError as error:
        return error


def test_log_has_numbers_and_identifiers_but_no_other_text() -> None:
    line = format_record("%s failed, reference %s: %s after %d s", "get_doc", "ab12cd34", SECRET, 3)
    assert json.loads(line)["message"] == "get_doc failed, reference ab12cd34: … after 3 s"


@loop_over("content", ["guides/payroll.md", "two words", "a\nb", b"bytes", ["list"], ValueError(SECRET)])
def test_content_is_hidden(content: Any) -> None:
    assert json.loads(format_record("failed: %s", content))["message"] == "failed: …"


def test_code_of_an_error_is_logged_without_its_message() -> None:
    error = EngineUnavailable(SECRET, fix="Start it.")
    assert json.loads(format_record("failed: %s", error))["message"] == "failed: ENGINE_UNAVAILABLE"
    line = format_record("failed: %s", error, includes_content=True)
    assert json.loads(line)["message"] == f"failed: {SECRET}"


def test_message_of_a_library_is_its_place_only() -> None:
    line = format_record(f"invalid request {SECRET}", logger="mcp.server")
    assert SECRET not in line
    assert json.loads(line)["message"] == "… (docyard/x/y.py:7)"


@loop_over("is_json", [True, False])
def test_exceptions_have_types_and_places_but_no_messages(is_json: bool) -> None:
    line = format_record("failed", error=raise_with_content(), is_json=is_json)
    assert SECRET not in line
    assert "ValueError" in line
    assert "KeyError" in line
    assert "telemetry/test_logs.py:" in line
    assert "raise_with_content" in line


def test_content_is_logged_if_the_setting_allows_it() -> None:
    line = format_record("failed: %s", SECRET, error=raise_with_content(), includes_content=True)
    assert json.loads(line)["message"] == f"failed: {SECRET}"
    assert json.loads(line)["exceptions"][0]["message"] == SECRET


def test_content_cannot_forge_a_line() -> None:
    line = format_record("failed: %s", "x\n2026-01-01 forged\x1b[31m", includes_content=True, is_json=False)
    assert "\n" not in line
    assert "\x1b" not in line


@loop_over("is_json", [True, False])
def test_lines_have_the_id_of_their_request_and_further_fields(is_json: bool) -> None:
    with set_request_id("0123456789abcdef"):
        line = format_record("request", is_json=is_json)
    assert "0123456789abcdef" in line
    assert ('"status": 200' if is_json else "status=200") in line
    assert "0123456789abcdef" not in format_record("request", is_json=is_json)


@loop_over(
    "headers, is_accepted",
    [
        (["0123456789abcdef"], True),
        (["trace-1.2_3"], True),
        ([], False),
        (["short"], False),
        (["a" * 65], False),
        (["0123456789\n"], False),
        (['012345678"}{'], False),
        (["0123456789é"], False),
        (["0123456789", "0123456789"], False),
        (["../../etc/passwd"], False),
    ],
)
def test_id_of_a_client_is_used_only_if_it_is_plain(headers: list[str], is_accepted: bool) -> None:
    request_id = choose_request_id(headers)
    assert (headers == [request_id]) == is_accepted
    assert is_accepted or len(request_id) == 16


def test_no_id_outside_of_a_request() -> None:
    assert get_request_id() is None


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    names = ("docyard", "index", "tools", "workspace", "docyard.access", "docyard.progress")
    levels = {name: logging.getLogger(name).level for name in names}
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, own_level in levels.items():
        logging.getLogger(name).setLevel(own_level)


def test_level_applies_to_own_messages_and_libraries_stay_at_warning(stream: io.StringIO) -> None:
    configure_logs(LogOptions(is_json=True, level="info"), stream)
    logging.getLogger("docyard").info("started")
    logging.getLogger("mcp").info("noise")
    logging.getLogger("docyard.access").info("request")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["started"]


def test_configured_level_applies_to_progress(stream: io.StringIO) -> None:
    logging.getLogger("docyard.progress").setLevel(logging.INFO)  # as `docyard serve` does
    configure_logs(LogOptions(), stream)
    logging.getLogger("docyard.progress").info("indexing")
    assert stream.getvalue() == ""


def test_access_log_is_written_if_it_is_enabled(stream: io.StringIO) -> None:
    configure_logs(LogOptions(has_access_log=True, level="error"), stream)
    logging.getLogger("docyard.access").info("request", extra={FIELDS: {"route": "mcp"}})
    assert "request route=mcp" in stream.getvalue()


def test_logs_are_written_to_standard_error(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logs(LogOptions())
    logging.getLogger("docyard").warning("started")
    assert "started" in stream.getvalue()
