"""The edit form: it writes a section or the start of a document to a proposal, and changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docyard.web.documents.page_setup import DocumentPages, parse_form, serve_documents
from tests.loops import loop_over
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import ProposalState

LIMITS_URL = "/edit/specs/api.md?section=rate-limits"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path / "repo") as served_pages:
        yield served_pages


def read_document_at(pages: DocumentPages, ref: str, path: str) -> bytes:
    """Return the bytes of a document at a ref."""
    return pages.workspace.at(ref).read(path)


def parse_proposal_id(location: str) -> str:
    """Return the proposal id of a redirect."""
    assert location.startswith("/proposals/")
    return location.removeprefix("/proposals/")


def test_edit_is_written_to_a_proposal_only(pages: DocumentPages) -> None:
    text_before = read_document_at(pages, "main", "specs/api.md")
    form = pages.get_form(LIMITS_URL)
    assert form["text"] == "Sixty in a minute."
    form = {**form, "text": "Ninety in a minute.", "title": "Allow more", "description": "They asked for it."}
    id = parse_proposal_id(pages.post(LIMITS_URL, {**form, "act": "propose"}))
    proposal = pages.workspace.proposal_actions().find(id)
    assert (proposal.content.title, proposal.state) == ("Allow more", ProposalState.OPEN)
    assert proposal.content.description.startswith("They asked for it.")
    assert read_document_at(pages, id, "specs/api.md") == text_before.replace(b"Sixty", b"Ninety")
    assert read_document_at(pages, "main", "specs/api.md") == text_before


def test_draft_is_not_submitted_and_accepts_more_edits(pages: DocumentPages) -> None:
    form = {**pages.get_form(LIMITS_URL), "text": "Ninety.", "title": "Allow more", "act": "draft"}
    id = parse_proposal_id(pages.post(LIMITS_URL, form))
    assert pages.workspace.proposal_actions().find(id).state is ProposalState.DRAFT
    assert f'<option value="{id}"' in pages.get(LIMITS_URL)
    second_url = f"/edit/specs/api.md?section=endpoints&proposal={id}"
    form = pages.get_form(second_url)
    assert form["proposal"] == id
    assert parse_proposal_id(pages.post(second_url, {**form, "text": "Three of them.", "act": "draft"})) == id
    text = read_document_at(pages, id, "specs/api.md")
    assert b"Ninety." in text
    assert b"Three of them." in text
    pages.post(second_url, {**pages.get_form(second_url), "text": "Four.", "act": "propose"})
    assert pages.workspace.proposal_actions().find(id).state is ProposalState.OPEN


def test_edit_of_another_users_proposal_is_added_to_it(pages: DocumentPages) -> None:
    author = Author("Bot", "bot@example.org", IdentitySource.CLIENT, "a-client")
    other_proposal = pages.workspace.proposal_actions().open("Theirs", "", Actor(author, "tool", "a-client"))
    assert other_proposal.id not in pages.get(LIMITS_URL)
    form = pages.get_form(f"{LIMITS_URL}&proposal={other_proposal.id}")
    assert form["proposal"] == other_proposal.id
    assert (
        parse_proposal_id(pages.post(LIMITS_URL, {**form, "text": "Ninety.", "act": "draft"}))
        == other_proposal.id
    )


def test_selected_proposal_receives_the_edit(pages: DocumentPages) -> None:
    first_form = {**pages.get_form(LIMITS_URL), "text": "Ninety.", "title": "Allow more", "act": "draft"}
    id = parse_proposal_id(pages.post(LIMITS_URL, first_form))
    second_url = "/edit/specs/api.md?section=endpoints"
    pages.post(second_url, {**pages.get_form(second_url), "text": "Three.", "proposal": id, "act": "draft"})
    assert b"Three." in read_document_at(pages, id, "specs/api.md")


@pytest.mark.parametrize(
    ("url", "old", "new", "old_bytes", "new_bytes"),
    [
        ("/edit/specs/crlf.md?section=a", "two", "2\r\n3", b"two\r\n", b"2\r\n3\r\n"),
        ("/edit/specs/crlf.md?section=b", "three", "four", b"three", b"four"),
        ("/edit/specs/crlf.md", "# Lines", "# Line ends", b"# Lines", b"# Line ends"),
        ("/edit/specs/api.md", "type: spec", "type: guide", b"type: spec", b"type: guide"),
        ("/edit/specs/api.md?section=_preamble", "What", "Say what", b"What", b"Say what"),
        ("/edit/odd/a%20b%23c%3F.md?section=its-%C3%A9-section", "Text", "Words", b"Text", b"Words"),
    ],
    ids=["crlf", "no last newline", "title", "front matter", "introduction", "odd names"],
)
def test_edit_changes_only_the_edited_bytes(
    pages: DocumentPages, url: str, old: str, new: str, old_bytes: bytes, new_bytes: bytes
) -> None:
    form = pages.get_form(url)
    id = parse_proposal_id(
        pages.post(url, {**form, "text": form["text"].replace(old, new), "title": "Change a section"})
    )
    path = "odd/a b#c?.md" if "odd" in url else url.split("/edit/")[1].split("?")[0]
    assert read_document_at(pages, id, path) == read_document_at(pages, "main", path).replace(
        old_bytes, new_bytes, 1
    )


def test_concurrent_duplicate_forms_create_one_proposal(pages: DocumentPages) -> None:
    form = {**pages.get_form(LIMITS_URL), "text": "Ninety.", "title": "Allow more", "act": "propose"}
    with ThreadPoolExecutor(4) as pool:
        locations = set(pool.map(lambda _: pages.post(LIMITS_URL, form), range(4)))
    assert len(locations) == 1
    [proposal] = pages.workspace.proposal_actions().list_all()
    assert proposal.state is ProposalState.OPEN
    assert pages.repo.git("rev-list", "--count", f"main..{proposal.tip}").strip() == "1"


def test_reused_key_with_another_text_shows_the_form_again(pages: DocumentPages) -> None:
    form = {**pages.get_form(LIMITS_URL), "text": "Ninety.", "title": "Allow more", "act": "draft"}
    pages.post(LIMITS_URL, form)
    page = pages.post(LIMITS_URL, {**form, "text": "A hundred."}, 409)
    assert "already sent" in page
    assert parse_form(page)["text"] == "A hundred."
    pages.post(LIMITS_URL, {**parse_form(page), "act": "draft"})
    assert len(pages.workspace.proposal_actions().list_all()) == 2


def test_concurrent_change_shows_all_three_texts(pages: DocumentPages) -> None:
    form = pages.get_form(LIMITS_URL)
    target_text = read_document_at(pages, "main", "specs/api.md").replace(b"Sixty", b"Seventy")
    pages.repo.commit({"specs/api.md": target_text})
    page = pages.post(LIMITS_URL, {**form, "text": "Ninety in a minute.", "title": "Allow <more>"}, 409)
    for text in ("Sixty in a minute.", "Seventy in a minute.", "Ninety in a minute.", "Allow &lt;more&gt;"):
        assert text in page
    assert not pages.workspace.proposal_actions().list_all()
    new_form = parse_form(page)
    assert new_form["base"] == pages.repo.head()
    id = parse_proposal_id(pages.post(LIMITS_URL, new_form))
    assert b"Ninety in a minute." in read_document_at(pages, id, "specs/api.md")


def test_edit_preserves_concurrent_change_elsewhere(pages: DocumentPages) -> None:
    form = pages.get_form(LIMITS_URL)
    target_text = read_document_at(pages, "main", "specs/api.md").replace(b"Two of them", b"Three of them")
    pages.repo.commit({"specs/api.md": target_text})
    id = parse_proposal_id(pages.post(LIMITS_URL, {**form, "text": "Ninety.", "title": "Allow more"}))
    assert read_document_at(pages, id, "specs/api.md") == target_text.replace(b"Sixty in a minute", b"Ninety")


def test_edit_of_deleted_section_preserves_form_text(pages: DocumentPages) -> None:
    form = pages.get_form(LIMITS_URL)
    text = read_document_at(pages, "main", "specs/api.md")
    pages.repo.commit({"specs/api.md": text[: text.index(b"## Rate")]})
    page = pages.post(LIMITS_URL, {**form, "text": "Ninety, however.", "title": "Allow more"}, 400)
    assert "Ninety, however." in page
    assert not pages.workspace.proposal_actions().list_all()


@pytest.mark.parametrize(
    ("changed_fields", "message"),
    [
        ({"title": ""}, "title"),
        ({"title": "x" * 300}, "title"),
        ({"text": "Two of them."}, "The text is unchanged"),
        ({"text": "> a\n\n## Errors\n\n```\nopen"}, "section"),
        ({"text": "a\0b"}, "NUL"),
        ({"base": "0" * 40}, "no longer exists"),
        ({"base": ""}, "no longer exists"),
        ({"proposal": "zzzzzzzz"}, "proposal"),
    ],
    ids=["no title", "long title", "no change", "open fence", "NUL", "other base", "no base", "no proposal"],
)
def test_invalid_edit_is_reported_and_creates_nothing(
    pages: DocumentPages, changed_fields: dict[str, str], message: str
) -> None:
    url = "/edit/specs/api.md?section=endpoints"
    form = {**pages.get_form(url), "text": "Ninety, they say.", "title": "Allow more", **changed_fields}
    response = pages.client.post(url, data=form)
    assert 400 <= response.status_code < 500
    assert message in response.text
    if "text" not in changed_fields:
        assert "Ninety, they say." in response.text
    assert not pages.workspace.proposal_actions().list_all()
    assert "proposals/" not in pages.repo.git("branch", "--list")


def test_edit_of_an_ended_proposal_is_refused(pages: DocumentPages) -> None:
    form = {**pages.get_form(LIMITS_URL), "text": "Ninety.", "title": "Allow more", "act": "draft"}
    id = parse_proposal_id(pages.post(LIMITS_URL, form))
    proposal_actions = pages.workspace.proposal_actions()
    form = pages.get_form(f"{LIMITS_URL}&proposal={id}")
    from docyard.caller import Caller

    proposal_actions.close(id, pages.site.build_actor(pages.workspace, Caller(None, "", True, False)))
    page = pages.client.post(LIMITS_URL, data={**form, "text": "More of it."})
    assert page.status_code in (400, 409)
    assert "More of it." in page.text
    assert "closed" in page.text


def test_preview_shows_the_text_and_preserves_the_form(pages: DocumentPages) -> None:
    form = {**pages.get_form(LIMITS_URL), "text": "**Ninety** <script>alert(1)</script>", "title": "So far"}
    page = pages.post(LIMITS_URL, {**form, "act": "preview"}, 200)
    assert "<strong>Ninety</strong>" in page
    assert "<script>alert" not in page
    preview_form = parse_form(page)
    assert (preview_form["title"], preview_form["base"], preview_form["key"]) == (
        "So far",
        form["base"],
        form["key"],
    )
    assert not pages.workspace.proposal_actions().list_all()


def test_form_text_is_unchanged_except_for_blank_lines_at_its_ends(pages: DocumentPages) -> None:
    text = "\n\n  </textarea><b>&amp;\n\ttab\n"
    pages.repo.commit({"x.md": f"# X\n\n## A\n\n{text}\n## B\n"})
    assert (
        pages.get_form("/edit/x.md?section=a")["text"].replace("\r\n", "\n") == "  </textarea><b>&amp;\n\ttab"
    )


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/edit/specs/none.md", 404),
        ("/edit/specs/api.md?section=none", 404),
        ("/edit/specs", 404),
        ("/edit/notes.txt", 404),
        ("/edit/specs/twice.md?section=same", 400),
        ("/edit/specs/api.md?proposal=zzzzzzzz", 404),
    ],
    ids=["document", "section", "folder", "no document", "ambiguous", "proposal"],
)
def test_missing_or_ambiguous_edit_target_returns_error_page(
    pages: DocumentPages, url: str, status: int
) -> None:
    assert "<h1>" in pages.get(url, status)


def test_second_section_of_the_same_name_is_edited(pages: DocumentPages) -> None:
    url = "/edit/specs/twice.md?section=same~2"
    assert pages.get_form(url)["text"] == "b"
    form = pages.get_form(url)
    # A new section above makes this section the third; the form still edits the same section.
    text = read_document_at(pages, "main", "specs/twice.md").replace(
        b"## Same", b"## New {#same}\n\nn\n\n## Same"
    )
    pages.repo.commit({"specs/twice.md": text})
    id = parse_proposal_id(pages.post(url, {**form, "text": "c", "title": "Say c"}))
    assert read_document_at(pages, id, "specs/twice.md") == text.replace(b"\n\nb\n", b"\n\nc\n")


def test_conflict_shows_no_text_of_section_with_same_name(pages: DocumentPages) -> None:
    url = "/edit/specs/twice.md?section=same~2"
    form = pages.get_form(url)
    text = read_document_at(pages, "main", "specs/twice.md").replace(
        b"## Same", b"## New {#same}\n\nn\n\n## Same"
    )
    pages.repo.commit({"specs/twice.md": text.replace(b"\n\nb\n", b"\n\nchanged\n")})
    page = pages.post(url, {**form, "text": "c", "title": "Say c"}, 409)
    assert "Current text" not in page
    assert parse_form(page)["base"] == form["base"]
    assert parse_form(page)["text"] == "c"


def test_ambiguous_section_lists_candidates_with_lines(pages: DocumentPages) -> None:
    page = pages.get("/edit/specs/twice.md?section=same", 400)
    assert '<a href="/doc/specs/twice.md#same~1">Same, line 3</a>' in page
    assert '<a href="/doc/specs/twice.md#same~2">Other, line 7</a>' in page


def test_edit_of_moved_section_redirects(pages: DocumentPages) -> None:
    pages.repo.git("mv", "specs/api.md", "specs/search.md")
    pages.repo.commit({}, "Rename the document")
    response = pages.client.get(LIMITS_URL)
    assert response.headers["location"] == "/edit/specs/search.md?section=rate-limits"


@loop_over(("read_only", "may_write"), [(True, True), (False, False)], ids=["server", "caller"])
def test_edits_are_refused_if_server_or_caller_is_read_only(
    tmp_path: Path, read_only: bool, may_write: bool
) -> None:
    with serve_documents(tmp_path / "repo", read_only=read_only, may_write=may_write) as pages:
        pages.get(LIMITS_URL, 403)
        assert pages.client.post(LIMITS_URL, data={"csrf": "a-token-of-the-page"}).status_code == 403
        assert "/edit/" not in pages.get("/history/specs/api.md")


def test_form_with_wrong_csrf_token_is_refused(pages: DocumentPages) -> None:
    form = pages.get_form(LIMITS_URL)
    pages.post(LIMITS_URL, {**form, "csrf": "wrong", "text": "Ninety.", "title": "x"}, 403)
    assert not pages.workspace.proposal_actions().list_all()
