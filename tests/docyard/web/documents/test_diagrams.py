"""Diagrams and formulas: text by default; if enabled, they are rendered, diagrams in an isolated frame."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

import pytest

from docyard.web.diagrams import build_frame
from tests.docyard.web.documents.page_setup import DocumentPages, serve_documents

FLOW_DOCUMENT = "# Flow\n\n```mermaid\ngraph TD; A-->B\n```\n\nIt takes $a^2$.\n"
MERMAID_SCRIPT = b"var mermaid = {};\r\nvar text = '<!-- </Script> <script>\0';\n"


@pytest.fixture(scope="module")
def plain_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentPages]:
    """Return pages without diagrams and formulas."""
    with serve_documents(tmp_path_factory.mktemp("diagrams") / "repo") as pages:
        pages.repo.commit({"flow.md": FLOW_DOCUMENT})
        yield pages


@pytest.fixture(scope="module")
def diagram_pages(plain_pages: DocumentPages) -> DocumentPages:
    """Return pages with diagrams and formulas."""
    return DocumentPages(
        plain_pages.repo, replace(plain_pages.site, mermaid=MERMAID_SCRIPT, math=True), may_write=True
    )


def test_diagrams_and_formulas_are_text_by_default(plain_pages: DocumentPages) -> None:
    response = plain_pages.client.get("/doc/flow.md")
    assert '<code class="language-mermaid">graph TD; A--&gt;B\n</code>' in response.text
    assert "$a^2$" in response.text
    assert "diagrams.js" not in response.text
    assert "content-security-policy" not in response.headers  # the default policy
    assert plain_pages.client.get(f"/diagram/{build_frame(MERMAID_SCRIPT).name}").status_code == 404


def test_page_with_diagrams_has_the_frame_url(diagram_pages: DocumentPages) -> None:
    response = diagram_pages.client.get("/doc/flow.md")
    assert '<pre class="mermaid">graph TD; A--&gt;B\n</pre>' in response.text
    [url] = re.findall(r'data-diagrams="([^"]*)"', response.text)
    policy = response.headers["content-security-policy"].split("; ")
    assert "frame-src 'self'" in policy
    assert "script-src 'self'" in policy
    assert diagram_pages.client.get(url).status_code == 200
    # The policy of a page without diagrams allows no frame.
    assert "content-security-policy" not in diagram_pages.client.get("/doc/README.md").headers


def test_enabled_formulas_are_rendered(diagram_pages: DocumentPages) -> None:
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in diagram_pages.get("/doc/flow.md")


def test_frame_policy_allows_only_its_own_scripts(diagram_pages: DocumentPages) -> None:
    response = diagram_pages.client.get(f"/diagram/{build_frame(MERMAID_SCRIPT).name}")
    policy = dict(part.split(" ", 1) for part in response.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["sandbox"] == "allow-scripts"
    assert policy["frame-ancestors"] == "'self'"
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    scripts = re.findall(rb"<script>(.*?)</script>", response.content, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in scripts]
    assert policy["script-src"].split() == hashes
    assert len(scripts) == 2


def test_mermaid_script_cannot_close_its_script_element() -> None:
    page = build_frame(MERMAID_SCRIPT).page
    assert rb"'\x3c!-- \x3c/Script> \x3cscript>" in page
    assert b"\r" not in page
    assert b"\0" not in page


def test_another_script_has_another_frame_url(diagram_pages: DocumentPages) -> None:
    assert diagram_pages.client.get(f"/diagram/{build_frame(b'another').name}").status_code == 404
