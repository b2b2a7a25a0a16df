"""The documents of a proposal: new, changed and removed ones are marked in the library and in the tree."""

from __future__ import annotations

import re

import pytest

from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.loops import loop_over
from workspace.proposals.proposal import Proposal


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProposalPages, Proposal]:
    """Return the pages of a proposal that adds two documents, changes one and removes one."""
    proposal_pages = create_pages(tmp_path_factory.mktemp("proposed"))
    setup = proposal_pages.setup
    proposal = setup.submit_proposal()
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.commit({"new.md": "# A new one\n", "specs/deep/inner.md": "# Inner\n"}, "Add")
    setup.repo.git("rm", "-q", "notes.md")
    setup.repo.git("commit", "-qm", "Remove")
    setup.repo.git("switch", "-q", "main")
    return proposal_pages, proposal_pages.reload(proposal)


def read_tree(html: str) -> str:
    return extract_text(html.partition('<nav class="tree"')[2].partition("</nav>")[0])


@loop_over("by_commit", [False, True])
def test_library_of_a_proposal_marks_its_documents(
    pages: tuple[ProposalPages, Proposal], by_commit: bool
) -> None:
    proposal_pages, proposal = pages
    ref = proposal.tip if by_commit else proposal.id
    html = proposal_pages.get(f"/library?ref={ref}")
    text = extract_text(html)
    assert "A new one new new.md" in text
    assert "Guide changed guide.md" in text
    assert f"The proposal {proposal.id} removes: notes.md removed" in text
    assert "/doc/notes.md" not in html
    assert "1 changed" in read_tree(html)  # below specs


def test_tree_of_a_proposal_marks_its_documents(pages: tuple[ProposalPages, Proposal]) -> None:
    proposal_pages, proposal = pages
    html = proposal_pages.get(f"/doc/new.md?ref={proposal.id}")
    assert re.search("guide changed new new notes removed", read_tree(html))
    assert "/doc/notes.md" not in html


def test_documents_of_the_branch_have_no_marks(pages: tuple[ProposalPages, Proposal]) -> None:
    proposal_pages, _ = pages
    for url in ("/library", "/library?ref=HEAD", "/doc/guide.md"):
        assert 'class="tag kind-' not in proposal_pages.get(url)


def test_page_of_a_proposal_leads_to_its_documents(pages: tuple[ProposalPages, Proposal]) -> None:
    proposal_pages, proposal = pages
    assert f'href="/library?ref={proposal.id}"' in proposal_pages.get_proposal_page(proposal)
