"""The filters of the list of proposals, and the values of its entries, which pages and commands share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from docyard.proposals.inbox import get_inbox
from docyard.proposals.list import (
    InvalidFilter,
    PeopleGroup,
    ProposalFilter,
    build_entries,
    list_authors,
    normalize_path,
    select_proposals,
    suggest_authors,
)
from docyard.proposals.state_filters import STATE_FILTERS, count_states
from docyard.web.proposals.list import STATE_LABELS
from docyard.wording import format_age
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, RULE, ProposalSetup
from workspace.proposals.actions.repository import Actor
from workspace.proposals.attention import AttentionReason
from workspace.proposals.events import Author, IdentitySource
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.review import ProposalReview

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def open_as(setup: ProposalSetup, title: str, name: str, email: str, client: str = "") -> str:
    known_by = IdentitySource.CLIENT if client else IdentitySource.GIT
    author = Author(name, email, known_by, client)
    return setup.proposal_actions.open(title, "Why.", Actor(author, "tool", client)).id


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> ProposalSetup:
    """Return proposals by two people of the name Ana Li, by Dana, and by a client of Dana."""
    setup = ProposalSetup(tmp_path_factory.mktemp("list") / "repo")
    open_as(setup, "First", "Ana Li", "ana@example.org")
    second_id = open_as(setup, "Second STRASSE", "Ana Li", "li@example.com")
    open_as(setup, "Third straße", "Dana", "dana@example.org")
    fourth_id = open_as(setup, "Fourth", "Dana", "dana@example.org", "Some Agent")
    setup.append(second_id, "Text.", "specs/api.md", "calls")
    setup.append(fourth_id, "Text.")
    setup.proposal_actions.comment(fourth_id, AGENT_ACTOR, "About *herons*.")
    return setup


def select_titles(setup: ProposalSetup, **fields: str) -> str:
    proposals = setup.proposal_actions.list_all()
    selected = select_proposals(setup.workspace, proposals, ProposalFilter(**fields))
    return " ".join(proposal.content.title.split()[0] for proposal in reversed(selected))


@loop_over(
    ("fields", "titles"),
    [
        ({}, "First Second Third Fourth"),
        ({"state": "all"}, "First Second Third Fourth"),
        ({"state": "merged"}, ""),
        ({"author": "ana li"}, "First Second"),
        ({"author": "ANA@example.org"}, "First"),
        ({"author": "@li"}, "Second"),
        ({"author": "dana"}, "Third Fourth"),
        ({"author": "an"}, "First Second Third Fourth"),
        ({"author": "some agent"}, "Fourth"),
        ({"author": "example.com"}, "Second"),
        ({"author": "herons"}, ""),
        ({"search": "strasse"}, "Second Third"),
        ({"search": "herons why."}, "Fourth"),
        ({"search": "herons strasse"}, ""),
        ({"path": "specs"}, "Second"),
        ({"path": "guide.md"}, "Fourth"),
        ({"path": "guide"}, "Fourth"),
        ({"path": "**/*.md"}, "Second Fourth"),
        ({"path": "specs", "author": "dana"}, ""),
        ({"path": "PEC", "search": "second"}, "Second"),
        ({"path": "PEC*", "search": "second"}, ""),
    ],
)
def test_filters_select_proposals(setup: ProposalSetup, fields: dict[str, str], titles: str) -> None:
    assert select_titles(setup, **fields) == titles


def test_paths_are_compared_only_for_proposals_that_match_the_other_filters(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    find_paths = ProposalReview.changed_paths

    def record(self: ProposalReview, *arguments: object) -> object:
        compared.append(arguments[0])
        return find_paths(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ProposalReview, "changed_paths", record)
    assert select_titles(setup, path="specs", search="second") == "Second"
    assert len(compared) == 1


@loop_over(
    ("text", "path"),
    [("", ""), (" . ", ""), ("./guides/", "guides"), ("a b/*.md", "a b/*.md")],
)
def test_paths_are_normalized(text: str, path: str) -> None:
    assert normalize_path(text) == path


@pytest.mark.parametrize("text", ["/guides", "a\\b", "../a", "[a", "x" * 1_001])
def test_invalid_paths_are_refused_with_a_fix(text: str) -> None:
    with pytest.raises(InvalidFilter, match="the path") as caught:
        normalize_path(text)
    assert "folder or a glob" in caught.value.fix


def test_every_state_has_a_filter_and_a_label(setup: ProposalSetup) -> None:
    assert {"open", "waiting", "all", *ProposalState} == set(STATE_FILTERS) == set(STATE_LABELS)
    counts = count_states(setup.proposal_actions.list_all())
    assert {name: count for name, count in counts.items() if count} == {"open": 4, "draft": 4, "all": 4}


def test_authors_with_most_proposals_are_suggested_for_an_unknown_author(setup: ProposalSetup) -> None:
    proposals = setup.proposal_actions.list_all()
    assert list_authors(setup.workspace, proposals, 5) == ["Dana", "Ana Li"]
    assert suggest_authors(setup.workspace, proposals, ProposalFilter(author="eve")) == ["Dana", "Ana Li"]
    for author in ("", "dana"):
        proposal_filter = ProposalFilter("merged", author=author)
        assert suggest_authors(setup.workspace, proposals, proposal_filter) == []


def test_entry_has_the_approvals_that_the_rule_requires(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE)
    protected = setup.submit_proposal(file="specs/api.md", slug="calls")
    free = setup.submit_proposal()

    def read_approvals() -> dict[str, str]:
        proposals = setup.proposal_actions.list_all()
        return {
            entry.proposal.id: entry.approval_text
            for entry in build_entries(setup.workspace, proposals, proposals)
        }

    assert read_approvals() == {protected.id: "0 of 1 approval", free.id: ""}
    setup.approve(protected)
    setup.approve(free)
    assert read_approvals() == {protected.id: "1 of 1 approval", free.id: "1 approval"}


def test_groups_of_people_are_cut() -> None:
    assert PeopleGroup("waits for", ("Ana", "Bea")).text == "waits for Ana and Bea"
    group = PeopleGroup("mentions", ("Ana", "B" * 50, "Cid", "Dan", "Eve"))
    assert group.text == f"mentions Ana, {'B' * 39}…, Cid and 2 more"


def test_search_of_needed_proposals_ends_at_its_time_limit(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    waiting, draft = setup.submit_proposal(), setup.open()
    inbox = get_inbox(setup.workspace)
    person = inbox.identify(setup.person("cid").person)
    proposals = setup.proposal_actions.list_all()
    needed = inbox.find_needed(proposals, person, max_read_s=0)
    assert needed == ({}, (draft, waiting))
    assert inbox.find_needed(proposals, person) == ({waiting.id: (AttentionReason.REVIEW,)}, ())


def test_approved_proposal_needs_those_who_may_merge_it_while_it_is_ready(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE + 'merge = ["cid"]\n')
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    bea, cid = (setup.person(name).person for name in ("bea", "cid"))
    setup.approve(proposal)
    inbox, proposals = get_inbox(setup.workspace), setup.proposal_actions.list_all()
    assert inbox.find_needed(proposals, inbox.identify(bea), max_merge_s=0) == ({}, ())
    unchecked = inbox.find_needed(proposals, inbox.identify(cid), max_merge_s=0).unchecked
    assert [other.id for other in unchecked] == [proposal.id]
    ready = {proposal.id: (AttentionReason.READY,)}
    assert inbox.find_needed(proposals, inbox.identify(cid)) == (ready, ())
    assert inbox.find_needed(proposals, inbox.identify(cid), max_merge_s=0) == (ready, ())
    setup.repo.commit({"specs/api.md": "# API\n"})
    assert inbox.find_needed(proposals, inbox.identify(cid)) == ({}, ())


def test_own_proposals_with_unknown_conflicts_are_unchecked(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal(slug="use")
    setup.repo.commit({"guide.md": "# Guide\n"})
    inbox, proposals = get_inbox(setup.workspace), setup.proposal_actions.list_all()
    owner = inbox.list_people(proposals).find_by_email(proposal.content.author.email)
    assert owner is not None
    needed = inbox.find_needed(proposals, owner, max_merge_s=0)
    assert [other.id for other in needed.unchecked] == [proposal.id]
    assert AttentionReason.CONFLICTS in inbox.find_needed(proposals, owner).reasons[proposal.id]


@loop_over(
    ("age", "text"),
    [
        (timedelta(), "just now"),
        (timedelta(seconds=-90), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=29), "29 days ago"),
        (timedelta(days=59), "1 month ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_age_has_its_largest_unit(age: timedelta, text: str) -> None:
    assert format_age(NOW - age, NOW) == text
