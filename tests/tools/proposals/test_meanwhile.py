"""What others do between two looks of one call: its answer is about what that call has done."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.meanwhile import after
from tests.repositories import Repo
from tests.tools.conftest import Ask, client_of
from tests.tools.proposals.conftest import done
from tools.registry import Toolbox
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import ProposalRepository

WRITE = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "More."}


def test_what_is_searchable_is_not_said_to_wait_where_others_go_on(
    ask: Ask, repo: Repo, toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(monkeypatch, SearchIndex, "follow", lambda: repo.commit({"notes/plain.md": "# Plain\n\nLater.\n"}))
    assert "hints" not in done(ask("edit_document", **WRITE))
    monkeypatch.setattr(SearchIndex, "follow", lambda index: repo.git("rev-parse", "HEAD~3").strip())
    assert "not searchable yet" in done(ask("edit_document", **WRITE))["hints"][0]


def test_a_comment_is_named_by_its_own_id_where_others_say_the_same(
    ask: Ask, toolbox: Toolbox, proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"proposal": proposal, "action": "comment", "text": "Good."}
    other = client_of(toolbox)
    theirs: list[str] = []
    after(
        monkeypatch,
        ProposalRepository,
        "append",
        lambda: theirs.append(done(other("update_proposal", **words))["comment"]),
    )
    first = done(ask("update_proposal", **words, idempotency_key="K"))
    again = done(ask("update_proposal", **words, idempotency_key="K"))
    assert first["comment"] == again["comment"] != theirs[0]


def test_the_retry_of_a_write_is_answered_where_its_proposal_ends_meanwhile(
    ask: Ask, toolbox: Toolbox, proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {**WRITE, "proposal": proposal, "idempotency_key": "K"}
    first = done(ask("edit_document", **call))
    other = client_of(toolbox)
    ends = {"proposal": proposal, "action": "merge"}
    after(monkeypatch, ProposalActions, "find", lambda: done(other("update_proposal", **ends)))
    again = done(ask("edit_document", **call))
    assert (again["repeated"], again["commit"]) == (True, first["commit"])


def test_a_direct_write_whose_proposal_is_closed_at_once_is_told(
    ask: Ask, toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = client_of(toolbox)

    def close() -> None:
        [one] = done(other("view_proposal"))["proposals"]
        done(other("update_proposal", proposal=one["proposal"], action="close"))

    after(monkeypatch, ProposalActions, "propose", close)
    call = {**WRITE, "file": "specs/limits.md", "slug": "rate", "idempotency_key": "K"}
    first = done(ask("edit_document", **call))
    again = done(ask("edit_document", **call))
    assert (again["proposal"], again["commit"]) == (first["proposal"], first["commit"])
    assert (again["repeated"], "repeated" in first) == (True, False)
