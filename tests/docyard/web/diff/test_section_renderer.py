"""Changes as rendered text: both versions of each changed section, with the blocks that differ marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from docyard.web.diff import diff, section_renderer, views
from docyard.web.diff.diff import DiffRows, build_rows
from docyard.web.diff.views import VIEWS, ViewLimits
from tests.browser.hostile_documents import make_hostile_documents
from tests.docyard.web.documents.page_setup import DocumentPages, serve_documents
from tests.loops import loop_over

OLD = """---
owner: Ana
---
# Guide

Words with [a link][there] and a note[^n].

## First

One *paragraph*.

Another paragraph.

## Moved

The same text in both versions, which is long enough to be found again.

## Gone

Removed text.

## Tasks

- [ ] Write

[there]: notes.md
[^n]: The note.
"""
NEW = """---
owner: Ben
---
# Guide

Words with [a link][there] and a new note[^n].

## Moved

The same text in both versions, which is long enough to be found again.

## First

One *paragraph*.

Another **changed** paragraph.

![x](image.png)

## Tasks

- [x] Write

## Added

```
x = 1
```

[there]: notes.md
[^n]: The note.
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path_factory.mktemp("rendered") / "repo") as document_pages:
        image = b"\x89PNG\r\n\x1a\n"
        document_pages.repo.commit({"guide.md": OLD, "notes.md": "# Notes\n", "image.png": image})
        document_pages.repo.commit({"guide.md": NEW})
        yield document_pages


def read_section(html: str, heading: str) -> str:
    """Return the HTML of a changed section."""
    sections = re.findall(r'<section class="changed-section".*?  </section>', html, re.DOTALL)
    [section] = [item for item in sections if re.search(rf"<h3>.*?{heading}.*?</h3>", item, re.DOTALL)]
    return str(section)


def test_versions_are_shown_side_by_side_with_marked_blocks(pages: DocumentPages) -> None:
    html = pages.get("/commit/HEAD?view=rendered")
    section = read_section(html, "First")
    old, new = re.split(r'class="version(?: old)?"', section)[1:]
    assert "<p>One <em>paragraph</em>.</p>" in old
    assert re.search(r'class="blocks-removed"[^>]*><p>Another paragraph.</p>', old)
    added = 'Another <strong><ins class="word">changed</ins></strong> paragraph.'
    assert re.search(rf'class="blocks-added"[^>]*><p>{added}</p>', new)
    commit = pages.repo.head()
    assert f'<img src="/raw/image.png?ref={commit}"' in new
    assert 'class="row' not in section


def test_definitions_elsewhere_in_the_document_are_used(pages: DocumentPages) -> None:
    section = read_section(pages.get("/commit/HEAD?view=rendered"), "Guide")
    assert f'href="/doc/notes.md?ref={pages.repo.head()}"' in section
    assert section.count("The note.") == 2
    assert "id=" not in section.partition("</h3>")[2]


def test_added_removed_and_moved_sections_have_one_version(pages: DocumentPages) -> None:
    html = pages.get("/commit/HEAD?view=rendered")
    assert [name for name in ("Before", "After", "Now") if name in read_section(html, "Added")] == ["After"]
    assert "Before" in read_section(html, "Gone")
    assert "After" not in read_section(html, "Gone").replace("Changed, after", "")
    assert "Unchanged text" not in html


def test_task_and_front_matter_are_shown(pages: DocumentPages) -> None:
    html = pages.get("/commit/HEAD?view=rendered")
    section = read_section(html, "Tasks")
    assert section.count('type="checkbox"') == 2
    assert section.count('checked=""') == 1
    assert "Ana" in read_section(html, "Front matter")


def test_first_commit_and_deleted_documents_are_rendered(pages: DocumentPages) -> None:
    assert "<p>The same text in both versions" in pages.get("/commit/HEAD~1?view=rendered")
    (pages.repo.path / "guide.md").unlink()
    pages.repo.git("commit", "-qam", "Remove the guide")
    assert "<p>The same text in both versions" in pages.get("/commit/HEAD?view=rendered")
    pages.repo.git("reset", "-q", "--hard", "HEAD~1")


def test_sections_beyond_the_limits_are_shown_as_source(
    pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "ViewLimits", partial(ViewLimits, max_section_bytes=10))
    html = pages.get("/commit/HEAD?view=rendered")
    assert 'class="version"' not in html
    assert "Another" in read_section(html, "First")
    monkeypatch.undo()
    monkeypatch.setattr(section_renderer, "MAX_PAGE_BYTES", 200)
    html = pages.get("/commit/HEAD?view=rendered")
    assert 'class="version"' in html
    assert 'class="row' in html
    monkeypatch.undo()
    monkeypatch.setattr(section_renderer, "MAX_RENDERED_SECTIONS", 2)
    html = pages.get("/commit/HEAD?view=rendered")
    assert html.count('class="changed-section"') == 2
    assert "view=rendered&amp;offset=2" in html


def test_views_link_to_each_other_and_one_has_the_key(pages: DocumentPages) -> None:
    for view in VIEWS:
        html = pages.get(f"/commit/HEAD?view={view}")
        navigation = html.partition('aria-label="Views"')[2].partition("</nav>")[0]
        assert navigation.count("<a ") == len(VIEWS)
        assert navigation.count("aria-current") == navigation.count('data-key="v"') == 1


@pytest.mark.process  # finds the tokens of code
@loop_over("dialect", ["github", "mkdocs", "docusaurus"])
def test_adversarial_changes_are_rendered_safely(pages: DocumentPages, dialect: str) -> None:
    documents = {path: text for path, text in make_hostile_documents().items() if path != "hostile/all.md"}
    settings = f'[links]\ndialect = "{dialect}"\n'
    pages.repo.commit({**documents, "docyard.toml": settings})
    pages.repo.commit({path: text.replace("The end.", "Another end.") for path, text in documents.items()})
    for offset in range(0, len(documents), 40):
        html = pages.get(f"/commit/HEAD?view=rendered&offset={offset}")  # also checks that tags are balanced
        main = html.partition("<main")[2]
        assert "<script" not in main
        assert not re.search(r"<[a-z]+[^>]* on[a-z]+=", re.sub(r'"[^"]*"', '""', main))
    pages.repo.git("reset", "-q", "--hard", "HEAD~2")


def test_change_that_readers_do_not_see_is_shown_as_source(tmp_path: Path) -> None:
    with serve_documents(tmp_path / "repo") as document_pages:
        document_pages.repo.commit({"a.md": "# A\n\nText. <!-- old -->\n"})
        for text in ("# A\n\nText. <!-- new -->\n", "# A\n\nMore text. <!-- other -->\n"):
            document_pages.repo.commit({"a.md": text})
            html = document_pages.get("/commit/HEAD?view=rendered")
            assert 'class="version"' not in html
            assert "&lt;!--" in html.partition("<main")[2]


def test_rendered_section_is_not_compared_as_source(
    pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared_texts: list[str] = []

    def record(old_text: str, new_text: str, max_chars: int) -> DiffRows:
        compared_texts.append(new_text)
        return build_rows(old_text, new_text, max_chars)

    monkeypatch.setattr(diff, "build_rows", record)
    pages.get("/commit/HEAD?view=rendered")
    assert not any("Another" in text for text in compared_texts)
    pages.get("/commit/HEAD?view=side")
    assert any("Another" in text for text in compared_texts)
