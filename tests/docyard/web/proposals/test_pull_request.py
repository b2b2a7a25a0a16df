"""Pull requests on pages: the link, or the error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from docyard.forges.pull_request_report import build_announcer
from tests.docyard.forges.forge_scene import ForgeScene, open_forge_scene
from tests.docyard.forges.local_forge import PASSWORD, Fault
from tests.docyard.web.page_server import CSRF
from tests.docyard.web.proposals.pages import Pages, check_html, extract_text
from workspace.git.remotes.credentials import Access
from workspace.proposals.proposal import ProposalState

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeScene]:
    with open_forge_scene("github", tmp_path_factory.mktemp("joined")) as made:
        made.workspace.announcer = build_announcer(made.workspace, made.access, Access)
        yield made


@pytest.fixture
def forge_pages(here: ForgeScene) -> Pages:
    here.local.faults.clear()
    return Pages(here)


def test_submission_shows_pull_request_or_error(here: ForgeScene, forge_pages: Pages) -> None:
    proposal = here.open("Say more")
    here.append(proposal.id, "More.", here.page())
    here.local.faults.append(Fault(status=401, body={"message": f"{PASSWORD} <b>is bad</b>"}))
    refused = forge_pages.submit_refused(proposal, "submit", 502)
    assert "It was submitted, but its pull request was not opened" in extract_text(refused)
    assert "DOCYARD_FORGE_TOKEN" in extract_text(refused)
    assert "Submit it again" in extract_text(refused)
    assert PASSWORD not in refused
    assert "<b>is bad" not in refused
    assert forge_pages.reload(proposal).state is ProposalState.OPEN
    assert "Pull request" not in forge_pages.show(proposal)
    forge_pages.submit(proposal, "submit")
    (there,) = [
        pull_request
        for pull_request in here.local.state.pull_requests
        if pull_request.head == proposal.content.branch
    ]
    shown = forge_pages.show(proposal)
    assert f'<a href="{here.local.build_url(there)}" rel="noopener noreferrer">Pull request</a>' in shown
    assert "Opened as pull request" in extract_text(shown)


@pytest.mark.parametrize("is_well", [True, False], ids=["well", "failing"])
def test_proposed_edit_opens_a_pull_request(here: ForgeScene, forge_pages: Pages, is_well: bool) -> None:
    url = f"/edit/{here.page()}?section=use"
    html = forge_pages.client.get(url).text
    named = re.findall(r'name="(base|key)" value="([^"]*)"', html)
    sent = {name: unescape(value) for name, value in named} | {"csrf": CSRF, "act": "propose"}
    if not is_well:
        here.local.faults.append(Fault(status=500, times=3))
    before = len(here.local.state.pull_requests)
    answer = forge_pages.client.post(url, data={**sent, "title": "Other words", "text": "Words of mine."})
    assert len(here.local.state.pull_requests) == before + is_well
    if is_well:
        assert answer.status_code == 303
        return
    assert answer.status_code == 502
    shown = extract_text(check_html(answer))
    assert "It was submitted, but its pull request was not opened" in shown
    assert "Your text" not in shown
