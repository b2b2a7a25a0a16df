"""Completions of URIs and of prompt arguments, through a client, in both protocol versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.acceptance.clients import connect_to_server
from tests.acceptance.server import ProtocolMode, build_artifact
from tests.repositories import Repo, create_repository
from tools.resources.list import DOCUMENT_TEMPLATE, SECTION_AT_REF_TEMPLATE, SECTION_TEMPLATE

pytestmark = pytest.mark.anyio

FILES = {f"pages/{number:03}.md": f"# Page {number}\n\n## Size {{#size}}\n" for number in range(120)}

Reference = PromptReference | ResourceTemplateReference


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = create_repository(tmp_path / "docs", FILES)
    repo.git("tag", "v1")
    return repo


async def test_typed_text_is_completed(repo: Repo, home: Path, protocol: ProtocolMode) -> None:
    document, section = (
        ResourceTemplateReference(uri=template.uri) for template in (DOCUMENT_TEMPLATE, SECTION_TEMPLATE)
    )
    section_at_ref = ResourceTemplateReference(uri=SECTION_AT_REF_TEMPLATE.uri)
    review, spec = PromptReference(name="review_document"), PromptReference(name="write_spec")
    cases: list[tuple[Reference, str, str, dict[str, str] | None, list[str]]] = [
        (document, "path", "pages/11", None, [f"pages/{number}.md" for number in range(110, 120)]),
        (document, "path", "007", None, ["pages/007.md"]),
        (document, "ref", "v", None, ["v1"]),
        (section, "section", "si", {"path": "pages/000.md"}, ["size"]),
        (section, "section", "", {"path": "none.md"}, []),
        (section, "section", "", None, []),
        (section_at_ref, "section", "si", {"path": "pages/000.md", "ref": "v1"}, ["size"]),
        (review, "path", "pages/000.md#s", None, ["pages/000.md#size"]),
        (review, "focus", "li", None, ["links"]),
        (spec, "doc_type", "api", None, ["api_spec"]),
        (spec, "folder", "p", None, ["pages"]),
        (spec, "topic", "a", None, []),
        (document, "path", "x" * 10_000, None, []),
        (document, "path", "\x00", None, []),
    ]
    async with connect_to_server(home, protocol, ["-C", repo.path, "--no-fsync"]) as client:
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.completions is not None
        for reference, name, prefix, context_arguments, values in cases:
            result = await client.complete(reference, {"name": name, "value": prefix}, context_arguments)
            assert result.completion.values == values, (name, prefix)
        all_paths = (await client.complete(document, {"name": "path", "value": ""})).completion
        assert (len(all_paths.values), all_paths.total, all_paths.has_more) == (100, 120, True)


async def test_unknown_template_prompt_or_argument_is_refused(
    repo: Repo, home: Path, protocol: ProtocolMode
) -> None:
    async with connect_to_server(home, protocol, ["-C", repo.path, "--no-fsync"]) as client:
        cases: list[tuple[Reference, str]] = [
            (ResourceTemplateReference(uri="file:///{path}"), "path"),
            (ResourceTemplateReference(uri=DOCUMENT_TEMPLATE.uri), "section"),
            (ResourceTemplateReference(uri=DOCUMENT_TEMPLATE.uri), ""),
            (PromptReference(name="write"), "topic"),
            (PromptReference(name="write_spec"), "topics"),
        ]
        for reference, name in cases:
            with pytest.raises(MCPError) as error_info:
                await client.complete(reference, {"name": name, "value": ""})
            assert error_info.value.error.code == -32602
            assert error_info.value.error.data["fix"]


async def test_artifact_completes_arguments(
    repo: Repo, home: Path, tmp_path: Path, protocol: ProtocolMode
) -> None:
    build_artifact(repo.path, home, tmp_path / "out")
    async with connect_to_server(home, protocol, ["--index", tmp_path / "out", "--read-only"]) as client:
        document = ResourceTemplateReference(uri=DOCUMENT_TEMPLATE.uri)
        paths = await client.complete(document, {"name": "path", "value": "pages/000"})
        assert paths.completion.values == ["pages/000.md"]
        refs = await client.complete(document, {"name": "ref", "value": ""})
        assert refs.completion.values == ["HEAD"]
