"""The form in which a section or a whole document is edited, and what becomes of it: a proposal.

A text that is edited in a form: read at a commit, and written to a proposal as an operation.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import crumbs, path_of, redirection, section_of
from docyard.web.proposals.actions import refused, submit
from docyard.web.templates import trusted
from workspace.diff.section_mapping import ConcurrentChange
from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.edits.text import RewriteText, read_editable_text
from workspace.errors import WorkspaceError
from workspace.git.store import ReadOnly
from workspace.proposals import events as said
from workspace.proposals.actions.actions import NotAnnounced
from workspace.publishing.after_commit import has_committed
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.idempotency import KeyReused, Request, compute_digest
from workspace.writing.plan import Mode, StepStatus
from workspace.writing.read_before_write import UnknownCommit, resolve_base_commit

if TYPE_CHECKING:
    from markupsafe import Markup

    from docyard.web.asked import Asked
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.proposals.proposal import Proposal
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.writing.write import WriteResult


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
    """Raise ReadOnly where nothing can be edited."""
    if not asked.may_write or asked.workspace.read_only:
        raise ReadOnly("Serve it without --read-only to let people edit here.")


def editable(snapshot: Snapshot, path: str, section: str) -> Editable:
    """Return a text to be edited.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded.
    """
    document = snapshot.document(path)
    found = (document.section_by_key(section) or resolve_section(document, section)) if section else None
    assert snapshot.commit is not None, "a document stands in a commit"
    return Editable(document, found, read_editable_text(document, found), snapshot.commit)


def choices(asked: Asked, chosen: str) -> list[Proposal]:
    """The open proposals that a text may be added to: the one that is chosen, and the caller's newest own."""
    who = asked.actor.speaker
    found = [one for one in asked.proposals if one.is_open]
    own = [one for one in found if one.id != chosen and one.words.author.is_same(who)]
    return [one for one in found if one.id == chosen] + own[:_CHOICES]


def home_of(asked: Asked, proposal: str) -> Workspace:
    """Return the branch that is edited: a proposal's or the served one.

    Raises ProposalNotFound, ProposalEnded.
    """
    return asked.workspace.on_proposal(proposal) if proposal else asked.workspace


def write(asked: Asked, wanted: Wanted) -> str:
    """Write what a form sent to a proposal, and gives the proposal's id; empty if that changes nothing.

    A new proposal is left behind only if something was written to it. The same form, sent twice, is written
    once. Raises Conflict for a text that was changed since, NotAnnounced where all was done but for the pull
    request, and what writing and `Proposing` raise.
    """
    seen = editable(_beginning(asked, wanted), wanted.path, wanted.section)
    operation = RewriteText(file=wanted.path, slug=seen.key or None, seen=seen.text, text=wanted.text)
    title = said.validate_title(wanted.title) if not wanted.proposal or wanted.title.strip() else ""
    description = said.validate_text(wanted.description, "description", may_be_empty=True)
    message = "\n\n".join(part for part in (title, description) if part) or None
    fields = [wanted.path, wanted.section, wanted.text, wanted.base, wanted.proposal, title, description]
    request = Request(
        wanted.key, compute_digest("page", {"fields": fields}), lambda _: {"edited": wanted.path}
    )
    proposing, actor = asked.workspace.proposing(), asked.actor
    if wanted.proposal:
        proposal = proposing.one(wanted.proposal)
        branch = asked.workspace.on_proposal(proposal.id)
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
    """Return the commit that the form was made of. Raises UnknownCommit."""
    try:
        return asked.workspace.snapshot(resolve_base_commit(asked.workspace.git, wanted.base))
    except UnknownCommit as error:
        raise UnknownCommit(
            "the text that this form was opened with is not there any more",
            fix="Copy what you wrote, open the section again, and write it there.",
        ) from error


def _check(written: WriteResult) -> None:
    """Raise the error of the operation, if it has one."""
    for step in written.steps:
        if step.status is StepStatus.FAILED and step.error is not None:
            raise step.error


MOST = 1_000_000


"""Characters of a text that is edited in a form."""


_KEY = re.compile("[0-9a-f]{32}")


def edit_page(asked: Asked) -> Response:
    """Return the form.

    Raises ReadOnly, DocumentNotFound, SectionNotFound, AmbiguousAddress, ProposalEnded.
    """
    check_may_write(asked)
    proposal = asked.query.get("proposal", "").strip()
    try:
        found = editable(home_of(asked, proposal).snapshot(), path_of(asked), section_of(asked))
    except (DocumentNotFound, SectionNotFound) as error:
        url = redirection(asked, error, "edit") if not proposal else None
        if url is None:
            raise
        return RedirectResponse(url, 302)
    if len(found.text) > MOST:
        return _form(asked, found, _asked_for(asked, found), problem=_too_long(), is_closed=True, status=413)
    return _form(asked, found, _asked_for(asked, found))


def edited_page(asked: Asked) -> Response:
    """What becomes of the form: the proposal, a preview, or the form again with what stands in its way."""
    check_may_write(asked)
    fields = asked.fields
    key = fields.get("key", "")
    wanted = Wanted(
        path_of(asked),
        section_of(asked),
        fields.get("text", ""),
        fields.get("base", ""),
        fields.get("proposal", "").strip(),
        fields.get("title", "").strip(),
        fields.get("description", "").strip(),
        key if _KEY.fullmatch(key) else secrets.token_hex(16),
        fields.get("act") == "draft",
    )
    if fields.get("act") == "preview":
        return _form(asked, _now(asked, wanted), wanted, preview=_preview(asked, wanted))
    try:
        proposal = write(asked, wanted)
    except ConcurrentChange as error:
        return _changed_meanwhile(asked, wanted, error)
    except NotAnnounced as error:
        return refused(asked, asked.workspace.proposing().one(error.details["proposal"]), "submit", error)
    except KeyReused:
        again = wanted._replace(key=secrets.token_hex(16))
        problem = WorkspaceError(
            "this form was sent once already, with other words",
            fix="Look among the proposals for what came of it; send it again to write another time.",
        )
        return _form(asked, _now(asked, wanted), again, problem=problem, status=409)
    except WorkspaceError as error:
        if has_committed():
            raise
        return _form(asked, _now(asked, wanted), wanted, problem=error, status=400)
    if not proposal:
        problem = WorkspaceError("nothing is changed yet", fix="Change the text, and send it then.")
        return _form(asked, _now(asked, wanted), wanted, problem=problem, status=400)
    return asked.redirect(asked.urls.proposal(proposal))


def _asked_for(asked: Asked, found: Editable) -> Wanted:
    """Return an empty form for a text."""
    proposal = asked.query.get("proposal", "").strip()
    key = secrets.token_hex(16)
    return Wanted(
        found.document.path, found.key, found.text, found.commit, proposal, "", "", key, is_draft=False
    )


def _now(asked: Asked, wanted: Wanted) -> Editable:
    """What is edited, as it was when the form was opened, or as it is now where that cannot be read."""
    try:
        base = asked.workspace.at(wanted.base)
        return editable(base, wanted.path, wanted.section)
    except WorkspaceError:
        return editable(home_of(asked, wanted.proposal).snapshot(), wanted.path, wanted.section)


def _preview(asked: Asked, wanted: Wanted) -> Markup:
    from workspace.document.document import Document
    from workspace.rendering.renderer import render_text

    snapshot, text = home_of(asked, wanted.proposal).snapshot(), wanted.text
    if not wanted.section:
        document = Document.parse(text.encode("utf-8", "replace"))
        text = document.text(document.front_matter_end, len(document.data))
    html = render_text(text, urls=asked.urls, snapshot=snapshot, base_path=wanted.path, breaks=False)
    return trusted(html)


def _changed_meanwhile(asked: Asked, wanted: Wanted, error: ConcurrentChange) -> Response:
    """The form with all three texts: what is sent from here is measured by the text that stands there now."""
    try:
        now = editable(home_of(asked, wanted.proposal).snapshot(), wanted.path, wanted.section)
    except WorkspaceError:  # the section is gone
        now = None
    before = _now(asked, wanted)
    # Of sections with one address a key counts those that stand there now: it may be that of another one.
    if now is None or (now.section is not None and now.section.key != now.section.address):
        return _form(asked, before, wanted, problem=error, status=409)
    # The first sending may have left its key; what comes from here is another one.
    again = wanted._replace(base=now.commit, key=secrets.token_hex(16))
    return _form(asked, now, again, problem=error, theirs=now.text, before=before.text, status=409)


def _form(
    asked: Asked,
    found: Editable,
    wanted: Wanted,
    *,
    preview: Markup | None = None,
    problem: WorkspaceError | None = None,
    theirs: str | None = None,
    before: str | None = None,
    is_closed: bool = False,
    status: int = 200,
) -> Response:
    return asked.page(
        "edit.html",
        status=status,
        found=found,
        wanted=wanted,
        crumbs=crumbs(found.document.path),
        drafts=choices(asked, wanted.proposal),
        preview=preview,
        problem=problem,
        theirs=theirs,
        before=before,
        is_closed=is_closed,
        rows=min(40, max(9, wanted.text.count("\n") + 4 + len(wanted.text) // 300)),
    )


def _too_long() -> WorkspaceError:
    return WorkspaceError(
        f"this text has over {MOST:,} characters, too many for a form",
        fix="Edit its sections one by one, or the file with Git.",
    )
