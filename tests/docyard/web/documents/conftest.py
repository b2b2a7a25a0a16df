"""Pages that wait for all links, however busy the machine is."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docyard.web.documents.sidebar._GRAPH_TIMEOUT_S", 60.0)
