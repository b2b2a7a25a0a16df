"""Published documentation of 150 files: the ids of its headings stay valid addresses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests import fork_server, repositories
from tests.acceptance.server import Server, build_user_environment, serve_repository
from tests.published_docs import FILE_COUNT, make_documentation, make_headings, make_path, make_text
from tests.repositories import Repo

PAGE_PATH, OTHER_PAGE_PATH = make_path(4), make_path(5)


def run_docyard(repo: Repo, home: Path, *arguments: str) -> str:
    """Run a command of docyard, which must succeed, and return its output."""
    process = subprocess.run(
        [*fork_server.build_python_command(), "-m", "docyard", *arguments],
        cwd=repo.path,
        env={**build_user_environment(home), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def call_tool(agent: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, which must succeed, and return its data."""
    response = agent.call(tool, **arguments)
    assert not response.is_error, response.data
    return response.data


def call_edit(agent: Server, **operation: Any) -> dict[str, Any]:
    """Run one operation on a document, and return the data of the response."""
    return call_tool(agent, "edit_document", **operation)


def read_lines(repo: Repo, path: str) -> list[str]:
    return (repo.path / path).read_text().splitlines()


def test_published_ids_stay_valid_addresses(tmp_path: Path, home: Path) -> None:
    repo = repositories.create_repository(tmp_path / "repo", make_documentation())
    output = run_docyard(repo, home, "init")
    assert "published with MkDocs (mkdocs.yml)" in output
    assert f"{FILE_COUNT * 4} headings have an anchor as {{ #id }}." in output
    assert f"{FILE_COUNT} headings have the anchor on the next line, as {{: #id }}." in output
    with serve_repository(repo.path, home, "--toolsets", "documents,search,history,proposals") as agent:
        check_titles(agent)
        check_ids_after_edits(repo, agent)
        check_ids_in_proposal(repo, agent)
        check_repair_of_old_anchors(repo, home, agent)
    assert repo.status() == ""
    assert repo.fsck() == ""


def check_titles(agent: Server) -> None:
    """Check that titles contain no anchor: in documents, hits and breadcrumbs."""
    for number in range(0, FILE_COUNT, 30):
        view = call_tool(agent, "view_document", file=make_path(number))
        assert view["title"].startswith(f"Page {number} of")
        assert "{" not in view["title"]
        outline = json.dumps(view, ensure_ascii=False)
        for heading in make_headings(number):
            assert heading.id in outline
    for words, published_id in (("First steps", "first-steps"), ("In MDX", "in-mdx"), ("Questions", "faq")):
        hits = call_tool(agent, "search_docs", query=f"{words} number 7")["hits"]
        assert hits
        assert f"#{published_id}" in json.dumps(hits)
        for hit in hits:
            fields = {key: value for key, value in hit.items() if key not in ("snippet", "metadata", "tasks")}
            titles = [task["title"] for task in hit.get("tasks", ())]
            assert "{" not in str([*fields.values(), *titles]).replace("a-set--a-b-", "")
    view = call_tool(agent, "view_document", file=PAGE_PATH, slug="first-steps--first-steps-")
    assert view["slug"] == "first-steps"
    view = call_tool(
        agent, "view_document", file=PAGE_PATH, slug="first-steps--first-steps-/install-it--install-004-wide-"
    )
    assert view["slug"] == "install-004"


def check_ids_after_edits(repo: Repo, agent: Server) -> None:
    """Rename, rewrite, move and restore sections by their ids, or by the addresses of version 0.1.0."""
    commit_before = repo.head()
    result = call_edit(
        agent,
        operation="rename_section",
        file=PAGE_PATH,
        slug="first-steps--first-steps-",
        new_title="Getting going",
    )
    assert result["slug"] == "first-steps"
    assert "## Getting going { #first-steps }" in read_lines(repo, PAGE_PATH)
    call_edit(agent, operation="rename_section", file=PAGE_PATH, slug="options", new_title="Every option")
    assert "## Every option {: .reference #options data-x='1 2' }" in read_lines(repo, PAGE_PATH)
    call_tool(agent, "view_document", file=PAGE_PATH, slug="faq")
    call_edit(agent, operation="update_content", file=PAGE_PATH, slug="faq", content="Answers.")
    text = (repo.path / PAGE_PATH).read_text()
    assert "## Questions\n{: #faq .no_toc }\n\nAnswers.\n" in text
    # The section moved, and the links to it were updated.
    call_edit(
        agent,
        operation="move_section",
        file=PAGE_PATH,
        slug="install-004",
        to_file=OTHER_PAGE_PATH,
        after="limits",
    )
    assert "## Install it { #install-004 .wide }" in read_lines(repo, OTHER_PAGE_PATH)
    linking_number = next(number for number in range(FILE_COUNT) if (number * 7 + 1) % FILE_COUNT == 4)
    assert "page-005.md#install-004)" in (repo.path / make_path(linking_number)).read_text()
    response = agent.call("view_document", file=PAGE_PATH, slug="install-004")
    assert OTHER_PAGE_PATH in response.text
    call_tool(agent, "view_document", file=PAGE_PATH)
    call_tool(agent, "view_document", file=OTHER_PAGE_PATH)
    call_tool(agent, "restore_document", file=PAGE_PATH, ref=commit_before)
    call_tool(agent, "restore_document", file=OTHER_PAGE_PATH, ref=commit_before)
    assert (repo.path / PAGE_PATH).read_text() == make_text(4)
    assert (repo.path / OTHER_PAGE_PATH).read_text() == make_text(5)


def check_ids_in_proposal(repo: Repo, agent: Server) -> None:
    """Comment on a proposal by an earlier address, and merge it with changes of its target."""
    path = make_path(8)
    proposal = call_tool(agent, "create_proposal", title="Better words", description="")["proposal"]
    call_edit(
        agent, operation="rename_section", file=path, slug="größe", new_title="Measures", proposal=proposal
    )
    call_tool(
        agent, "update_proposal", proposal=proposal, action="comment", file=path,
        slug="first-steps--first-steps-", text="Shorter?",
    )  # fmt: skip
    call_tool(agent, "update_proposal", proposal=proposal, action="submit")
    view = call_tool(agent, "view_proposal", proposal=proposal)
    [comment] = view["comments"]
    assert comment["text"] == "Shorter?"
    assert comment["slug"] == "first-steps"
    call_edit(agent, operation="append_content", file=path, slug="größe", content="More on main.")
    call_edit(agent, operation="rename_section", file=path, slug="first-steps", new_title="Begin")
    call_tool(agent, "update_proposal", proposal=proposal, action="merge")
    text = (repo.path / path).read_text()
    assert "## Measures { #größe }\n" in text
    assert "More on main." in text
    assert "## Begin { #first-steps }\n" in text


def check_repair_of_old_anchors(repo: Repo, home: Path, agent: Server) -> None:
    """Remove a derived anchor; calls and links with the anchor must still resolve."""
    path = make_path(12)
    old_text = make_text(12).replace("{ #first-steps }", "{ #first-steps } {#first-steps--first-steps-}")
    destination = path.removeprefix("docs/")
    repo.commit(
        {path: old_text, "docs/notes.md": f"# Notes\n\n[a]({destination}#first-steps--first-steps-)\n"}
    )
    assert (
        call_tool(agent, "view_document", file=path, slug="first-steps--first-steps-")["slug"]
        == "first-steps"
    )
    assert "1 derived-anchor" in run_docyard(repo, home, "fix")
    assert (repo.path / path).read_text() == make_text(12)
    assert (
        call_tool(agent, "view_document", file=path, slug="first-steps--first-steps-")["slug"]
        == "first-steps"
    )
    run_docyard(repo, home, "validate", "docs/notes.md")
    run_docyard(repo, home, "fix", "--check")
