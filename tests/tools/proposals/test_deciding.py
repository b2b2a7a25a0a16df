"""Conflicts decided by a client that knows nothing but the answers, and copies what they show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask, next_call
from tests.tools.proposals.conftest import done, opened, seen

SIDES = ("mine", "yours")
NAMED = ("file", "kind", "where", "part")


@pytest.fixture
def torn(ask: Ask, repo: Repo) -> str:
    """Return a proposal with a conflict in each of a dozen sections, and in a key, of two documents."""
    text = "---\nowner: {0}\n---\n# Torn\n\n" + "".join(f"## S{n}\n\nFirst.\n\n{{0}}\n\n" for n in range(6))
    for path, ending in (("torn/lf.md", "\n"), ("torn/crlf.md", "\r\n")):
        (repo.path / path).parent.mkdir(exist_ok=True)
        (repo.path / path).write_bytes(text.format("nobody").replace("\n", ending).encode())
    repo.git("add", "torn")
    repo.git("commit", "-q", "-m", "Torn")
    proposal = opened(ask, "Torn")
    for side, at in zip(SIDES, ({"proposal": proposal}, {}), strict=True):
        for path in ("torn/lf.md", "torn/crlf.md"):
            change = {"operation": "replace_text", "file": path, "old": "nobody", "new": side, "count": 6}
            done(ask("edit_document", **change, **at))
            owner = {"operation": "set_metadata", "file": path, "metadata": {"owner": side}}
            done(ask("edit_document", **owner, **at))
    return proposal


def conflicts(ask: Ask, proposal: str) -> list[dict[str, Any]]:
    found = ask("view_proposal", proposal=proposal).data["conflicts"]
    assert len(found) == 14
    return list(found)


def shown(ask: Ask, proposal: str) -> dict[str, Any]:
    return seen(ask("view_proposal", proposal=proposal))


def test_the_next_step_decides_all_conflicts_however_many(ask: Ask, torn: str, repo: Repo) -> None:
    tool, arguments = next_call(ask("view_proposal", proposal=torn))
    assert done(ask(tool, **arguments))["changed"]
    data = done(ask("view_proposal", proposal=torn))
    assert data["conflicts"] == []
    assert "yours" not in repo.git("show", f"{data['branch']}:torn/lf.md")


def test_the_example_after_some_decisions_keeps_them(ask: Ask, torn: str, repo: Repo) -> None:
    first = [
        {**conflict, "choice": "content", "content": str(conflict["ours"]).replace("mine", "both") + "\n"}
        for conflict in conflicts(ask, torn)[:9]
    ]
    refused = ask("update_proposal", proposal=torn, action="refresh", resolutions=first, **shown(ask, torn))
    assert (refused.is_error, len(refused.data["conflicts"])) == (True, 5)
    data = done(ask("update_proposal", **refused.data["example"]))
    branch = done(ask("view_proposal", proposal=torn))["branch"]
    texts = [repo.git("show", f"{data['commit']}:torn/{name}.md") for name in ("crlf", "lf")]
    assert [text.count("both") for text in texts] == [7, 2]
    assert [text.count("mine") for text in texts] == [0, 5]
    assert repo.git("rev-parse", branch).strip() == data["commit"]


def test_a_file_can_be_decided_beside_single_conflicts(ask: Ask, torn: str, repo: Repo) -> None:
    found = conflicts(ask, torn)
    one = next(
        conflict for conflict in found if conflict["file"] == "torn/lf.md" and conflict["where"] == "s2"
    )
    decided = [
        {"file": "torn/lf.md", "choice": "theirs"},
        {**one, "choice": "ours"},
        {"file": "torn/crlf.md", "where": "owner", "choice": "theirs"},
        {"file": "torn/crlf.md", "choice": "ours"},
    ]
    data = done(
        ask("update_proposal", proposal=torn, action="refresh", resolutions=decided, **shown(ask, torn))
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
def test_a_wrong_decision_is_answered_with_one_that_works(
    ask: Ask, torn: str, wrong: dict[str, object]
) -> None:
    one = next(conflict for conflict in conflicts(ask, torn) if conflict["where"] == "s2")
    decided = {"resolutions": [{**one, **wrong}], **shown(ask, torn)}
    refused = ask("update_proposal", proposal=torn, action="refresh", **decided)
    assert refused.is_error
    assert refused.data["code"] in ("INVALID_ARGUMENTS", "INVALID_RESOLUTION")
    assert refused.data["fix"]
    assert done(ask("update_proposal", **refused.data["example"]))["changed"]


def test_decisions_are_on_what_was_shown_and_a_retry_of_them_is_told_so(ask: Ask, torn: str) -> None:
    view = ask("view_proposal", proposal=torn)
    decided = [{**one, "choice": "theirs"} for one in view.data["conflicts"]]
    call = {"proposal": torn, "action": "refresh", "resolutions": decided}
    # Without what they were shown with, they are shown anew.
    for lacking in ({}, {"commit": view.data["commit"]}):
        refused = ask("update_proposal", **call, **lacking)
        assert (refused.data["code"], seen(refused)) == ("INVALID_ARGUMENTS", seen(view))
        assert refused.data["conflicts"] == view.data["conflicts"]
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "mine", "new": "unseen", "count": 6}
    done(ask("edit_document", **change, proposal=torn))
    changed = ask("update_proposal", **call, **seen(view))
    assert (changed.data["code"], len(changed.data["conflicts"])) == ("CONFLICT_CHANGED", 14)
    assert "unseen" in [one["ours"] for one in changed.data["conflicts"]]
    again = {**changed.data["example"], "idempotency_key": "k"}
    made = done(ask("update_proposal", **again))
    done(ask("edit_document", operation="append_content", file="api.md", slug="endpoints", content="More."))
    told = done(ask("update_proposal", **again))
    assert (told["commit"], told["changed"]) == (made["commit"], False)
    other = ask("update_proposal", **{**again, "resolutions": decided})
    assert other.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert done(ask("view_proposal", proposal=torn))["tip"] == made["commit"]


def test_what_the_target_says_since_is_not_dropped(ask: Ask, torn: str, repo: Repo) -> None:
    tool, arguments = next_call(ask("view_proposal", proposal=torn))
    change = {"operation": "replace_text", "file": "torn/lf.md", "old": "yours", "new": "unseen", "count": 6}
    done(ask("edit_document", **change))
    done(ask(tool, **arguments))
    refused = ask("update_proposal", proposal=torn, action="merge")
    assert refused.data["code"] == "MERGE_CONFLICT"
    assert {one["theirs"] for one in refused.data["conflicts"]} == {"unseen"}
    assert repo.git("show", "main:torn/lf.md").count("unseen") == 6
