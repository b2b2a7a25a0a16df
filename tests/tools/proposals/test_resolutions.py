"""Conflicts resolved by a client that only copies fields from answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool, parse_next_call
from tests.tools.proposals.conftest import check_success, create_proposal, get_commit_fields

SIDES = ("mine", "yours")


@pytest.fixture
def conflicting_proposal(call_tool: CallTool, repo: Repo) -> str:
    """Return a proposal with 14 conflicts: in six sections and one metadata key of each of two documents."""
    text = "---\nowner: {0}\n---\n# Torn\n\n" + "".join(
        f"## S{number}\n\nFirst.\n\n{{0}}\n\n" for number in range(6)
    )
    for path, ending in (("torn/lf.md", "\n"), ("torn/crlf.md", "\r\n")):
        (repo.path / path).parent.mkdir(exist_ok=True)
        (repo.path / path).write_bytes(text.format("nobody").replace("\n", ending).encode())
    repo.git("add", "torn")
    repo.git("commit", "-q", "-m", "Torn")
    proposal = create_proposal(call_tool, "Torn")
    for side, proposal_field in zip(SIDES, ({"proposal": proposal}, {}), strict=True):
        for path in ("torn/lf.md", "torn/crlf.md"):
            change = {"operation": "replace_text", "file": path, "old": "nobody", "new": side, "count": 6}
            check_success(call_tool("edit_document", **change, **proposal_field))
            owner = {"operation": "set_metadata", "file": path, "metadata": {"owner": side}}
            check_success(call_tool("edit_document", **owner, **proposal_field))
    return proposal


def read_conflicts(call_tool: CallTool, proposal: str) -> list[dict[str, Any]]:
    conflicts = call_tool("view_proposal", proposal=proposal).data["conflicts"]
    assert len(conflicts) == 14
    return list(conflicts)


def read_commits(call_tool: CallTool, proposal: str) -> dict[str, Any]:
    return get_commit_fields(call_tool("view_proposal", proposal=proposal))


def test_next_step_resolves_all_conflicts(call_tool: CallTool, conflicting_proposal: str, repo: Repo) -> None:
    tool, arguments = parse_next_call(call_tool("view_proposal", proposal=conflicting_proposal))
    assert check_success(call_tool(tool, **arguments))["changed"]
    data = check_success(call_tool("view_proposal", proposal=conflicting_proposal))
    assert "conflicts" not in data
    assert "yours" not in repo.git("show", f"{data['branch']}:torn/lf.md")


def test_example_after_partial_resolution_preserves_it(
    call_tool: CallTool, conflicting_proposal: str, repo: Repo
) -> None:
    resolutions = [
        {**conflict, "choice": "content", "content": str(conflict["ours"]).replace("mine", "both") + "\n"}
        for conflict in read_conflicts(call_tool, conflicting_proposal)[:9]
    ]
    refusal = call_tool(
        "update_proposal",
        proposal=conflicting_proposal,
        action="refresh",
        resolutions=resolutions,
        **read_commits(call_tool, conflicting_proposal),
    )
    assert (refusal.is_error, len(refusal.data["conflicts"])) == (True, 5)
    data = check_success(call_tool("update_proposal", **refusal.data["example"]))
    branch = check_success(call_tool("view_proposal", proposal=conflicting_proposal))["branch"]
    texts = [repo.git("show", f"{data['commit']}:torn/{name}.md") for name in ("crlf", "lf")]
    assert [text.count("both") for text in texts] == [7, 2]
    assert [text.count("mine") for text in texts] == [0, 5]
    assert repo.git("rev-parse", branch).strip() == data["commit"]


def test_file_and_section_conflicts_are_resolved_together(
    call_tool: CallTool, conflicting_proposal: str, repo: Repo
) -> None:
    conflicts = read_conflicts(call_tool, conflicting_proposal)
    section_conflict = next(
        conflict for conflict in conflicts if conflict["file"] == "torn/lf.md" and conflict["where"] == "s2"
    )
    resolutions = [
        {"file": "torn/lf.md", "choice": "theirs"},
        {**section_conflict, "choice": "ours"},
        {"file": "torn/crlf.md", "where": "owner", "choice": "theirs"},
        {"file": "torn/crlf.md", "choice": "ours"},
    ]
    data = check_success(
        call_tool(
            "update_proposal",
            proposal=conflicting_proposal,
            action="refresh",
            resolutions=resolutions,
            **read_commits(call_tool, conflicting_proposal),
        )
    )
    lf_text, crlf_text = (repo.git("show", f"{data['commit']}:torn/{name}.md") for name in ("lf", "crlf"))
    assert (lf_text.count("mine"), lf_text.count("yours")) == (1, 6)
    assert (crlf_text.count("mine"), crlf_text.count("yours")) == (6, 1)


@pytest.mark.parametrize(
    "invalid_fields",
    [
        {"choice": "mine"},
        {"kind": "txt", "choice": "ours"},
        {"choice": "content", "content": "Words.\n\n## More\n"},
        {"kind": None, "choice": "content", "content": "x"},
        {"file": "torn/lg.md", "kind": None, "choice": "ours"},
    ],
)
def test_invalid_resolution_returns_working_example(
    call_tool: CallTool, conflicting_proposal: str, invalid_fields: dict[str, object]
) -> None:
    conflict = next(
        conflict for conflict in read_conflicts(call_tool, conflicting_proposal) if conflict["where"] == "s2"
    )
    fields = {
        "resolutions": [{**conflict, **invalid_fields}],
        **read_commits(call_tool, conflicting_proposal),
    }
    refusal = call_tool("update_proposal", proposal=conflicting_proposal, action="refresh", **fields)
    assert refusal.is_error
    assert refusal.data["code"] in ("INVALID_ARGUMENTS", "INVALID_RESOLUTION")
    assert refusal.data["fix"]
    assert check_success(call_tool("update_proposal", **refusal.data["example"]))["changed"]


def test_resolutions_require_commits_of_answer_and_retry_matches(
    call_tool: CallTool, conflicting_proposal: str
) -> None:
    view = call_tool("view_proposal", proposal=conflicting_proposal)
    resolutions = [{**conflict, "choice": "theirs"} for conflict in view.data["conflicts"]]
    call = {"proposal": conflicting_proposal, "action": "refresh", "resolutions": resolutions}
    # Without the commits of the answer, the call is refused and returns the conflicts again.
    for incomplete_commits in ({}, {"commit": view.data["commit"]}):
        refusal = call_tool("update_proposal", **call, **incomplete_commits)
        assert (refusal.data["code"], get_commit_fields(refusal)) == (
            "INVALID_ARGUMENTS",
            get_commit_fields(view),
        )
        assert refusal.data["conflicts"] == view.data["conflicts"]
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "mine", "new": "unseen", "count": 6}
    check_success(call_tool("edit_document", **change, proposal=conflicting_proposal))
    changed_answer = call_tool("update_proposal", **call, **get_commit_fields(view))
    assert (changed_answer.data["code"], len(changed_answer.data["conflicts"])) == ("CONFLICT_CHANGED", 14)
    assert "unseen" in [conflict["ours"] for conflict in changed_answer.data["conflicts"]]
    retry_fields = {**changed_answer.data["example"], "idempotency_key": "k"}
    result = check_success(call_tool("update_proposal", **retry_fields))
    check_success(
        call_tool(
            "edit_document", operation="append_content", file="api.md", slug="endpoints", content="More."
        )
    )
    retry = check_success(call_tool("update_proposal", **retry_fields))
    assert (retry["commit"], retry["changed"]) == (result["commit"], False)
    reused_key_answer = call_tool("update_proposal", **{**retry_fields, "resolutions": resolutions})
    assert reused_key_answer.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert check_success(call_tool("view_proposal", proposal=conflicting_proposal))["tip"] == result["commit"]


def test_resolution_does_not_drop_later_target_text(
    call_tool: CallTool, conflicting_proposal: str, repo: Repo
) -> None:
    tool, arguments = parse_next_call(call_tool("view_proposal", proposal=conflicting_proposal))
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "yours", "new": "unseen", "count": 6}
    check_success(call_tool("edit_document", **change))
    check_success(call_tool(tool, **arguments))
    refusal = call_tool("update_proposal", proposal=conflicting_proposal, action="merge")
    assert refusal.data["code"] == "MERGE_CONFLICT"
    assert {conflict["theirs"] for conflict in refusal.data["conflicts"]} == {"unseen"}
    assert repo.git("show", "main:torn/lf.md").count("unseen") == 6
