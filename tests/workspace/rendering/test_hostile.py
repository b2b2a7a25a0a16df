"""Pages of adversarial documents run no scripts, load nothing from other hosts, and keep their structure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import repositories
from tests.browser.hostile_documents import make_attack_texts, make_hostile_documents
from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.rendering.html_checker import find_html_problems
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.config.names import Dialect
from workspace.git.reader import GitReader
from workspace.rendering.links import RenderOptions
from workspace.rendering.renderer import render, render_text
from workspace.snapshot.snapshot import Snapshot

DOCUMENTS = make_hostile_documents()
URLS = PlainUrls()
MATH_OPTIONS = RenderOptions(math=True, mermaid=True)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("hostile") / "repo"
    git = GitReader(
        repositories.create_repository(folder, {**DOCUMENTS, "hostile/x.png": b"\x89PNG\r\n\x1a\n"}).path
    )
    return Snapshot(git, git.head().commit)


@pytest.fixture(scope="module")
def dialect_snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[Snapshot]:
    """Return a snapshot of the documents for each dialect with containers of its own."""
    snapshots = []
    for dialect in (Dialect.MKDOCS, Dialect.DOCUSAURUS):
        folder = tmp_path_factory.mktemp(dialect) / "repo"
        files = {**DOCUMENTS, "docyard.toml": f'[links]\ndialect = "{dialect}"\n'}
        git = GitReader(repositories.create_repository(folder, files).path)
        snapshots.append(Snapshot(git, git.head().commit))
    return snapshots


@loop_over("path", [path for path in DOCUMENTS if path != "hostile/all.md"])
def test_adversarial_documents_of_other_dialects_are_rendered_safely(
    dialect_snapshots: list[Snapshot], path: str
) -> None:
    for snapshot in dialect_snapshots:
        assert find_html_problems(render(snapshot, path, urls=URLS).html) == []


@loop_over("path", list(DOCUMENTS))
def test_adversarial_documents_are_rendered_safely(snapshot: Snapshot, path: str) -> None:
    page = render(snapshot, path, urls=URLS)
    assert find_html_problems(page.html) == []
    text = snapshot.document(path).data.decode(errors="replace")
    assert find_html_problems(render_text(text, urls=URLS, snapshot=snapshot, base_path=path)) == []


def test_adversarial_texts_are_rendered_safely() -> None:
    for text in make_attack_texts():
        assert find_html_problems(render_text(text, urls=URLS)) == [], text


def test_end_of_an_adversarial_document_is_rendered(snapshot: Snapshot) -> None:
    """The end is omitted only after an attribute or a comment that is never closed."""
    truncated_texts = {
        text
        for path, text in DOCUMENTS.items()
        if "The end." in text and "The end." not in render(snapshot, path, urls=URLS).html
    }
    ends = [text.removesuffix("\n\nThe end.\n").rpartition("\n\n")[2] for text in sorted(truncated_texts)]
    openings = ("<!--", "<![CDATA[", "<?", '<p title="', "<p title='", "<p title=", '<a href="', '<img alt="')
    assert [end for end in ends if not any(opening in end for opening in openings)] == []


TEXT_PIECES = [
    *make_attack_texts(), "<", ">", '"', "'", "&", "`", "```\n", "$", "$$", "\n\n", "\n", "> ", "- ", "1. ",
    "| a |\n|---|\n|", "[", "](", ")", "![", "]: ", "[^1]", "[^1]: ", "# ", "## x {#a}", "<a id=a></a>",
    "</a>", "<b>", "</b>", "<p>", "<table>", "<tr>", "<td>", "</table>", "<li>", "<pre>", "</pre>", "<code>",
    "<svg>", "<math>", "<style>", "<!--", "-->", "\t", "\x00", "\ufeff", "    ", "\\", "x",
    "https://a.example", "//a.example", "javascript:1", "mermaid", "style=", "onclick=", "id=a", "href=",
    "src=", "\\href{javascript:1}{x}", "\\text{<b>}",
    '!!! note "', '??? x\n', '=== "', ":::note\n", ":::\n", "    <b>\n",
]  # fmt: skip


@settings(max_examples=scale_examples(150))
@given(st.lists(st.sampled_from(TEXT_PIECES), max_size=14).map("".join))
def test_mixed_texts_are_rendered_safely(text: str) -> None:
    assert find_html_problems(render_text(text, urls=URLS)) == []


@settings(max_examples=scale_examples(25))
@given(st.lists(st.lists(st.sampled_from(TEXT_PIECES), max_size=10).map("".join), min_size=4, max_size=4))
def test_mixed_documents_are_rendered_safely(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("mixed")
    files = {f"{number}.md": text.encode("utf-8", "replace") for number, text in enumerate(texts)}
    git = GitReader(repositories.create_repository(folder / "repo", files).path)
    snapshot = Snapshot(git, git.head().commit)
    for path in snapshot.documents:
        assert find_html_problems(render(snapshot, path, urls=URLS).html) == []
        html = render(snapshot, path, urls=URLS, options=MATH_OPTIONS).html
        assert "javascript:" not in html.partition("<math")[2].partition("</math>")[0]
