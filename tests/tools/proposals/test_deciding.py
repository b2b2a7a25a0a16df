"""Conflicts resolved by a client that only copies fields of answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool, next_call
from tests.tools.proposals.conftest import check_success, create_proposal, read_resolution_fields

SIDES = ("mine", "yours")
NAMED = ("file", "kind", "where", "part")


@pytest.fixture
def torn(call_tool: CallTool, repo: Repo) -> str:
    """Return a proposal with conflicts in a dozen sections and a metadata key of two documents."""
    text = "---\nowner: {0}\n---\n# Torn\n\n" + "".join(f"## S{n}\n\nFirst.\n\n{{0}}\n\n" for n in range(6))
    for path, ending in (("torn/lf.md", "\n"), ("torn/crlf.md", "\r\n")):
        (repo.path / path).parent.mkdir(exist_ok=True)
        (repo.path / path).write_bytes(text.format("nobody").replace("\n", ending).encode())
    repo.git("add", "torn")
    repo.git("commit", "-q", "-m", "Torn")
    proposal = create_proposal(call_tool, "Torn")
    for side, at in zip(SIDES, ({"proposal": proposal}, {}), strict=True):
        for path in ("torn/lf.md", "torn/crlf.md"):
            change = {"operation": "replace_text", "file": path, "old": "nobody", "new": side, "count": 6}
            check_success(call_tool("edit_document", **change, **at))
            owner = {"operation": "set_metadata", "file": path, "metadata": {"owner": side}}
            check_success(call_tool("edit_document", **owner, **at))
    return proposal


def read_conflicts(call_tool: CallTool, proposal: str) -> list[dict[str, Any]]:
    conflict_list = call_tool("view_proposal", proposal=proposal).data["conflicts"]
    assert len(conflict_list) == 14
    return list(conflict_list)


def read_shown_commits(call_tool: CallTool, proposal: str) -> dict[str, Any]:
    return read_resolution_fields(call_tool("view_proposal", proposal=proposal))


def test_next_step_decides_all_conflicts(call_tool: CallTool, torn: str, repo: Repo) -> None:
    tool, arguments = next_call(call_tool("view_proposal", proposal=torn))
    assert check_success(call_tool(tool, **arguments))["changed"]
    data = check_success(call_tool("view_proposal", proposal=torn))
    assert data["conflicts"] == []
    assert "yours" not in repo.git("show", f"{data['branch']}:torn/lf.md")


def test_example_after_partial_decisions_preserves_them(call_tool: CallTool, torn: str, repo: Repo) -> None:
    first = [
        {**conflict, "choice": "content", "content": str(conflict["ours"]).replace("mine", "both") + "\n"}
        for conflict in read_conflicts(call_tool, torn)[:9]
    ]
    refused = call_tool(
        "update_proposal",
        proposal=torn,
        action="refresh",
        resolutions=first,
        **read_shown_commits(call_tool, torn),
    )
    assert (refused.is_error, len(refused.data["conflicts"])) == (True, 5)
    data = check_success(call_tool("update_proposal", **refused.data["example"]))
    branch = check_success(call_tool("view_proposal", proposal=torn))["branch"]
    texts = [repo.git("show", f"{data['commit']}:torn/{name}.md") for name in ("crlf", "lf")]
    assert [text.count("both") for text in texts] == [7, 2]
    assert [text.count("mine") for text in texts] == [0, 5]
    assert repo.git("rev-parse", branch).strip() == data["commit"]


def test_file_and_section_conflicts_are_decided_together(call_tool: CallTool, torn: str, repo: Repo) -> None:
    all_conflicts = read_conflicts(call_tool, torn)
    one = next(
        conflict
        for conflict in all_conflicts
        if conflict["file"] == "torn/lf.md" and conflict["where"] == "s2"
    )
    decided = [
        {"file": "torn/lf.md", "choice": "theirs"},
        {**one, "choice": "ours"},
        {"file": "torn/crlf.md", "where": "owner", "choice": "theirs"},
        {"file": "torn/crlf.md", "choice": "ours"},
    ]
    data = check_success(
        call_tool(
            "update_proposal",
            proposal=torn,
            action="refresh",
            resolutions=decided,
            **read_shown_commits(call_tool, torn),
        )
    )
    lf, crlf = (repo.git("show", f"{data['commit']}:torn/{name}.md") for name in ("lf", "crlf"))
    assert (lf.count("mine"), lf.count("yours")) == (1, 6)
    assert (crlf.count("mine"), crlf.count("yours")) == (6, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": "mine"},
        {"kind": "txt", "choice": "ours"},
        {"choice": "content", "content": "Words.\n\n## More\n"},
        {"kind": None, "choice": "content", "content": "x"},
        {"file": "torn/lg.md", "kind": None, "choice": "ours"},
    ],
)
def test_invalid_decision_returns_working_example(
    call_tool: CallTool, torn: str, wrong: dict[str, object]
) -> None:
    s2_conflict = next(conflict for conflict in read_conflicts(call_tool, torn) if conflict["where"] == "s2")
    decided = {"resolutions": [{**s2_conflict, **wrong}], **read_shown_commits(call_tool, torn)}
    refused = call_tool("update_proposal", proposal=torn, action="refresh", **decided)
    assert refused.is_error
    assert refused.data["code"] in ("INVALID_ARGUMENTS", "INVALID_RESOLUTION")
    assert refused.data["fix"]
    assert check_success(call_tool("update_proposal", **refused.data["example"]))["changed"]


def test_decisions_are_bound_to_shown_commits_and_retry_matches(call_tool: CallTool, torn: str) -> None:
    view = call_tool("view_proposal", proposal=torn)
    decided = [{**conflict, "choice": "theirs"} for conflict in view.data["conflicts"]]
    call = {"proposal": torn, "action": "refresh", "resolutions": decided}
    # Without the commits of the answer, the conflicts are returned again.
    for without_commits in ({}, {"commit": view.data["commit"]}):
        refused = call_tool("update_proposal", **call, **without_commits)
        assert (refused.data["code"], read_resolution_fields(refused)) == (
            "INVALID_ARGUMENTS",
            read_resolution_fields(view),
        )
        assert refused.data["conflicts"] == view.data["conflicts"]
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "mine", "new": "unseen", "count": 6}
    check_success(call_tool("edit_document", **change, proposal=torn))
    changed = call_tool("update_proposal", **call, **read_resolution_fields(view))
    assert (changed.data["code"], len(changed.data["conflicts"])) == ("CONFLICT_CHANGED", 14)
    assert "unseen" in [conflict["ours"] for conflict in changed.data["conflicts"]]
    again = {**changed.data["example"], "idempotency_key": "k"}
    retried = check_success(call_tool("update_proposal", **again))
    check_success(
        call_tool(
            "edit_document", operation="append_content", file="api.md", slug="endpoints", content="More."
        )
    )
    answer = check_success(call_tool("update_proposal", **again))
    assert (answer["commit"], answer["changed"]) == (retried["commit"], False)
    other = call_tool("update_proposal", **{**again, "resolutions": decided})
    assert other.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert check_success(call_tool("view_proposal", proposal=torn))["tip"] == retried["commit"]


def test_decision_does_not_drop_later_target_text(call_tool: CallTool, torn: str, repo: Repo) -> None:
    tool, arguments = next_call(call_tool("view_proposal", proposal=torn))
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "yours", "new": "unseen", "count": 6}
    check_success(call_tool("edit_document", **change))
    check_success(call_tool(tool, **arguments))
    refused = call_tool("update_proposal", proposal=torn, action="merge")
    assert refused.data["code"] == "MERGE_CONFLICT"
    assert {conflict["theirs"] for conflict in refused.data["conflicts"]} == {"unseen"}
    assert repo.git("show", "main:torn/lf.md").count("unseen") == 6
