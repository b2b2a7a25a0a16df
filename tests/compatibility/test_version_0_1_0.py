"""The data of 0.1.0 in the present version: addresses, links, comments, seals, trailers, cursors, journals.

`DERIVED_ADDRESSES` contains the addresses that 0.1.0 derived from headings with attribute lists: `{ #id }` or
`{: #id }`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.compatibility.conftest import OldData, RecordedData
from tests.compatibility.versions import Client
from tests.compatibility.write_archive import FILES, call_successfully
from tests.faults.support.repo_template import check_no_leftovers
from tests.loops import loop_over
from tests.repositories import Repo

Serve = Callable[[OldData], Any]

# Each entry contains an address of 0.1.0, the word in its section, and the id in its heading.
DERIVED_ADDRESSES = [
    ("first-steps--first-steps-", "word01", "first-steps"),
    ("first-steps--first-steps-/inner-part", "word02", None),
    ("next-steps--next-steps-step-", "word03", "next-steps"),
    ("next-steps--next-steps-step-/inner-part", "word04", None),
]
GUIDE = "guides/start.md"

# The response to a retry may have other values in these fields: advice, and the present state.
ADVICE_FIELDS = {"next_step", "hints", "note", "warnings"}
PRESENT_STATE_FIELDS = {"changed", "state"}
# The response to a retry of a direct write that became a proposal does not have these fields, as in 0.1.0.
REDIRECTION_FIELDS = {"branch", "protected"}


def list_refs(repo: Repo) -> str:
    return repo.git("for-each-ref", "--format=%(refname) %(objectname)")


def select_repeated_fields(tool: str, response: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that must be equal after a retry.

    The commit of a comment is the proposal's tip. Later versions leave out empty lists.
    """
    ignored_fields = (
        ADVICE_FIELDS | PRESENT_STATE_FIELDS | (REDIRECTION_FIELDS if tool == "edit_document" else {"commit"})
    )
    return {name: value for name, value in response.items() if name not in ignored_fields and value != []}


def test_every_old_address_resolves_to_its_section(shared_copy: OldData, client: Client) -> None:
    derived_addresses = {f"{GUIDE}#{slug}" for slug, _, _ in DERIVED_ADDRESSES}
    assert len(shared_copy.recorded_data["addresses"]) >= 20
    for address, expected_section in shared_copy.recorded_data["addresses"].items():
        if address in derived_addresses:
            continue
        file, _, slug = address.partition("#")
        section = call_successfully(client, "read_section", file_path=file, section_heading=slug)
        assert (section["section"], section["heading"]) == (slug, expected_section["title"])
        document = call_successfully(client, "view_document", file=file, slug=slug)
        chunk = call_successfully(client, "get_doc", chunk_id=address)
        for response in (section, document, chunk):
            assert (expected_section["word"] or "") in json.dumps(response, ensure_ascii=False)


@loop_over(("slug", "word", "id"), DERIVED_ADDRESSES)
def test_address_derived_from_attribute_list_still_resolves(
    client: Client, slug: str, word: str, id: str | None
) -> None:
    section = call_successfully(client, "read_section", file_path=GUIDE, section_heading=slug)
    assert section["content"].startswith("#")
    assert re.findall(r"word\d\d", section["content"])[0] == word
    document = call_successfully(client, "view_document", file=GUIDE, slug=slug)
    chunk = call_successfully(client, "get_doc", chunk_id=f"{GUIDE}#{slug}")
    assert word in json.dumps(document)
    assert word in json.dumps(chunk)


@pytest.mark.parametrize(
    ("slug", "word", "id"),
    [DERIVED_ADDRESSES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in DERIVED_ADDRESSES[1:])],
)
def test_write_to_derived_address_changes_its_section(
    old_copy: OldData, serve: Serve, slug: str, word: str, id: str | None
) -> None:
    with serve(old_copy) as client:
        call_successfully(
            client, "edit_document", operation="append_content", file=GUIDE, slug=slug, content="word99"
        )
    text = old_copy.repo.git("show", f"HEAD:{GUIDE}")
    # The appended text follows the last word of the section, and no heading is changed.
    assert re.search(rf"{word}\n(\n### Inner part\n\nword\d\d\n)?\nword99\n", text)
    assert {line for line in FILES[GUIDE].splitlines() if "{" in line} <= set(text.splitlines())


def test_links_valid_in_0_1_0_are_still_valid(shared_copy: OldData) -> None:
    repository_options = ("-C", shared_copy.repo.path, "--json")
    for address in (
        f"{GUIDE}#{DERIVED_ADDRESSES[0][0]}",
        f"{GUIDE}#{DERIVED_ADDRESSES[2][0]}",
        "specs/api.md#errors-1",
    ):
        data = json.loads(
            shared_copy.present_version.run("links", address, "--backlinks", *repository_options)
        )
        assert [link["from"].partition("#")[0] for link in data["backlinks"]] == [GUIDE]
    assert (
        len(
            json.loads(shared_copy.present_version.run("links", GUIDE, "--outgoing", *repository_options))[
                "outgoing"
            ]
        )
        == 5
    )
    assert (
        json.loads(shared_copy.present_version.run("links", "--broken", *repository_options))["broken"] == []
    )


def test_address_of_moved_document_resolves_to_new_path(client: Client) -> None:
    response = client.call("view_document", file="guides/html.md", slug="over")
    assert "guides/markup.md" in json.dumps(response)


def test_comments_have_their_old_positions(shared_copy: OldData, client: Client) -> None:
    count = 0
    for proposal, comments in shared_copy.recorded_data["comments"].items():
        response = call_successfully(client, "view_proposal", proposal=proposal, comments=True)
        present_comments = {comment["comment"]: comment for comment in response["comments"]}
        assert present_comments.keys() == {comment["comment"] for comment in comments}
        for comment in comments:
            present_comment = present_comments[comment["comment"]]
            present_author = present_comment["author"]
            assert present_author | comment["author"] == present_author, (proposal, comment)
            for name in ("text", "file", "time", "now", "quote"):
                assert present_comment.get(name) == comment.get(name), (proposal, comment)
            if comment.get("slug") in {slug for slug, _, _ in DERIVED_ADDRESSES}:
                text = call_successfully(
                    client, "read_section", file_path=GUIDE, section_heading=present_comment["slug"]
                )
                assert "word03" in text["content"]
            else:
                assert present_comment.get("slug") == comment.get("slug")
            count += 1
    assert count >= 19


def test_proposals_have_their_old_states(shared_copy: OldData, client: Client) -> None:
    assert set(shared_copy.recorded_data["states"].values()) == {
        "draft",
        "open",
        "changes_requested",
        "approved",
        "merged",
        "closed",
    }
    for proposal, state in shared_copy.recorded_data["states"].items():
        assert call_successfully(client, "view_proposal", proposal=proposal)["state"] == state


def test_sealed_approval_counts_and_its_proposal_is_merged(old_copy: OldData, serve: Serve) -> None:
    proposal = old_copy.recorded_data["proposals"]["approved"]["id"]
    page = json.loads(
        old_copy.make_version_with_token("ana").run(
            "proposals", "show", proposal, "-C", old_copy.repo.path, "--json"
        )
    )
    assert page["missing"] == []
    old_copy.make_version_with_token("ana").run("proposals", "merge", proposal, "-C", old_copy.repo.path)
    assert "word24 approved" in old_copy.repo.git("show", "HEAD:specs/api.md")
    trailers = old_copy.repo.git("log", "-1", "--format=%(trailers)")
    assert f"Docyard-Proposal: {proposal}" in trailers
    assert "Docyard-Person: ana" in trailers
    with serve(old_copy) as client:
        assert call_successfully(client, "view_proposal", proposal=proposal)["state"] == "merged"


def test_changed_seal_does_not_count(old_copy: OldData) -> None:
    """Check that seals are verified; without this check, the previous test could pass without seals."""
    folder = old_copy.folder / "discussion"
    old_copy.repo.git("worktree", "add", "-q", str(folder), "docyard/discussion")
    change_count = 0
    for file in folder.rglob("*"):
        if file.is_file() and ".git" not in file.name and b'"seal"' in (data := file.read_bytes()):
            file.write_bytes(
                re.sub(
                    rb'("seal": *")(.)', lambda match: match[1] + (b"1" if match[2] == b"0" else b"0"), data
                )
            )
            change_count += 1
    assert change_count
    Repo(folder).commit({})
    proposal = old_copy.recorded_data["proposals"]["approved"]["id"]
    page = json.loads(
        old_copy.make_version_with_token("ana").run(
            "proposals", "show", proposal, "-C", old_copy.repo.path, "--json"
        )
    )
    assert page["missing"] != []


def test_open_proposal_is_approved_and_merged(old_copy: OldData) -> None:
    proposal, repository_options = (
        old_copy.recorded_data["proposals"]["open"]["id"],
        ("-C", old_copy.repo.path),
    )
    old_copy.make_version_with_token("ana").run("proposals", "approve", proposal, *repository_options)
    old_copy.make_version_with_token("ana").run("proposals", "merge", proposal, *repository_options)
    assert "word22 opened" in old_copy.repo.git("show", "HEAD:specs/api.md")


def test_retry_returns_the_first_answer(shared_copy: OldData, client: Client) -> None:
    before = list_refs(shared_copy.repo)
    calls = [*shared_copy.recorded_data["retries"]]
    for proposal in shared_copy.recorded_data["proposals"].values():
        calls += proposal["retries"]
    assert len(calls) >= 30
    for call in calls:
        response = call_successfully(client, call["tool"], **call["arguments"])
        expected = select_repeated_fields(call["tool"], call["answer"])
        assert {name: response.get(name) for name in expected} == expected, call
    assert list_refs(shared_copy.repo) == before


def test_idempotency_key_of_another_call_is_refused(shared_copy: OldData, client: Client) -> None:
    call = shared_copy.recorded_data["retries"][1]
    response = client.call(call["tool"], **{**call["arguments"], "title": "Another"})
    assert response["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_history_names_the_same_commits_tools_and_proposals(shared_copy: OldData, client: Client) -> None:
    expected_history = shared_copy.recorded_data["history"]
    history = call_successfully(client, "view_history", file="specs/api.md")
    [name] = [name for name, value in expected_history.items() if isinstance(value, list)]
    assert expected_history[name]
    assert len(expected_history[name]) == len(history[name])
    for before, after in zip(expected_history[name], history[name], strict=True):
        assert {key: after.get(key) for key in before} == before


def test_tasks_have_their_old_addresses(old_copy: OldData, serve: Serve) -> None:
    expected_tasks = old_copy.recorded_data["tasks"]["sections"]["tasks"]
    with serve(old_copy) as client:
        tasks = call_successfully(client, "view_document", file="specs/api.md")["sections"]["tasks"]
        assert {name: tasks[name] for name in expected_tasks} == expected_tasks
        response = call_successfully(client, "reopen_task", file=GUIDE, slug="twice-1[0]")
        assert response["progress"] == {"total": 1, "completed": 0}


ITEM_GETTERS = {
    "search": lambda page: [hit["chunk_id"] for hit in page["hits"]],
    "documents": lambda page: [document["path"] for document in page["documents"]],
    "sections": lambda page: page["sections"],
    "history": lambda page: next(value for value in page.values() if isinstance(value, list)),
}


@loop_over("page_kind", ITEM_GETTERS)
def test_old_cursor_returns_next_page_or_is_stale(
    shared_copy: OldData, client: Client, page_kind: str
) -> None:
    call = shared_copy.recorded_data["pages"][page_kind]
    cursor = call["answer"].get("next_cursor") or call["answer"]["cursor"]
    limit = call["arguments"]["limit"]
    response = client.call(call["tool"], **call["arguments"], cursor=cursor)
    if "code" in response:
        assert response["code"] == "CURSOR_STALE"
        assert response["fix"]
        return
    arguments = {**call["arguments"], "limit": 2 * limit}
    if page_kind == "documents":
        arguments["expand"] = "notes"  # Later versions list its documents as one row.
    full_page = call_successfully(client, call["tool"], **arguments)
    assert ITEM_GETTERS[page_kind](response) == ITEM_GETTERS[page_kind](full_page)[limit:]


def check_searches(recorded_data: RecordedData, client: Client) -> None:
    derived_addresses = {f"{GUIDE}#{slug}" for slug, _, _ in DERIVED_ADDRESSES}
    for query, expected in recorded_data["searches"].items():
        hits = [
            hit["chunk_id"] for hit in call_successfully(client, "search_docs", query=query, limit=20)["hits"]
        ]
        if derived_addresses & {*expected}:
            assert len(hits) == len(expected)
            assert hits[0].startswith(f"{GUIDE}#first-steps")
        else:
            assert hits == expected


def test_searches_return_their_old_results(shared_copy: OldData, client: Client) -> None:
    assert list((shared_copy.repo.path / ".git/docyard/index").iterdir())
    check_searches(shared_copy.recorded_data, client)


@pytest.mark.parametrize("is_sealed", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_old_artifact_is_served(old_copy: OldData, is_sealed: bool) -> None:
    options = ("--index", old_copy.folder / "artifact", "--read-only", "--toolsets", "search,reading")
    with old_copy.present_version.serve(
        *options, *(("--key", old_copy.folder / "site.key") if is_sealed else ())
    ) as client:
        check_searches(old_copy.recorded_data, client)
        slug = "endpoints/search"
        section = call_successfully(client, "read_section", file_path="specs/api.md", section_heading=slug)
        assert "word22" in section["content"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_crashed_publication_is_rolled_back_or_completed(old_copy: OldData, when: str) -> None:
    repo = Repo(old_copy.folder / when)
    arguments = {"operation": "replace_text", "file": "notes/one.md", "old": "old", "new": "new"}
    base = repo.head()
    with old_copy.present_version.serve("-C", repo.path, "--no-sync") as client:
        response = call_successfully(client, "edit_document", **arguments, idempotency_key="crash-1")
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"
    assert response["commit"] == repo.head()
    assert (base == repo.head()) == (when == "after")
    assert (repo.path / "notes/one.md").read_text() == "# One\n\n## Part\n\nnew\n"
    assert (repo.status(), repo.fsck()) == ("", "")
    check_no_leftovers(repo.path / ".git")


def test_read_only_server_changes_no_refs(old_copy: OldData) -> None:
    before = list_refs(old_copy.repo)
    server = old_copy.present_version.serve(
        "-C", old_copy.repo.path, "--no-sync", "--read-only", "--toolsets", "search,reading"
    )
    with server as client:
        check_searches(old_copy.recorded_data, client)
    assert list_refs(old_copy.repo) == before
    assert (old_copy.repo.status(), old_copy.repo.fsck()) == ("", "")
    assert old_copy.repo.head() == old_copy.recorded_data["head"]
