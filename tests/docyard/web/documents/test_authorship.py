"""A user who writes on a page without a token is an author: the user cannot approve the text with a token."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from docyard.web.site import CLIENT
from tests.docyard.web.documents.page_setup import DocumentPages, serve_documents
from workspace.git.messages import CLIENT_TRAILER, read_trailers
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.repository import Actor
from workspace.proposals.approvals import OwnProposal
from workspace.proposals.events import Author, IdentitySource, ReviewDecision

RULES = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\n'
URL = "/edit/specs/api.md?section=rate-limits"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path / "repo") as served_pages:
        served_pages.repo.commit({"docyard.toml": RULES})
        yield served_pages


def create_person(pages: DocumentPages, token: str, email: str) -> Actor:
    """Create a token, and return its owner as an actor."""
    tokens = Tokens(pages.workspace.git.common_dir)
    tokens.add(token, token.title(), email)
    owner = tokens.find_owner(token)
    assert owner is not None
    return Actor(Author(token.title(), email, IdentitySource.GIT), "proposals", "command line", owner.person)


def edit_section(pages: DocumentPages, id: str) -> None:
    form = pages.get_form(f"{URL}&proposal={id}")
    pages.post(URL, {**form, "text": "Ninety.", "act": "draft"})


def upload_image(pages: DocumentPages, id: str) -> None:
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    form = pages.get_form(f"{URL}&proposal={id}")
    response = pages.client.post(
        URL, data={**form, "act": "upload"}, files={"image": ("a.png", file.getvalue(), "image/png")}
    )
    assert response.status_code == 200


@pytest.mark.parametrize("write", [edit_section, upload_image])
def test_user_who_writes_to_proposal_of_client_cannot_approve_it(
    pages: DocumentPages, write: Callable[[DocumentPages, str], None]
) -> None:
    client = Actor(Author("A", "a@example.org", IdentitySource.CLIENT, "agent"), "create_proposal", "agent")
    proposal_actions = pages.workspace.proposal_actions()
    proposal = proposal_actions.open("By an agent", "", client)
    write(pages, proposal.id)
    [commit] = pages.repo.git("rev-list", f"main..{proposal.content.branch}").split()
    message = pages.workspace.git.commit(commit).message
    assert read_trailers(message)[CLIENT_TRAILER] == CLIENT
    proposal_actions.submit(proposal.id, client)
    user_email = pages.workspace.author()[1]
    with pytest.raises(OwnProposal):
        proposal_actions.review(proposal.id, create_person(pages, "user", user_email), ReviewDecision.APPROVE)
    other_person = create_person(pages, "bea", "bea@example.org")
    proposal_actions.review(proposal.id, other_person, ReviewDecision.APPROVE)
    assert proposal_actions.merge(proposal.id, other_person).is_new
