"""What the fields of proposals forgive, in each tool that has them, in its single form and in a batch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask
from tests.tools.proposals.conftest import done, opened
from tests.tools.proposals.test_writers import WRITES
from tools.completion import complete_ref
from tools.registry import Toolbox

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}


@pytest.mark.parametrize("tool", sorted(WRITES))
def test_each_writer_takes_the_proposal_in_a_batch_as_well(ask: Ask, repo: Repo, tool: str) -> None:
    before = repo.commit({"notes/plain.md": "# Plain\n\nOther words.\n"})
    proposal = opened(ask, "After that")
    ask("view_document", file="notes/plain.md", slug="_preamble", ref=proposal)
    given = WRITES[tool]
    data = done(ask(tool, operations=json.dumps([given]), proposal=f" {proposal} "))
    assert (data["proposal"], data["overlaps"]) == (proposal, [])
    [result] = data["batch_results"]
    assert result["success"] is True
    assert repo.git("rev-parse", f"proposals/{proposal}-after-that").strip() == data["commit"]
    within = ask(tool, operations=[{**given, "proposal": proposal}])
    [refused] = within.data["batch_results"]
    assert (refused["code"], refused["field"]) == ("INVALID_ARGUMENTS", "proposal")  # it is of the whole call
    assert repo.head() == before
    direct = ask(tool, **given, proposal=None)
    assert "proposal" not in done(direct)
    assert repo.head() == direct.data["commit"] != before


@pytest.mark.parametrize("proposal", [5, True, ["a"], {"id": "a"}])
def test_what_is_no_name_of_a_proposal(ask: Ask, proposal: object) -> None:
    for tool, fields in (
        *WRITES.items(),
        ("view_proposal", {}),
        ("update_proposal", {"action": "submit"}),
    ):
        answer = ask(tool, **{**fields, "proposal": proposal})
        assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "proposal"), tool


def test_numbers_and_flags_may_come_as_texts_and_null_is_what_was_left_out(ask: Ask) -> None:
    fields: dict[str, Any] = {"submit": "true", "idempotency_key": None}
    first = done(ask("create_proposal", title="One", description="Why.", **fields))
    assert first["state"] == "open"
    opened(ask, "Two")
    page = done(ask("view_proposal", limit="1", state=None, cursor=None, comments="false", file=None))
    assert len(page["proposals"]) == 1
    one = done(ask("view_proposal", proposal=first["proposal"], comments="true", limit="3", offset=None))
    assert one["comments"] == []
    same = {"proposal": first["proposal"], "action": "comment", "text": "Hm.", "file": None, "reply_to": None}
    assert done(ask("update_proposal", **same, resolutions=None, commit=None))["comment"]
    decided = ask("update_proposal", proposal=first["proposal"], action="refresh", resolutions="[]")
    assert not decided.is_error, decided.data


@pytest.mark.parametrize(
    ("tool", "field", "nearest"),
    [
        ("create_proposal", "titel", "title"),
        ("view_proposal", "proposals", "proposal"),
        ("update_proposal", "acton", "action"),
        ("edit_document", "propsal", "proposal"),
    ],
)
def test_an_unknown_field_is_answered_with_the_nearest(ask: Ask, tool: str, field: str, nearest: str) -> None:
    answer = ask(tool, **{field: "x"})
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", field)
    assert nearest in answer.data["fix"]


def test_the_history_of_a_section_tells_the_proposal(ask: Ask, proposal: str) -> None:
    done(ask("edit_document", **SECTION, proposal=proposal))
    done(ask("update_proposal", proposal=proposal, action="merge"))
    [change] = ask("view_history", file="api.md", slug="quotas").data["history"]
    assert (change["proposal"], change["client"]) == (proposal, "tester")


def test_the_ids_of_proposals_complete_a_ref(ask: Ask, toolbox: Toolbox, proposal: str) -> None:
    found = complete_ref(toolbox.context(), proposal[:3], {}).values
    assert found[:2] == (proposal, f"proposals/{proposal}-rate-limits")
