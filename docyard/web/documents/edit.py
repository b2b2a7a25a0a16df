"""The form in which a section or a whole document is edited, and what becomes of it: a proposal.

A text that is edited in a form: read at a commit, and written to a proposal as an operation.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.lookup import build_crumbs, find_redirect_url, get_path, get_section
from docyard.web.proposals.actions import render_refusal, submit_proposal
from docyard.web.templates import mark_trusted
from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.edits.text import RewriteText, read_editable_text
from workspace.errors import ConcurrentChange, WorkspaceError
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

    from docyard.web.asked import PageRequest
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


class EditForm(NamedTuple):
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


def check_may_write(asked: PageRequest) -> None:
    """Raise ReadOnly where nothing can be edited."""
    if not asked.may_write or asked.workspace.read_only:
        raise ReadOnly("Serve it without --read-only to let people edit here.")


def read_editable(snapshot: Snapshot, path: str, section: str) -> Editable:
    """Return a text to be edited.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded.
    """
    document = snapshot.document(path)
    found = (document.section_by_key(section) or resolve_section(document, section)) if section else None
    assert snapshot.commit is not None, "a document stands in a commit"
    return Editable(document, found, read_editable_text(document, found), snapshot.commit)


def list_target_proposals(asked: PageRequest, chosen: str) -> list[Proposal]:
    """Return the open proposals that a text may be added to: the chosen one, and the caller's newest."""
    who = asked.actor.speaker
    found = [one for one in asked.proposals if one.is_open]
    own = [one for one in found if one.id != chosen and one.words.author.is_same(who)]
    return [one for one in found if one.id == chosen] + own[:_CHOICES]


def get_edited_branch(asked: PageRequest, proposal: str) -> Workspace:
    """Return the branch that is edited: a proposal's or the served one.

    Raises ProposalNotFound, ProposalEnded.
    """
    return asked.workspace.on_proposal(proposal) if proposal else asked.workspace


def write_edit(asked: PageRequest, wanted: EditForm) -> str:
    """Write a form's text to a proposal, and return the proposal's id; empty if nothing changes.

    A new proposal is created only if something was written to it. The same form, sent twice, is written once.
    Raises Conflict for a text that has changed since, NotAnnounced if only the pull request failed, and what
    writing and `Proposing` raise.
    """
    seen = read_editable(_resolve_base(asked, wanted), wanted.path, wanted.section)
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
        submit_proposal(proposing, proposal.id, actor, f"{wanted.key}-submit")
    return proposal.id


def _resolve_base(asked: PageRequest, wanted: EditForm) -> Snapshot:
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


def render_edit_page(asked: PageRequest) -> Response:
    """Return the form.

    Raises ReadOnly, DocumentNotFound, SectionNotFound, AmbiguousAddress, ProposalEnded.
    """
    check_may_write(asked)
    proposal = asked.query.get("proposal", "").strip()
    try:
        found = read_editable(
            get_edited_branch(asked, proposal).snapshot(), get_path(asked), get_section(asked)
        )
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(asked, error, "edit") if not proposal else None
        if url is None:
            raise
        return RedirectResponse(url, 302)
    if len(found.text) > MOST:
        return _render_form(
            asked,
            found,
            _build_empty_form(asked, found),
            problem=_build_too_long_error(),
            is_closed=True,
            status=413,
        )
    return _render_form(asked, found, _build_empty_form(asked, found))


def handle_edit_form(asked: PageRequest) -> Response:
    """Return a redirect to the proposal, a preview, or the form with its problem."""
    check_may_write(asked)
    fields = asked.fields
    key = fields.get("key", "")
    wanted = EditForm(
        get_path(asked),
        get_section(asked),
        fields.get("text", ""),
        fields.get("base", ""),
        fields.get("proposal", "").strip(),
        fields.get("title", "").strip(),
        fields.get("description", "").strip(),
        key if _KEY.fullmatch(key) else secrets.token_hex(16),
        fields.get("act") == "draft",
    )
    if fields.get("act") == "preview":
        return _render_form(
            asked, _read_base_text(asked, wanted), wanted, preview=_render_preview(asked, wanted)
        )
    try:
        proposal = write_edit(asked, wanted)
    except ConcurrentChange as error:
        return _render_conflict(asked, wanted, error)
    except NotAnnounced as error:
        return render_refusal(
            asked, asked.workspace.proposing().one(error.details["proposal"]), "submit", error
        )
    except KeyReused:
        again = wanted._replace(key=secrets.token_hex(16))
        problem = WorkspaceError(
            "this form was sent once already, with other words",
            fix="Look among the proposals for what came of it; send it again to write another time.",
        )
        return _render_form(asked, _read_base_text(asked, wanted), again, problem=problem, status=409)
    except WorkspaceError as error:
        if has_committed():
            raise
        return _render_form(asked, _read_base_text(asked, wanted), wanted, problem=error, status=400)
    if not proposal:
        problem = WorkspaceError("nothing is changed yet", fix="Change the text, and send it then.")
        return _render_form(asked, _read_base_text(asked, wanted), wanted, problem=problem, status=400)
    return asked.redirect(asked.urls.proposal(proposal))


def _build_empty_form(asked: PageRequest, found: Editable) -> EditForm:
    """Return an empty form for a text."""
    proposal = asked.query.get("proposal", "").strip()
    key = secrets.token_hex(16)
    return EditForm(
        found.document.path, found.key, found.text, found.commit, proposal, "", "", key, is_draft=False
    )


def _read_base_text(asked: PageRequest, wanted: EditForm) -> Editable:
    """Return the text as it was when the form was opened, or as it is now if that is unreadable."""
    try:
        base = asked.workspace.at(wanted.base)
        return read_editable(base, wanted.path, wanted.section)
    except WorkspaceError:
        return read_editable(
            get_edited_branch(asked, wanted.proposal).snapshot(), wanted.path, wanted.section
        )


def _render_preview(asked: PageRequest, wanted: EditForm) -> Markup:
    from workspace.document.document import Document
    from workspace.rendering.renderer import render_text

    snapshot, text = get_edited_branch(asked, wanted.proposal).snapshot(), wanted.text
    if not wanted.section:
        document = Document.parse(text.encode("utf-8", "replace"))
        text = document.text(document.front_matter_end, len(document.data))
    html = render_text(text, urls=asked.urls, snapshot=snapshot, base_path=wanted.path, breaks=False)
    return mark_trusted(html)


def _render_conflict(asked: PageRequest, wanted: EditForm, error: ConcurrentChange) -> Response:
    """Return the form with all three texts; it is based on the current text from here on."""
    try:
        now = read_editable(get_edited_branch(asked, wanted.proposal).snapshot(), wanted.path, wanted.section)
    except WorkspaceError:  # the section is gone
        now = None
    before = _read_base_text(asked, wanted)
    # Of sections with one address a key counts those that stand there now: it may be that of another one.
    if now is None or (now.section is not None and now.section.key != now.section.address):
        return _render_form(asked, before, wanted, problem=error, status=409)
    # The first sending may have left its key; what comes from here is another one.
    again = wanted._replace(base=now.commit, key=secrets.token_hex(16))
    return _render_form(asked, now, again, problem=error, theirs=now.text, before=before.text, status=409)


def _render_form(
    asked: PageRequest,
    found: Editable,
    wanted: EditForm,
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
        crumbs=build_crumbs(found.document.path),
        drafts=list_target_proposals(asked, wanted.proposal),
        preview=preview,
        problem=problem,
        theirs=theirs,
        before=before,
        is_closed=is_closed,
        rows=min(40, max(9, wanted.text.count("\n") + 4 + len(wanted.text) // 300)),
    )


def _build_too_long_error() -> WorkspaceError:
    return WorkspaceError(
        f"this text has over {MOST:,} characters, too many for a form",
        fix="Edit its sections one by one, or the file with Git.",
    )
