"""The tree of changed documents beside the changes, and the digests to which marks are bound."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.docyard.web.proposals.pages import ProposalPages, create_pages
from workspace.proposals.proposal import Proposal

_FILE = re.compile(r'<a href="([^"]*)" data-file="(change-[0-9a-f]{12}) ([0-9a-f]{12})"')


@pytest.fixture
def open_pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


def list_files(open_pages: ProposalPages, proposal: Proposal, part: str = "changes") -> list[tuple[str, ...]]:
    """Return the URL, id and digest of each document in the tree."""
    return _FILE.findall(open_pages.get_proposal_page(proposal, part))


def test_digest_changes_only_with_its_document(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.setup.append(proposal.id, "More.", "specs/api.md", "calls")
    guide, api = list_files(open_pages, proposal)
    assert guide[0] == f"#{guide[1]}"
    open_pages.setup.append(proposal.id, "More of it.", "specs/api.md", "calls")
    new_guide, new_api = list_files(open_pages, proposal)
    assert new_guide == guide
    assert (new_api[1], new_api[2] != api[2]) == (api[1], True)


def test_single_document_has_no_tree(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    assert list_files(open_pages, proposal) == []
    assert "data-tree" not in open_pages.get_proposal_page(proposal, "changes")


def test_documents_of_other_pages_are_linked(open_pages: ProposalPages) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    setup.repo.git("checkout", "-q", proposal.content.branch)
    names = [f"many/folder{number % 7}/ä & {number}.md" for number in range(300)]
    setup.repo.commit(dict.fromkeys(names, "# Title\n\nText.\n"), "Many")
    setup.repo.git("checkout", "-q", "main")
    html = open_pages.get_proposal_page(proposal, "changes")
    files = list_files(open_pages, proposal)
    assert html.count(' <span class="quiet">new</span></a>') == 300
    assert len(files) == 301
    assert len({id for _, id, _ in files}) == 301
    other_urls = [url for url, _, _ in files if not url.startswith("#")]
    assert "path=many%2Ffolder" in other_urls[0]
    assert len(other_urls) > 100
    assert len(html[html.index('<nav class="tree') : html.index("</details>\n</nav>")]) < 60_000
    part = unescape(other_urls[0]).partition(f"{proposal.id}/")[2]
    html = open_pages.get_proposal_page(proposal, part)
    assert html.count('aria-current="true">ä &amp; ') == 1
