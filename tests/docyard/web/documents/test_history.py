"""The pages of history, blame and commits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from docyard.web.documents.history import COMMITS_PER_PAGE
from tests.docyard.web.documents.page_setup import API, DocumentPages, serve_documents
from tests.loops import loop_over

CHANGE_COUNT = 34
LONG_DOCUMENT = "# Long\n" + "\n".join(str(number) for number in range(1500))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentPages]:
    """Return pages with a document that has more changes than one page of history shows."""
    with serve_documents(tmp_path_factory.mktemp("past") / "repo") as served_pages:
        for number in range(CHANGE_COUNT):
            served_pages.repo.commit(
                {"count.md": f"# Count\n\n## A\n\n{number}\n\n## B\n\nsame\n", "long.md": LONG_DOCUMENT},
                f"Count {number}",
            )
        served_pages.repo.commit(
            {"specs/api.md": API.replace("Sixty", "Ninety <b>")},
            "Allow <more>\n\nThey asked.\n\nSigned-off-by: Bo <bo@example.org>\n"
            "Docyard-Tool: edit_document\nDocyard-Client: a-client\nDocyard-Proposal: zzzzzzzz",
        )
        served_pages.repo.git("rm", "-q", "notes.txt", "specs/twice.md")
        served_pages.repo.commit({}, "Remove one")
        yield served_pages


def list_subjects(page: str) -> list[str]:
    """Return the commit subjects on a page of history."""
    return re.findall(r'<p class="subject"><a href="/commit/[0-9a-f]{40}">(.*?)</a>', page)


def test_pages_of_history_list_every_commit(pages: DocumentPages) -> None:
    url, subjects = "/history/count.md", []
    while True:
        page = pages.get(url)
        subjects += list_subjects(page)
        next_link = re.search(r'rel="next" href="([^"]*)"', page)
        if next_link is None:
            break
        url = next_link[1].replace("&amp;", "&")
    assert subjects == [f"Count {number}" for number in reversed(range(CHANGE_COUNT))]


def test_next_page_of_history_starts_at_the_same_commit(pages: DocumentPages) -> None:
    next_link = re.search(r'rel="next" href="([^"]*)"', pages.get("/history/count.md?ref=HEAD~3"))
    assert next_link is not None
    assert "ref=HEAD~3" in next_link[1]
    assert "at=" in next_link[1]
    assert list_subjects(pages.get(next_link[1].replace("&amp;", "&")))[0]


@loop_over("query", ["after=x", "after=99999999", "at=nope", f"at={'0' * 40}&after=-1"])
def test_invalid_history_position_renders_a_page(pages: DocumentPages, query: str) -> None:
    pages.get(f"/history/count.md?{query}")


def test_history_position_must_be_a_commit(pages: DocumentPages) -> None:
    blob = pages.repo.git("rev-parse", "HEAD:count.md").strip()
    assert "but must be a commit" in pages.get(f"/history/count.md?at={blob}", 400)


def test_section_history_lists_only_commits_of_section(pages: DocumentPages) -> None:
    assert list_subjects(pages.get("/history/count.md?section=b")) == ["Count 0"]
    assert len(list_subjects(pages.get("/history/count.md?section=a"))) == COMMITS_PER_PAGE


def test_deleted_document_has_a_history(pages: DocumentPages) -> None:
    page = pages.get("/history/specs/twice.md")
    assert list_subjects(page) == ["Remove one", "First"]
    link = re.search(r'class="then" href="([^"]*)">as it was before', page)
    assert link is not None
    assert "Twice" in pages.get(link[1].replace("&amp;", "&"))


def test_page_at_a_ref_links_to_the_current_document(pages: DocumentPages) -> None:
    assert 'href="/doc/count.md">Back to the current state' in pages.get("/doc/count.md?ref=HEAD~3")
    assert 'href="/library">Back to the current state' in pages.get("/doc/specs/twice.md?ref=HEAD~1")


def test_commit_page_shows_message_and_trailers(pages: DocumentPages) -> None:
    page = pages.get("/commit/HEAD~1")
    for expected_text in (
        "<h1>Allow &lt;more&gt;</h1>",
        "They asked.",
        "a-client for ",
        "<code>edit_document</code>",
        "Signed off by",
        "Bo &lt;bo@example.org&gt;",
        "Rate limits",
        "Ninety",
    ):
        assert expected_text in page
    assert "Docyard-" not in page
    assert "/proposals/zzzzzzzz" not in page


def test_first_commit_lists_all_files(pages: DocumentPages) -> None:
    page = pages.get(f"/commit/HEAD~{CHANGE_COUNT + 2}")
    assert "specs/api.md" in page
    assert "notes.txt" in page


@loop_over("id", ["nope", "0" * 40, "main%00", "HEAD~999", "main:README.md"])
def test_invalid_commit_is_not_found(pages: DocumentPages, id: str) -> None:
    assert pages.client.get(f"/commit/{id}").status_code in (400, 404)


@loop_over("query", ["?view=inline", "?view=rendered", "?view=odd", "?offset=99999", "?offset=x"])
def test_commit_page_renders_with_any_query(pages: DocumentPages, query: str) -> None:
    pages.get(f"/commit/HEAD~1{query}")


def test_blame_groups_lines_by_commit(pages: DocumentPages) -> None:
    page = pages.get("/blame/specs/api.md")
    assert page.count('class="run ') == 2
    assert "Ninety &lt;b&gt; in a minute." in page
    change_commit = pages.repo.git("rev-parse", "HEAD~1").strip()
    assert page.count(f'href="/commit/{change_commit}"') == 1


def test_blame_of_sections_and_long_documents_is_paged(pages: DocumentPages) -> None:
    assert 'data-line="20"' in pages.get("/blame/specs/api.md?section=rate-limits")
    page = pages.get("/blame/long.md")
    assert 'data-line="300"' in page
    assert 'data-line="301"' not in page
    assert 'href="/blame/long.md?from=300"' in page
    assert 'data-line="1501"' in pages.get("/blame/long.md?from=1500")
    pages.get("/blame/long.md?from=999999")
