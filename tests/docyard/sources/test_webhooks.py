"""Webhooks of sources: the matching of repositories, and the fetch."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from docyard.forges.webhooks.events import EventScope
from docyard.sources.webhooks import SourceWebhooks
from index.sources.source import Source
from tests.documentation_sources import open_test_sources, write_sources_file

SOURCES = """
[sources.handbook]
url = "https://git.example.com/Team/handbook.git"

[sources.handbook-v1]
url = "git@git.example.com:team/handbook"
ref = "v1"

[sources.other]
url = "https://git.example.com/other-team/handbook.git"

[sources.local]
repo = "team/handbook"
"""


def build_payload(forge: str, path: object) -> dict[str, Any]:
    if forge == "gitlab":
        return {"project": {"path_with_namespace": path}}
    return {"repository": {"full_name": path}}


@pytest.mark.parametrize("forge", ["github", "gitlab", "gitea"])
def test_push_requests_a_fetch_of_the_sources_of_its_repository(tmp_path: Path, forge: str) -> None:
    requested_sources: list[list[Source]] = []
    webhooks = SourceWebhooks(
        open_test_sources(write_sources_file(tmp_path, SOURCES)),
        lambda sources: requested_sources.append(list(sources)),
    )
    data = build_payload(forge, "team/Handbook")
    assert webhooks.check_repository(forge, data) is None
    response = asyncio.run(webhooks.apply(forge, data, EventScope()))
    assert (response.status, response.content) == (200, {"sources": ["handbook", "handbook-v1"]})
    assert [[source.name for source in sources] for sources in requested_sources] == [
        ["handbook", "handbook-v1"]
    ]
    assert asyncio.run(webhooks.apply(forge, data, EventScope(numbers=(1,)))).status == 202
    assert len(requested_sources) == 1


@pytest.mark.parametrize("path", ["handbook", "team/handboo", "eam/handbook", "handbook/", "", None, 7])
def test_webhook_of_a_repository_without_source_is_refused(tmp_path: Path, path: object) -> None:
    webhooks = SourceWebhooks(
        open_test_sources(write_sources_file(tmp_path, SOURCES)), lambda sources: pytest.fail("it is fetched")
    )
    refusal = webhooks.check_repository("github", build_payload("github", path))
    assert refusal is not None
    assert refusal.status == 422
