"""Links in answers: what a removal breaks, what a move rewrote, and warnings of links that lead nowhere."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask

pytestmark = pytest.mark.smoke

LINKING = "# Links\n\n## Seen\n\n[a](../api.md) and [b](../api.md#endpoints/search)\n"
BROKEN = [
    {"file": "notes/links.md", "slug": "seen", "line": 5, "destination": "../api.md"},
    {"file": "notes/links.md", "slug": "seen", "line": 5, "destination": "../api.md#endpoints/search"},
]


@pytest.fixture
def linked(repo: Repo) -> Repo:
    repo.commit({"notes/links.md": LINKING})
    return repo


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_removed_document_tells_what_breaks(ask: Ask, linked: Repo, dry_run: bool) -> None:
    ask("view_document", file="api.md", slug="_preamble", include_subsections=True)
    answer = ask("remove_document", path="api.md", dry_run=dry_run)
    assert not answer.is_error, answer.data
    assert answer.data["removed"] is True
    assert (answer.data["broken_links"], answer.data["broken_links_total"]) == (BROKEN, 2)
    assert dry_run or '{"file": "notes/links.md", "slug": "seen"}' in answer.data["next_step"]


def test_a_removed_section_tells_what_breaks(ask: Ask, linked: Repo) -> None:
    ask("view_document", file="api.md", slug="endpoints", include_subsections=True)
    [result] = ask("remove_document", operations=[{"file": "api.md", "slug": "endpoints"}]).data[
        "batch_results"
    ]
    assert (result["removed"], result["broken_links"]) == ("section", BROKEN[1:])


def test_a_removal_that_breaks_nothing_says_nothing_of_links(ask: Ask, linked: Repo) -> None:
    ask("view_document", file="notes/links.md", slug="_preamble", include_subsections=True)
    answer = ask("remove_document", path="notes/links.md")
    assert "broken_links" not in answer.data
    assert "list_documents" in answer.data["next_step"]


def test_a_move_tells_what_it_rewrote_and_later_calls_know_it(ask: Ask, linked: Repo) -> None:
    answer = ask("edit_document", operation="move_document", file="api.md", new_path="notes/")
    assert not answer.is_error, answer.data
    assert answer.data["file"] == "notes/api.md"
    assert answer.data["links_rewritten"] == 2
    assert answer.data["files_rewritten"] == ["notes/links.md"]
    assert linked.git("show", "HEAD:notes/links.md") == LINKING.replace("../api", "api")
    assert linked.git("rev-list", "--count", "HEAD").strip() == "3"
    viewed = ask("view_document", file="notes/api.md")
    assert not viewed.is_error


def test_links_that_were_rewritten_need_not_be_read_again(ask: Ask, linked: Repo) -> None:
    ask("view_document", file="notes/links.md", slug="seen")
    ask("edit_document", operation="move_document", file="api.md", new_path="new.md")
    answer = ask("edit_document", file="notes/links.md", slug="seen", content="Else.")
    assert not answer.is_error, answer.data


def test_a_link_that_leads_nowhere_is_named(ask: Ask, linked: Repo) -> None:
    answer = ask(
        "edit_document", file="api.md", slug="tasks", content="[x](#endpoint)", operation="append_content"
    )
    line = 1 + linked.git("show", "HEAD:api.md").split("\n").index("[x](#endpoint)")
    assert answer.data["hints"] == [
        f"link to '#endpoint' on line {line} is broken: no section 'endpoint' in api.md; "
        "did you mean 'endpoints'?"
    ]
    created = ask(
        "create_document",
        doc_type="document",
        title="New",
        initial_content="[x](missing-entirely.md) [y](api.md)",
    )
    assert created.data["hints"] == [
        "link to 'missing-entirely.md' on line 7 is broken: there is no 'missing-entirely.md'"
    ]
