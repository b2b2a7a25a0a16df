"""A fixture that lets document pages wait for the link graph, even on a busy machine."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def increase_graph_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docyard.web.documents.sidebar._GRAPH_TIMEOUT_S", 60.0)
