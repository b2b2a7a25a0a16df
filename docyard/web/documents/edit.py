"""The form that edits a section or a document.

The text is read at a commit, and written to a proposal as an operation.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response

from docyard.web.documents.images import ImageTarget, add_image, list_image_folders
from docyard.web.documents.lookup import build_crumbs, find_redirect_url, get_path, get_section
from docyard.web.documents.page_write import (
    NEW_PROPOSAL,
    PageWrite,
    check_may_write,
    get_target_workspace,
    list_target_proposals,
    read_key,
    submit_form,
)
from docyard.web.errors import get_status
from docyard.web.templates import mark_trusted
from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.edits.images import MAX_IMAGE_BYTES
from workspace.edits.text import RewriteText, read_editable_text
from workspace.errors import ConcurrentChange, WorkspaceError
from workspace.proposals import events
from workspace.proposals.events import MAX_TITLE_CHARACTERS
from workspace.publishing.after_commit import has_committed
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.idempotency import KeyReused
from workspace.writing.read_before_write import UnknownCommit, resolve_base_commit

if TYPE_CHECKING:
    from markupsafe import Markup

    from docyard.web.page_request import PageRequest
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot


_MIN_ROWS, _MAX_ROWS = 9, 40  # the height of the text field


class EditableText(NamedTuple):
    """An editable text: its document and section, its content, and the commit at which it was read."""

    document: Document
    section: Section | None
    text: str
    commit: str

    @property
    def section_key(self) -> str:
        """Return the section's key; empty for the whole document."""
        return self.section.key if self.section else ""


class EditForm(NamedTuple):
    """The fields of a sent form: the text, its target, and the title and description of a proposal.

    `proposal` is the id of an existing proposal; empty if a new proposal is created. `base_commit` is the
    commit that was read.
    """

    path: str
    section: str
    text: str
    base_commit: str
    proposal: str
    title: str
    description: str
    idempotency_key: str
    is_draft: bool


def load_editable_text(snapshot: Snapshot, path: str, section: str) -> EditableText:
    """Return the editable text of a document or section.

    Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded.
    """
    document = snapshot.document(path)
    target = (document.section_by_key(section) or resolve_section(document, section)) if section else None
    assert snapshot.commit is not None, "a document belongs to a commit"
    return EditableText(document, target, read_editable_text(document, target), snapshot.commit)


def build_write(request: PageRequest, form: EditForm) -> PageWrite:
    """Return the write of a form's text to a proposal.

    Raises InvalidEventText, UnknownCommit, and the errors of `load_editable_text`.
    """
    base_text = load_editable_text(_resolve_base(request, form), form.path, form.section)
    operation = RewriteText(
        file=form.path, slug=base_text.section_key or None, seen=base_text.text, text=form.text
    )
    # A new proposal is named by its author; a commit of an existing proposal may have no title.
    title = events.validate_title(form.title) if not form.proposal else form.title
    return PageWrite(
        [operation],
        form.proposal or NEW_PROPOSAL,
        form.idempotency_key,
        [form.path, form.section, form.text, form.base_commit, form.proposal, title, form.description],
        base_commit=base_text.commit,
        title=title,
        description=form.description,
        is_draft=form.is_draft,
    )


def _resolve_base(request: PageRequest, form: EditForm) -> Snapshot:
    """Return the snapshot of the commit at which the form was opened. Raises UnknownCommit."""
    try:
        return request.workspace.snapshot(resolve_base_commit(request.workspace.git, form.base_commit))
    except UnknownCommit as error:
        raise UnknownCommit(
            f"the commit {form.base_commit} of the form no longer exists",
            fix="Copy your text, open the section again, and paste it there.",
        ) from error


MAX_FORM_CHARS = 1_000_000
"""The maximum length of a text that a form edits."""


def render_edit_page(request: PageRequest) -> Response:
    """Return the page with the form, or a redirect to the new address of a moved text.

    Raises ReadOnly, and the errors of `load_editable_text` and `get_target_workspace`.
    """
    check_may_write(request)
    proposal = request.query.get("proposal", "").strip()
    try:
        editable_text = load_editable_text(
            get_target_workspace(request, proposal).snapshot(), get_path(request), get_section(request)
        )
    except (DocumentNotFound, SectionNotFound) as error:
        url = find_redirect_url(request, error, "edit") if not proposal else None
        if url is None:
            raise
        return RedirectResponse(url, 302)
    if len(editable_text.text) > MAX_FORM_CHARS:
        return _render_form(
            request,
            editable_text,
            _build_initial_form(request, editable_text),
            problem=_build_too_long_error(),
            is_form_hidden=True,
            status=413,
        )
    return _render_form(request, editable_text, _build_initial_form(request, editable_text))


def handle_edit_form(request: PageRequest) -> Response:
    """Return a redirect to the proposal, a preview, or the form with its problem."""
    check_may_write(request)
    fields = request.fields
    form = EditForm(
        get_path(request),
        get_section(request),
        fields.get("text", ""),
        fields.get("base", ""),
        fields.get("proposal", "").strip(),
        fields.get("title", "").strip(),
        fields.get("description", "").strip(),
        read_key(request),
        fields.get("act") == "draft",
    )
    if fields.get("act") == "upload":
        return _upload_image(request, form)
    if fields.get("act") == "preview":
        return _render_form(
            request, _read_base_text(request, form), form, preview=_render_preview(request, form)
        )

    def render_problem(error: WorkspaceError, status: int) -> Response:
        if isinstance(error, ConcurrentChange):
            return _render_conflict(request, form, error)
        new_form = (
            form._replace(idempotency_key=secrets.token_hex(16)) if isinstance(error, KeyReused) else form
        )
        status = status if isinstance(error, KeyReused) else 400
        return _render_form(request, _read_base_text(request, form), new_form, problem=error, status=status)

    return submit_form(
        request,
        lambda: build_write(request, form),
        get_url=lambda result: request.urls.proposal(result.proposal) if result.proposal else None,
        render_problem=render_problem,
        unchanged_error=WorkspaceError(
            "the text is unchanged", fix="Change the text, then send the form again."
        ),
    )


def _upload_image(request: PageRequest, form: EditForm) -> Response:
    """Commit the image of a form, and return the form with a link to it; else the form with its problem."""
    base_text = _read_base_text(request, form)
    title = form.title or f"Edit {base_text.document.title}"[:MAX_TITLE_CHARACTERS]
    try:
        target = ImageTarget(form.path, form.text, form.proposal, form.idempotency_key, title)
        image = add_image(request, target)
    except WorkspaceError as error:
        if has_committed():
            raise
        return _render_form(request, base_text, form, problem=error, status=get_status(error))
    return _render_form(
        request,
        base_text,
        form._replace(text=image.text, proposal=image.proposal),
        added_image=image.path,
    )


def _build_initial_form(request: PageRequest, editable_text: EditableText) -> EditForm:
    """Return a form with the unchanged text."""
    return EditForm(
        path=editable_text.document.path,
        section=editable_text.section_key,
        text=editable_text.text,
        base_commit=editable_text.commit,
        proposal=request.query.get("proposal", "").strip(),
        title="",
        description="",
        idempotency_key=secrets.token_hex(16),
        is_draft=False,
    )


def _read_base_text(request: PageRequest, form: EditForm) -> EditableText:
    """Return the text at the form's commit; the current text if that text cannot be read."""
    try:
        base_snapshot = request.workspace.at(form.base_commit)
        return load_editable_text(base_snapshot, form.path, form.section)
    except WorkspaceError:
        return load_editable_text(
            get_target_workspace(request, form.proposal).snapshot(), form.path, form.section
        )


def _render_preview(request: PageRequest, form: EditForm) -> Markup:
    from workspace.document.document import Document
    from workspace.rendering.renderer import render_text

    snapshot, text = get_target_workspace(request, form.proposal).snapshot(), form.text
    if not form.section:
        document = Document.parse(text.encode("utf-8", "replace"))
        text = document.text(document.front_matter_end, len(document.data))
    urls = request.urls.at(form.proposal or None)  # which may have images that the served branch lacks
    html = render_text(
        text, urls=urls, snapshot=snapshot, base_path=form.path, breaks=False, math=request.site.math
    )
    return mark_trusted(request.add_code_colours(html).html)


def _render_conflict(request: PageRequest, form: EditForm, error: ConcurrentChange) -> Response:
    """Return the form with all three texts; its new base is the current text."""
    try:
        current_text = load_editable_text(
            get_target_workspace(request, form.proposal).snapshot(), form.path, form.section
        )
    except WorkspaceError:  # the section was deleted
        current_text = None
    base_text = _read_base_text(request, form)
    # Keys of sections with the same address are numbered, so this key may now name another section.
    if current_text is None or (
        current_text.section is not None and current_text.section.key != current_text.section.address
    ):
        return _render_form(request, base_text, form, problem=error, status=409)
    # The first form may have used its idempotency key, so the next form needs a new key.
    new_form = form._replace(base_commit=current_text.commit, idempotency_key=secrets.token_hex(16))
    return _render_form(
        request,
        current_text,
        new_form,
        problem=error,
        conflicting_text=current_text.text,
        base_text=base_text.text,
        status=409,
    )


def _render_form(
    request: PageRequest,
    editable_text: EditableText,
    form: EditForm,
    *,
    preview: Markup | None = None,
    problem: WorkspaceError | None = None,
    conflicting_text: str | None = None,
    base_text: str | None = None,
    is_form_hidden: bool = False,
    added_image: str = "",
    status: int = 200,
) -> Response:
    return request.page(
        "edit.html",
        status=status,
        editable_text=editable_text,
        form=form,
        crumbs=build_crumbs(editable_text.document.path),
        target_proposals=list_target_proposals(request, form.proposal),
        preview=preview,
        problem=problem,
        conflicting_text=conflicting_text,
        base_text=base_text,
        is_form_hidden=is_form_hidden,
        added_image=added_image,
        image_folders=list_image_folders(request.workspace.snapshot(), editable_text.document.path),
        selected_folder=request.fields.get("image_folder"),
        max_image_bytes=MAX_IMAGE_BYTES,
        rows=_estimate_row_count(form.text),
    )


def _estimate_row_count(text: str) -> int:
    """Return the height of the text field in rows, with a few rows for long lines and new text."""
    return min(_MAX_ROWS, max(_MIN_ROWS, text.count("\n") + 4 + len(text) // 300))


def _build_too_long_error() -> WorkspaceError:
    return WorkspaceError(
        f"the text is longer than {MAX_FORM_CHARS:,} characters, the limit of a form",
        fix="Edit its sections one by one, or the file with Git.",
    )
