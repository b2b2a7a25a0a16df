"""The proposal for the document that a question did not find."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from workspace.proposals.actions.open import NewProposal

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.web.site import Site

DOCUMENT_TYPE = "document"
_MAX_TITLE_CHARACTERS = 100


class MissingDocument(NamedTuple):
    """A question that found nothing, its namespace (None for several), and the number of its searches."""

    namespace: str | None
    question: str
    searches: int

    @property
    def title(self) -> str:
        """The title of the new document: the question on one line, without Markdown."""
        plain_text = "".join(
            character if character.isalnum() or character in " .,?!'()/-+" else " "
            for character in self.question
        )
        text = " ".join(plain_text.split()).strip(" -+")[:_MAX_TITLE_CHARACTERS].rstrip()
        return text[:1].upper() + text[1:] or "Unanswered question"


ProposeDocument = Callable[["Caller", MissingDocument], str]
"""Opens a proposal with a document, and returns the URL of the proposal's page."""


def build_document_proposer(site: Site) -> ProposeDocument:
    """Return the function that opens proposals in the repository of a site that writes."""

    def propose(caller: Caller, missing_document: MissingDocument) -> str:
        """Open a proposal with a skeleton. Raises the errors of `ProposalActions.propose`."""
        from docyard.web.urls import PageUrls
        from workspace.edits.documents import CreateDocument
        from workspace.snapshot.document_types import read_document_type
        from workspace.writing.plan import BatchMode, StepStatus

        workspace = site.index().workspace
        title = missing_document.title
        operation = CreateDocument(
            type=read_document_type(workspace.snapshot(), DOCUMENT_TYPE),
            title=title,
            content="Readers searched for this and found nothing. Write the answer here.\n",
        )
        times = "once" if missing_document.searches == 1 else f"{missing_document.searches:,} times"
        outcome = workspace.proposal_actions().propose(
            [operation],
            site.build_actor(workspace, caller),
            mode=BatchMode.ALL,
            new_proposal=NewProposal(
                f"Document: {title}", f"Readers asked this {times}, and no document answers it.", submit=False
            ),
        )
        for step in outcome.result.steps:
            if step.status is StepStatus.FAILED and step.error is not None:
                raise step.error
        assert outcome.proposal is not None
        return PageUrls(None).proposal(outcome.proposal.id)

    return propose
