"""Results of the renderer: outlines, notes, sections, texts, and the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import repositories
from tests.repositories import Repo
from tests.workspace.rendering.html_checker import find_html_problems
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.git.reader import GitReader
from workspace.rendering import renderer
from workspace.rendering.links import RenderedHeading, RenderOptions
from workspace.rendering.renderer import MAX_RENDERED_BYTES, render, render_text
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot

URLS = PlainUrls()
MAX_GROWTH_FACTOR, MAX_ADDED_LENGTH = 40, 10_000
REL_ATTRIBUTE = ' rel="noopener noreferrer nofollow"'
GUIDE = """---
title: Meta
---
# Guide {#top-of-it}

Intro.

## Setup <#setup>

See [other][o] and [errors](#errors-1).

### Errors

## Use

### Errors

[o]: other.md#a
"""


def take_snapshot(repo: Repo) -> Snapshot:
    git = GitReader(repo.path)
    return Snapshot(git, git.head().commit)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    folder: Path = tmp_path_factory.mktemp("rendering") / "repo"
    return repositories.create_repository(
        folder, {"guide.md": GUIDE, "other.md": "# Other\n\n## A\n", "no-title.md": "x\n"}
    )


def test_document_has_title_and_outline(repo: Repo) -> None:
    page = render(take_snapshot(repo), "guide.md", urls=URLS)
    assert (page.title, page.shows_title, page.is_cut, page.notes) == (
        "Guide",
        True,
        False,
        (),
    )
    assert page.outline == (
        RenderedHeading(1, "Guide", "_preamble", "_preamble"),
        RenderedHeading(2, "Setup", "setup", "setup"),
        RenderedHeading(3, "Errors", "setup/errors", "setup/errors"),
        RenderedHeading(2, "Use", "use", "use"),
        RenderedHeading(3, "Errors", "use/errors", "use/errors"),
    )


def test_document_without_heading_has_no_title(repo: Repo) -> None:
    page = render(take_snapshot(repo), "no-title.md", urls=URLS)
    assert (page.title, page.shows_title, page.html) == ("no-title", False, "<p>x</p>\n")


def test_missing_document_is_an_error(repo: Repo) -> None:
    with pytest.raises(DocumentNotFound):
        render(take_snapshot(repo), "gone.md", urls=URLS)


def test_short_texts_have_line_breaks_and_links(repo: Repo) -> None:
    source = "One [a](other.md#a)\ntwo <a id=x></a>[^1]\n\n[^1]: x"
    html = render_text(source, urls=URLS, snapshot=take_snapshot(repo), base_path="guide.md")
    assert f'<a href="/doc/other.md#a"{REL_ATTRIBUTE}>a</a><br>\ntwo' in html
    assert " id=" not in html
    assert find_html_problems(html) == []
    assert render_text("[a](other.md)", urls=URLS) == "<p><a>a</a></p>\n"


def test_rendered_document_is_cached_until_a_target_is_removed(tmp_path: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo", {"a.md": "[b](b.md)\n", "b.md": "# B\n"})
    old_page = render(take_snapshot(repo), "a.md", urls=URLS)
    assert render(take_snapshot(repo), "a.md", urls=URLS) is old_page
    html_at_ref = render(take_snapshot(repo), "a.md", urls=PlainUrls("v1")).html
    assert html_at_ref == f'<p><a href="/doc/b.md?ref=v1"{REL_ATTRIBUTE}>b</a></p>\n'
    repo.git("rm", "-q", "b.md")
    repo.commit({}, "Removed")
    new_page = render(take_snapshot(repo), "a.md", urls=URLS)
    assert new_page.html == '<p><a class="broken" title="There is no such file">b</a></p>\n'


def test_large_document_is_cut_between_sections(tmp_path: Path) -> None:
    section = "\n## S\n\n" + "word " * 20_000 + "\n"
    repo = repositories.create_repository(
        tmp_path / "repo", {"a.md": "# A\n" + section * 8, "b.md": "word " * 150_000}
    )
    page = render(take_snapshot(repo), "a.md", urls=URLS)
    assert page.is_cut
    # The title and the first four sections fit.
    assert len(page.outline) == 5
    assert page.notes == (
        "The end of this document is not shown, because the document is too long for a page.",
    )
    page = render(take_snapshot(repo), "b.md", urls=URLS)
    assert page.is_cut
    assert page.html.endswith("word</p>\n")
    assert len(page.html) < MAX_RENDERED_BYTES + 100


def test_document_of_too_many_lines_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer, "MAX_RENDERED_LINES", 50)
    repo = repositories.create_repository(
        tmp_path / "repo",
        {"all.md": "---\na: b\n---\n" + "***\n" * 50, "cut.md": "---\na: b\n---\n" + "***\n" * 51},
    )
    full_page, cut_page = (render(take_snapshot(repo), path, urls=URLS) for path in ("all.md", "cut.md"))
    assert (full_page.is_cut, cut_page.is_cut) == (False, True)
    assert full_page.html == cut_page.html == "<hr>\n" * 50


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 30_000 + "a" + "](b)" * 30_000, id="brackets"),
        pytest.param("> " * 20_000 + "x", id="quotations"),
        pytest.param("- " * 20_000 + "x", id="lists"),
        pytest.param("<div>\n" * 30_000, id="open tags"),
        pytest.param(
            "".join(f"<b a{number}>" for number in range(4_000)) + "\n\nx" * 4_000, id="tags that multiply"
        ),
        pytest.param("x <![CDATA[" * 9_000, id="unclosed CDATA sections"),
        pytest.param("![](" * 30_000, id="unclosed images"),
        pytest.param("*a **b " * 9_000, id="unclosed emphasis"),
        pytest.param("$a" * 30_000, id="unclosed formulas"),
        pytest.param("http://a.b" + ")" * 90_000, id="URL of parentheses"),
        pytest.param("http://a.b" + "&a;)" * 20_000, id="URL of characters that end URLs"),
        pytest.param("http://a/(" * 45_000, id="nested URLs"),
        pytest.param("www." * 100_000, id="repeated beginnings of URLs"),
        pytest.param('<a id="x"></a>\n\n## H\n' * 1_000, id="one anchor of many headings"),
    ],
)
def test_html_of_adversarial_text_is_bounded(tmp_path: Path, text: str) -> None:
    repo = repositories.create_repository(tmp_path / "repo", {"a.md": text})
    page = render(take_snapshot(repo), "a.md", urls=URLS, options=RenderOptions(math=True))
    assert len(page.html) < MAX_GROWTH_FACTOR * len(text) + MAX_ADDED_LENGTH


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        pytest.param("mkdocs", "!!! note\n" * 6_000, id="empty admonitions"),
        pytest.param("mkdocs", "!!! note\n\n" * 4_000, id="empty admonitions with empty lines"),
        pytest.param(
            "mkdocs", "".join("    " * depth + "??? a\n" for depth in range(400)), id="nested admonitions"
        ),
        pytest.param("mkdocs", "!!! a" + " a" * 200_000, id="one admonition with many classes"),
        pytest.param("mkdocs", '=== "x"\n' * 6_000, id="empty tabs"),
        pytest.param("mkdocs", '!!! a "' + '" "' * 100_000, id="one title of quotes"),
        pytest.param("docusaurus", ":::note\n" * 15_000, id="unclosed directives"),
        pytest.param("docusaurus", ":::note\n" * 7_000 + ":::\n" * 7_000, id="nested directives"),
        pytest.param("docusaurus", ":::note" + " " * 200_000 + "x", id="one directive of spaces"),
        pytest.param("docusaurus", ":::note" + "{" * 200_000 + "}", id="one directive of braces"),
        pytest.param("docusaurus", ":" * 90_000 + "note", id="one directive of colons"),
    ],
)
def test_html_of_adversarial_containers_is_bounded(tmp_path: Path, dialect: str, text: str) -> None:
    settings = f'[links]\ndialect = "{dialect}"\n'
    repo = repositories.create_repository(tmp_path / "repo", {"a.md": text, "docyard.toml": settings})
    page = render(take_snapshot(repo), "a.md", urls=URLS)
    assert len(page.html) < MAX_GROWTH_FACTOR * len(text) + MAX_ADDED_LENGTH


def test_mentions_of_known_people_are_marked() -> None:
    text = "@ana and **@ben**, not `@ana`, [@ana](https://x.org) or @zoe\n\n<b>@ana</b> & <i"
    html = render_text(text, urls=URLS, mentions={"ana": 'Ana & "Li"', "ben": ""})
    assert html.startswith(
        '<p><span class="mention" title="Ana &amp; &quot;Li&quot;">@ana</span> and <strong>'
    )
    assert html.count('class="mention"') == 3
    assert '<span class="mention" title="">@ben</span>' in html
    assert "or @zoe" in html
    assert find_html_problems(html) == []
    assert 'class="mention"' not in render_text(text, urls=URLS)
