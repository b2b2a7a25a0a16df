"""The log of a server's long work: progress is information, not a warning."""

from __future__ import annotations

import logging

import pytest

from docyard import service


def test_progress_is_logged_as_information(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "_PROGRESS_INTERVAL_S", 0.0)
    with caplog.at_level(logging.INFO, "docyard.progress"):
        service.build_log_progress()(1_000, 2_000, "Indexing")
        service.build_log_progress()(0, 0, "Waiting")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "Indexing: 1,000 of 2,000"),
        (logging.INFO, "Waiting"),
    ]
