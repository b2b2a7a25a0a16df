"""Links in answers: links broken by a removal, links rewritten by a move, and warnings of broken links."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool

pytestmark = pytest.mark.smoke

LINKING_DOCUMENT = "# Links\n\n## Seen\n\n[a](../api.md) and [b](../api.md#endpoints/search)\n"
BROKEN_LINKS = [
    {"file": "notes/links.md", "slug": "seen", "line": 5, "destination": "../api.md"},
    {"file": "notes/links.md", "slug": "seen", "line": 5, "destination": "../api.md#endpoints/search"},
]


@pytest.fixture
def repo_with_links(repo: Repo) -> Repo:
    repo.commit({"notes/links.md": LINKING_DOCUMENT})
    return repo


@pytest.mark.parametrize("dry_run", [True, False])
def test_removed_document_reports_broken_links(
    call_tool: CallTool, repo_with_links: Repo, dry_run: bool
) -> None:
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    answer = call_tool("remove_document", path="api.md", dry_run=dry_run)
    assert not answer.is_error, answer.data
    assert answer.data["removed"] is True
    assert (answer.data["broken_links"], answer.data["broken_links_total"]) == (BROKEN_LINKS, 2)
    assert dry_run or '{"file": "notes/links.md", "slug": "seen"}' in answer.data["next_step"]


def test_removed_section_reports_broken_links(call_tool: CallTool, repo_with_links: Repo) -> None:
    call_tool("view_document", file="api.md", slug="endpoints", include_subsections=True)
    [result] = call_tool("remove_document", operations=[{"file": "api.md", "slug": "endpoints"}]).data[
        "batch_results"
    ]
    assert (result["removed"], result["broken_links"]) == ("section", BROKEN_LINKS[1:])


def test_removal_without_broken_links_has_no_links_field(call_tool: CallTool, repo_with_links: Repo) -> None:
    call_tool("view_document", file="notes/links.md", slug="_preamble", include_subsections=True)
    answer = call_tool("remove_document", path="notes/links.md")
    assert "broken_links" not in answer.data
    assert "list_documents" in answer.data["next_step"]


def test_move_reports_rewritten_links(call_tool: CallTool, repo_with_links: Repo) -> None:
    answer = call_tool("edit_document", operation="move_document", file="api.md", new_path="notes/")
    assert not answer.is_error, answer.data
    assert answer.data["file"] == "notes/api.md"
    assert answer.data["links_rewritten"] == 2
    assert answer.data["files_rewritten"] == ["notes/links.md"]
    assert repo_with_links.git("show", "HEAD:notes/links.md") == LINKING_DOCUMENT.replace("../api", "api")
    assert repo_with_links.git("rev-list", "--count", "HEAD").strip() == "3"
    view = call_tool("view_document", file="notes/api.md")
    assert not view.is_error


def test_text_with_rewritten_links_still_counts_as_read(call_tool: CallTool, repo_with_links: Repo) -> None:
    call_tool("view_document", file="notes/links.md", slug="seen")
    call_tool("edit_document", operation="move_document", file="api.md", new_path="new.md")
    answer = call_tool("edit_document", file="notes/links.md", slug="seen", content="Else.")
    assert not answer.is_error, answer.data


def test_new_broken_link_is_reported(call_tool: CallTool, repo_with_links: Repo) -> None:
    answer = call_tool(
        "edit_document", file="api.md", slug="tasks", content="[x](#endpoint)", operation="append_content"
    )
    line = 1 + repo_with_links.git("show", "HEAD:api.md").split("\n").index("[x](#endpoint)")
    assert answer.data["hints"] == [
        f"link to '#endpoint' on line {line} is broken: no section 'endpoint' in api.md; "
        "did you mean 'endpoints'?"
    ]
    creation = call_tool(
        "create_document",
        doc_type="document",
        title="New",
        initial_content="[x](missing-entirely.md) [y](api.md)",
    )
    assert creation.data["hints"] == [
        "link to 'missing-entirely.md' on line 7 is broken: there is no 'missing-entirely.md'"
    ]
