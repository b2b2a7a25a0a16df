"""Fixtures: a dispatcher of two small documentation sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from index.sources.sources import Sources
from tests.documentation_sources import (
    TWO_SOURCES,
    create_source_repositories,
    open_test_sources,
    write_sources_file,
)
from tests.repositories import Repo
from tools.retrieval.dispatcher import SourcesDispatcher
from tools.tool import Answer

CallSources = Callable[..., Answer]

WALKTHROUGH = """---
type: walkthrough
technology: [Python, HTTP]
---
# First call

Make your first call.

## Get a token

Ask for a token.

## Handle errors

See [rate limits](../docs/errors.md#rate-limits).

### Details

Every error has a code.

## Read all pages

See [cursors](../docs/paging.md).
"""


@pytest.fixture
def repositories(tmp_path: Path) -> tuple[Repo, Repo]:
    """Return the repositories `api` and `guides`."""
    return create_source_repositories(tmp_path)


@pytest.fixture
def build_sources(
    tmp_path: Path, repositories: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Sources]]:
    """Yield a function that writes a text as the sources file, and opens its sources."""
    monkeypatch.setattr("index.sources.source._RETRY_AFTER_S", 0.0)
    opened_sources: list[Sources] = []

    def build(text: str) -> Sources:
        opened_sources.append(open_test_sources(write_sources_file(tmp_path, text)))
        return opened_sources[-1]

    yield build
    for sources in opened_sources:
        sources.close()


@pytest.fixture
def call_sources(build_sources: Callable[[str], Sources]) -> CallSources:
    """Return a function that calls a tool of a server of both sources, with contextual search."""
    dispatcher = SourcesDispatcher(build_sources(TWO_SOURCES + "[features]\ncontextual_search = true\n"))

    def call(tool: str, **arguments: Any) -> Answer:
        return dispatcher.call(tool, arguments, client="test")

    return call
