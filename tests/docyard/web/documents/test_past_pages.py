"""History, blame and commits on pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docyard.web.documents.scene import API, Pages, served
from tests.loops import loop_over

COUNT = 34


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """A document that changed more often than a page of history shows."""
    with served(tmp_path_factory.mktemp("past") / "repo") as found:
        for number in range(COUNT):
            found.repo.commit(
                {"count.md": f"# Count\n\n## A\n\n{number}\n\n## B\n\nsame\n"}, f"Count {number}"
            )
        found.repo.commit(
            {"specs/api.md": API.replace("Sixty", "Ninety <b>")},
            "Allow <more>\n\nThey asked.\n\nSigned-off-by: Bo <bo@example.org>\n"
            "Docyard-Tool: edit_document\nDocyard-Client: a-client\nDocyard-Proposal: zzzzzzzz",
        )
        found.repo.git("rm", "-q", "notes.txt", "specs/twice.md")
        found.repo.commit({}, "Remove one")
        yield found


def subjects(page: str) -> list[str]:
    """The subjects of a page of history."""
    return re.findall(r'<p class="subject"><a href="/commit/[0-9a-f]{40}">(.*?)</a>', page)


def test_history_is_paged_and_misses_nothing(pages: Pages) -> None:
    url, found = "/history/count.md", []
    while True:
        page = pages.get(url)
        found += subjects(page)
        older = re.search(r'rel="next" href="([^"]*)"', page)
        if older is None:
            break
        url = older[1].replace("&amp;", "&")
    assert found == [f"Count {number}" for number in reversed(range(COUNT))]


def test_pages_of_history_stay_what_they_were_when_more_is_committed(pages: Pages) -> None:
    older = re.search(r'rel="next" href="([^"]*)"', pages.get("/history/count.md?ref=HEAD~3"))
    assert older is not None
    assert "ref=HEAD~3" in older[1]
    assert "at=" in older[1]
    assert subjects(pages.get(older[1].replace("&amp;", "&")))[0]


@loop_over("query", ["after=x", "after=99999999", "at=nope", f"at={'0' * 40}&after=-1"])
def test_odd_places_in_history_do_no_harm(pages: Pages, query: str) -> None:
    pages.get(f"/history/count.md?{query}")


def test_a_place_in_history_is_a_commit(pages: Pages) -> None:
    blob = pages.repo.git("rev-parse", "HEAD:count.md").strip()
    assert "a commit is meant here" in pages.get(f"/history/count.md?at={blob}", 400)


def test_the_history_of_a_section_tells_only_its_own(pages: Pages) -> None:
    assert subjects(pages.get("/history/count.md?section=b")) == ["Count 0"]
    assert len(subjects(pages.get("/history/count.md?section=a"))) == 30


def test_what_was_removed_has_a_history(pages: Pages) -> None:
    page = pages.get("/history/specs/twice.md")
    assert subjects(page) == ["Remove one", "First"]
    before = re.search(r'class="then" href="([^"]*)">as it was before', page)
    assert before is not None
    assert "Twice" in pages.get(before[1].replace("&amp;", "&"))


def test_the_past_leads_back_to_the_document_as_it_is(pages: Pages) -> None:
    assert 'href="/doc/count.md">Back to the current state' in pages.get("/doc/count.md?ref=HEAD~3")
    assert 'href="/">Back to the current state' in pages.get("/doc/specs/twice.md?ref=HEAD~1")


def test_a_commit_is_told_in_words(pages: Pages) -> None:
    page = pages.get("/commit/HEAD~1")
    for part in (
        "<h1>Allow &lt;more&gt;</h1>",
        "They asked.",
        "via a-client",
        "<code>edit_document</code>",
        "Signed off by",
        "Bo &lt;bo@example.org&gt;",
        "Rate limits",
        "Ninety",
    ):
        assert part in page
    assert "Docyard-" not in page
    assert "/proposals/zzzzzzzz" not in page


def test_the_first_commit_adds_everything(pages: Pages) -> None:
    page = pages.get(f"/commit/HEAD~{COUNT + 2}")
    assert "specs/api.md" in page
    assert "notes.txt" in page


@loop_over("id", ["nope", "0" * 40, "main%00", "HEAD~999", "main:README.md"])
def test_commits_that_are_none_are_not_found(pages: Pages, id: str) -> None:
    assert pages.client.get(f"/commit/{id}").status_code in (400, 404)


@loop_over("query", ["?view=inline", "?view=odd", "?offset=99999", "?offset=x"])
def test_a_commit_is_shown_in_each_view(pages: Pages, query: str) -> None:
    pages.get(f"/commit/HEAD~1{query}")


def test_blame_groups_the_lines_of_a_commit(pages: Pages) -> None:
    page = pages.get("/blame/specs/api.md")
    assert page.count('class="run ') == 2
    assert "Ninety &lt;b&gt; in a minute." in page
    head = pages.repo.git("rev-parse", "HEAD~1").strip()
    assert page.count(f'href="/commit/{head}"') == 1


def test_blame_of_a_section_and_of_long_documents(pages: Pages) -> None:
    assert 'data-line="20"' in pages.get("/blame/specs/api.md?section=rate-limits")
    pages.repo.commit({"long.md": "# Long\n" + "\n".join(str(number) for number in range(1500))})
    page = pages.get("/blame/long.md")
    assert 'data-line="600"' in page
    assert 'data-line="601"' not in page
    assert 'href="/blame/long.md?from=600"' in page
    assert 'data-line="1501"' in pages.get("/blame/long.md?from=1200")
    pages.get("/blame/long.md?from=999999")
