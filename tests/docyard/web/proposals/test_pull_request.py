"""Pages show the link to a pull request, or the error if the forge did not open it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from docyard.forges.pull_request_report import build_pull_request_opener
from tests.docyard.forges.forge_setup import ForgeSetup, open_forge_setup
from tests.docyard.forges.local_forge import FULL_TOKEN, Fault
from tests.docyard.web.page_server import CSRF
from tests.docyard.web.proposals.pages import ProposalPages, extract_text, get_checked_html
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import ProposalState

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def forge_setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeSetup]:
    with open_forge_setup("github", tmp_path_factory.mktemp("joined")) as setup:
        setup.workspace.pull_request_opener = build_pull_request_opener(
            setup.workspace, setup.get_access, Access
        )
        yield setup


@pytest.fixture
def forge_pages(forge_setup: ForgeSetup) -> ProposalPages:
    forge_setup.local_forge.faults.clear()
    return ProposalPages(forge_setup)


def test_submission_shows_pull_request_or_error(forge_setup: ForgeSetup, forge_pages: ProposalPages) -> None:
    proposal = forge_setup.open("Say more")
    forge_setup.append(proposal.id, "More.", forge_setup.choose_page())
    forge_setup.local_forge.faults.append(Fault(status=401, body={"message": f"{FULL_TOKEN} <b>is bad</b>"}))
    refusal = forge_pages.send_refused_form(proposal, "submit", 502)
    assert "The proposal was submitted, but its pull request was not opened" in extract_text(refusal)
    assert "DOCYARD_FORGE_TOKEN" in extract_text(refusal)
    assert "submit the proposal again" in extract_text(refusal)
    assert FULL_TOKEN not in refusal
    assert "<b>is bad" not in refusal
    assert forge_pages.reload(proposal).state is ProposalState.OPEN
    assert "Pull request" not in forge_pages.get_proposal_page(proposal)
    forge_pages.send_form(proposal, "submit")
    (pull_request,) = [
        pull_request
        for pull_request in forge_setup.local_forge.state.pull_requests
        if pull_request.head == proposal.content.branch
    ]
    html = forge_pages.get_proposal_page(proposal)
    url = forge_setup.local_forge.build_url(pull_request)
    assert f'<a href="{url}" rel="noopener noreferrer">Pull request</a>' in html
    assert "Opened as pull request" in extract_text(html)


@pytest.mark.parametrize("is_forge_available", [True, False], ids=["available", "failing"])
def test_proposed_edit_opens_a_pull_request(
    forge_setup: ForgeSetup, forge_pages: ProposalPages, is_forge_available: bool
) -> None:
    url = f"/edit/{forge_setup.choose_page()}?section=use"
    html = forge_pages.client.get(url).text
    inputs = re.findall(r'name="(base|key)" value="([^"]*)"', html)
    fields = {name: unescape(value) for name, value in inputs} | {"csrf": CSRF, "act": "propose"}
    if not is_forge_available:
        forge_setup.local_forge.faults.append(Fault(status=500, times=3))
    count_before = len(forge_setup.local_forge.state.pull_requests)
    response = forge_pages.client.post(url, data={**fields, "title": "Other words", "text": "Words of mine."})
    assert len(forge_setup.local_forge.state.pull_requests) == count_before + is_forge_available
    if is_forge_available:
        assert response.status_code == 303
        return
    assert response.status_code == 502
    text = extract_text(get_checked_html(response))
    assert "The proposal was submitted, but its pull request was not opened" in text
    assert "Your text" not in text
