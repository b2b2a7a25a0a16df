"""The form in which a section or a whole document is edited, and what becomes of it: a proposal."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.editing import (
    Editable,
    Wanted,
    check_may_write,
    choices,
    editable,
    home_of,
    write,
)
from docyard.web.documents.lookup import crumbs, path_of, redirection, section_of
from docyard.web.proposals.refusing import refused
from docyard.web.templates import trusted
from workspace.diff.section_mapping import Conflict
from workspace.document.addresses import SectionNotFound
from workspace.errors import WorkspaceError
from workspace.proposals.actions import NotAnnounced
from workspace.publishing.after_commit import has_committed
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.idempotency import KeyReused

if TYPE_CHECKING:
    from markupsafe import Markup

    from docyard.web.request import Asked

MOST = 1_000_000
"""Characters of a text that is edited in a form."""

_KEY = re.compile("[0-9a-f]{32}")


def edit_page(asked: Asked) -> Response:
    """The form. Raises ReadOnly, DocumentNotFound, SectionNotFound, AmbiguousAddress, ProposalEnded."""
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
    except Conflict as error:
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
    """An empty form for a text."""
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
    from workspace.rendering import render_text

    snapshot, text = home_of(asked, wanted.proposal).snapshot(), wanted.text
    if not wanted.section:
        document = Document.parse(text.encode("utf-8", "replace"))
        text = document.text(document.front_matter_end, len(document.data))
    html = render_text(text, urls=asked.urls, snapshot=snapshot, base_path=wanted.path, breaks=False)
    return trusted(html)


def _changed_meanwhile(asked: Asked, wanted: Wanted, error: Conflict) -> Response:
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
