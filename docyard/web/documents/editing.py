"""A text that is edited in a form: read at a commit, and written to a proposal as an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.web.proposals.submitting import submit
from workspace.document.addresses import resolve_section
from workspace.edits.rewrite_text import RewriteText, editable_text
from workspace.git import ReadOnly
from workspace.proposals import events as said
from workspace.writing.idempotency import Request, digest_of
from workspace.writing.plan import Mode, Status
from workspace.writing.read_before_write import UnknownCommit, known_commit

if TYPE_CHECKING:
    from docyard.web.request import Asked
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.proposals import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.write import Written

_CHOICES = 20


class Editable(NamedTuple):
    """A text as its form shows it: where it stands, what it says, and the commit that it was read at."""

    document: Document
    section: Section | None
    text: str
    commit: str

    @property
    def key(self) -> str:
        """The section's key, empty for the whole document."""
        return self.section.key if self.section else ""


class Wanted(NamedTuple):
    """What a form sends: the text, where it goes, and the words that go with it.

    `proposal` is the one that it is added to, empty for a new one; `base` the commit that was read.
    """

    path: str
    section: str
    text: str
    base: str
    proposal: str
    title: str
    description: str
    key: str
    is_draft: bool


def check_may_write(asked: Asked) -> None:
    """Raises ReadOnly where nothing can be edited."""
    if not asked.may_write or asked.workspace.read_only:
        raise ReadOnly("Serve it without --read-only to let people edit here.")


def editable(snapshot: Snapshot, path: str, section: str) -> Editable:
    """A text to be edited. Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded."""
    document = snapshot.document(path)
    found = (document.section_by_key(section) or resolve_section(document, section)) if section else None
    assert snapshot.commit is not None, "a document stands in a commit"
    return Editable(document, found, editable_text(document, found), snapshot.commit)


def choices(asked: Asked, chosen: str) -> list[Proposal]:
    """The open proposals that a text may be added to: the one that is chosen, and the caller's newest own."""
    who = asked.actor.speaker
    found = [one for one in asked.proposals if one.is_open]
    own = [one for one in found if one.id != chosen and one.words.author.is_same(who)]
    return [one for one in found if one.id == chosen] + own[:_CHOICES]


def home_of(asked: Asked, proposal: str) -> Workspace:
    """The branch that is edited: a proposal's or the served one. Raises ProposalNotFound, ProposalEnded."""
    return asked.workspace.proposing().branch(proposal) if proposal else asked.workspace


def write(asked: Asked, wanted: Wanted) -> str:
    """Writes what a form sent to a proposal, and gives the proposal's id; empty if that changes nothing.

    A new proposal is left behind only if something was written to it. The same form, sent twice, is written
    once. Raises Conflict for a text that was changed since, NotAnnounced where all was done but for the pull
    request, and what writing and `Proposing` raise.
    """
    seen = editable(_beginning(asked, wanted), wanted.path, wanted.section)
    operation = RewriteText(file=wanted.path, slug=seen.key or None, seen=seen.text, text=wanted.text)
    title = said.title(wanted.title) if not wanted.proposal or wanted.title.strip() else ""
    description = said.text(wanted.description, "description", may_be_empty=True)
    message = "\n\n".join(part for part in (title, description) if part) or None
    fields = [wanted.path, wanted.section, wanted.text, wanted.base, wanted.proposal, title, description]
    request = Request(wanted.key, digest_of("page", {"fields": fields}), lambda _: {"edited": wanted.path})
    proposing, actor = asked.workspace.proposing(), asked.actor
    if wanted.proposal:
        proposal = proposing.one(wanted.proposal)
        branch = proposing.branch(proposal.id)
        written = branch.write(
            [operation],
            mode=Mode.ALL,
            tool=actor.tool,
            client=actor.client,
            message=message,
            base_commit=seen.commit,
            request=request,
            person=actor.person,
        )
        _check(written)
    else:
        done = proposing.propose(
            [operation], actor, mode=Mode.ALL, message=message, base_commit=seen.commit, request=request
        )
        _check(done.written)
        if done.proposal is None:
            return ""
        proposal = done.proposal
    if not wanted.is_draft and proposal.words.submitted is None and proposal.is_open:
        submit(proposing, proposal.id, actor, f"{wanted.key}-submit")
    return proposal.id


def _beginning(asked: Asked, wanted: Wanted) -> Snapshot:
    """The commit that the form was made of. Raises UnknownCommit."""
    try:
        return asked.workspace.snapshot(known_commit(asked.workspace.git, wanted.base))
    except UnknownCommit as error:
        raise UnknownCommit(
            "the text that this form was opened with is not there any more",
            fix="Copy what you wrote, open the section again, and write it there.",
        ) from error


def _check(written: Written) -> None:
    """Raises the error of the operation, if it has one."""
    for step in written.steps:
        if step.status is Status.FAILED and step.error is not None:
            raise step.error
