"""The forms that create, move and remove a document. A removal shows the links that it would break.

Without the graph of links, the search for these links reads all documents. While the graph of a large
workspace is being built, the form does not wait for this search, and says so.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.web.documents.edit import MAX_FORM_CHARS, load_editable_text
from docyard.web.documents.lookup import build_crumbs, get_path
from docyard.web.documents.page_write import (
    NEW_PROPOSAL,
    SERVED_BRANCH,
    PageWrite,
    build_target_variables,
    check_may_write,
    get_result_url,
    get_target_workspace,
    read_key,
    submit_form,
)
from workspace.edits.documents import CreateDocument, MoveSeenDocument, RemoveDocument
from workspace.errors import ConcurrentChange, LimitExceeded, WorkspaceError
from workspace.snapshot.document_types import BrokenType, read_document_type, read_document_types
from workspace.writing.idempotency import KeyReused
from workspace.writing.plan import BatchMode
from workspace.writing.read_before_write import resolve_base_commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.edits.operation import Operation, Outcome
    from workspace.snapshot.snapshot import Snapshot

_MAX_LISTED_LINKS = 50
_MAX_SMALL_WORKSPACE_DOCUMENTS = 500  # a page waits for a search of their links


class WriteFields(NamedTuple):
    """The fields that all forms have: the target, the key, the commit that was read, and two texts."""

    target: str
    key: str
    base_commit: str
    title: str
    description: str

    @classmethod
    def read(cls, request: PageRequest) -> WriteFields:
        """Return the fields of a sent form."""
        fields = request.fields
        return cls(
            fields.get("target", "").strip(),
            read_key(request),
            fields.get("base", ""),
            fields.get("change_title", "").strip(),
            fields.get("description", "").strip(),
        )

    @classmethod
    def start(cls, request: PageRequest) -> WriteFields:
        """Return the fields of a new form: its target is the proposal that the query names, if any."""
        target = request.query.get("proposal", "").strip() or SERVED_BRANCH
        commit = get_target_workspace(request, target).snapshot().commit or ""
        return cls(target, secrets.token_hex(16), commit, "", "")

    def after_problem(self, error: WorkspaceError) -> WriteFields:
        """Return the fields of the form that shows a problem; a key that was used is replaced."""
        return self._replace(key=secrets.token_hex(16)) if isinstance(error, KeyReused) else self

    def build_write(self, operation: Operation, *values: str) -> PageWrite:
        """Return the write of an operation; `values` are the form's own fields, the path first."""
        return PageWrite(
            [operation],
            self.target,
            self.key,
            [*values, self.target, self.base_commit, self.title, self.description],
            base_commit=self.base_commit or None,
            title=self.title,
            description=self.description,
            is_draft=self.target not in (SERVED_BRANCH, NEW_PROPOSAL),  # its author submits it
        )


class CreateForm(NamedTuple):
    """The fields of the form that creates a document; `type` is empty for a document without a type."""

    type: str
    title: str
    folder: str
    name: str
    text: str


def render_create_page(request: PageRequest) -> Response:
    """Return the form that creates a document. Raises ReadOnly, ProposalNotFound, ProposalEnded."""
    check_may_write(request)
    query = request.query
    form = CreateForm(
        query.get("type", ""), query.get("title", ""), query.get("folder", "").strip("/"), "", ""
    )
    return _render_create_form(request, form, WriteFields.start(request))


def handle_create_form(request: PageRequest) -> Response:
    """Create a document, and return a redirect to it or to its proposal; else the form with its problem."""
    check_may_write(request)
    fields, write_fields = request.fields, WriteFields.read(request)
    form = CreateForm(
        fields.get("type", "").strip(),
        fields.get("title", "").strip(),
        fields.get("folder", "").strip(),
        fields.get("name", "").strip(),
        fields.get("text", ""),
    )

    def build_write() -> PageWrite:
        snapshot = get_target_workspace(request, write_fields.target).snapshot()
        folder = form.folder.strip("/")
        operation = CreateDocument(
            type=read_document_type(snapshot, form.type) if form.type else None,
            title=form.title,
            content=form.text,
            folder=folder,
            path="/".join(part for part in (folder or snapshot.config.root, form.name) if part)
            if form.name
            else "",
        )
        write = write_fields.build_write(operation, form.name or form.title, *form)
        return write._replace(base_commit=None)  # nothing is overwritten

    def render_problem(error: WorkspaceError, status: int) -> Response:
        return _render_create_form(request, form, write_fields.after_problem(error), error, status)

    return submit_form(
        request,
        build_write,
        get_url=lambda page_result: get_result_url(
            request, page_result, request.urls.document(page_result.path)
        ),
        render_problem=render_problem,
        unchanged_error=_NOTHING_TO_DO,
    )


def _render_create_form(
    request: PageRequest,
    form: CreateForm,
    write_fields: WriteFields,
    problem: WorkspaceError | None = None,
    status: int = 200,
) -> Response:
    snapshot = request.workspace.snapshot()
    types = [
        (name, f"{document_type.title}: {document_type.summary}")
        for name, document_type in read_document_types(snapshot).items()
        if not isinstance(document_type, BrokenType)
    ]
    return request.page(
        "create.html",
        status=status,
        form=form,
        write=write_fields,
        types=types,
        root=snapshot.config.root,
        crumbs=build_crumbs(f"{form.folder.strip('/')}/-") if form.folder.strip("/") else [],
        problem=problem,
        max_chars=MAX_FORM_CHARS,
        **build_target_variables(request, write_fields.target),
    )


_NOTHING_TO_DO = WorkspaceError("this form changes nothing", fix="Change a field, then send the form again.")


def render_move_page(request: PageRequest) -> Response:
    """Return the form that moves a document. Raises ReadOnly, DocumentNotFound, LimitExceeded."""
    check_may_write(request)
    path, write_fields = get_path(request), WriteFields.start(request)
    document = get_target_workspace(request, write_fields.target).snapshot().document(path)
    return _render_move_form(request, write_fields, path, document.title, document.title)


def handle_move_form(request: PageRequest) -> Response:
    """Move a document with the links to it, and return a redirect; else the form with its problem."""
    check_may_write(request)
    path, fields, write_fields = get_path(request), request.fields, WriteFields.read(request)
    new_path, title = fields.get("path", "").strip(), fields.get("title", "").strip()
    seen_title = fields.get("seen_title", "")
    operation = MoveSeenDocument(
        file=path,
        new_path=new_path or path,
        to_title=title if title and title != seen_title else None,
        seen_title=seen_title,
    )

    def render_problem(error: WorkspaceError, status: int) -> Response:
        new_fields, current_title = write_fields.after_problem(error), seen_title
        if isinstance(error, ConcurrentChange):
            snapshot = get_target_workspace(request, write_fields.target).snapshot()
            new_fields = write_fields._replace(base_commit=snapshot.commit or "")
            current_title = str(error.details.get("theirs", seen_title))
        return _render_move_form(request, new_fields, new_path, title, current_title, error, status)

    return submit_form(
        request,
        lambda: write_fields.build_write(operation, path, new_path, title, seen_title),
        get_url=lambda page_result: get_result_url(
            request, page_result, request.urls.document(page_result.path)
        ),
        render_problem=render_problem,
        unchanged_error=_NOTHING_TO_DO,
    )


def _render_move_form(
    request: PageRequest,
    write_fields: WriteFields,
    new_path: str,
    title: str,
    seen_title: str,
    problem: WorkspaceError | None = None,
    status: int = 200,
) -> Response:
    path = get_path(request)
    return request.page(
        "move.html",
        status=status,
        path=path,
        crumbs=build_crumbs(path),
        new_path=new_path,
        title=title,
        seen_title=seen_title,
        write=write_fields,
        problem=problem,
        **build_target_variables(request, write_fields.target),
    )


def render_remove_page(request: PageRequest) -> Response:
    """Return the form that removes a document, with the links to it. Raises ReadOnly, DocumentNotFound."""
    check_may_write(request)
    return _render_remove_form(request, WriteFields.start(request))


def handle_remove_form(request: PageRequest) -> Response:
    """Remove a document, and return a redirect to its folder or proposal; else the form with its problem."""
    check_may_write(request)
    path, write_fields = get_path(request), WriteFields.read(request)

    def render_problem(error: WorkspaceError, status: int) -> Response:
        return _render_remove_form(request, write_fields.after_problem(error), error, status)

    return submit_form(
        request,
        lambda: _build_removal(request, path, write_fields),
        get_url=lambda page_result: get_result_url(
            request, page_result, request.urls.folder(_find_remaining_folder(request, path))
        ),
        render_problem=render_problem,
        unchanged_error=_NOTHING_TO_DO,
    )


def _build_removal(request: PageRequest, path: str, write_fields: WriteFields) -> PageWrite:
    """Return the write of a removal. Raises UnknownCommit without the commit that the user saw."""
    resolve_base_commit(request.workspace.git, write_fields.base_commit)
    return write_fields.build_write(RemoveDocument(path=path), path)


def _find_remaining_folder(request: PageRequest, path: str) -> str:
    """Return the nearest folder above a removed document that still has documents."""
    snapshot, folder = request.workspace.snapshot(), path.rpartition("/")[0]
    while folder and not any(other.startswith(f"{folder}/") for other in snapshot.documents):
        folder = folder.rpartition("/")[0]
    return folder


def _render_remove_form(
    request: PageRequest,
    write_fields: WriteFields,
    problem: WorkspaceError | None = None,
    status: int = 200,
) -> Response:
    path = get_path(request)
    workspace = get_target_workspace(request, write_fields.target)
    snapshot = workspace.snapshot()
    texts: Mapping[str, str] = {}
    if isinstance(problem, ConcurrentChange):
        texts = {
            "Current text": _read_text(snapshot, path),
            "Text when you opened the form": _read_text(workspace.at(write_fields.base_commit), path),
        }
        write_fields = write_fields._replace(base_commit=snapshot.commit or "")
    snapshot.blob(path)  # raises DocumentNotFound
    is_planned = _can_find_links(request, snapshot)
    outcome = _plan_removal(request, path, write_fields.target, snapshot.commit) if is_planned else None
    links: Any = outcome.result.get("broken_links", ()) if outcome else ()
    total = outcome.result.get("broken_links_total", 0) if outcome else 0
    return request.page(
        "remove.html",
        status=status,
        path=path,
        crumbs=build_crumbs(path),
        links=links[:_MAX_LISTED_LINKS],
        link_count=total,
        are_links_known=is_planned,
        hints=_list_hints(outcome),
        write=write_fields,
        problem=problem,
        texts=texts,
        **build_target_variables(request, write_fields.target),
    )


def _can_find_links(request: PageRequest, snapshot: Snapshot) -> bool:
    """Return True if the links to a document are found quickly, else update the graph in the background."""
    if len(snapshot.documents) <= _MAX_SMALL_WORKSPACE_DOCUMENTS:
        return True
    graph = request.index.links
    if graph.is_ready(snapshot):
        return True
    graph.update_in_background(request.workspace.snapshot())
    return False


def _plan_removal(request: PageRequest, path: str, target: str, commit: str | None) -> Outcome | None:
    """Return the outcome that a removal would have, without a write. Raises DocumentNotFound."""
    operation, actor = RemoveDocument(path=path), request.actor
    if target in (SERVED_BRANCH, NEW_PROPOSAL):
        # A proposal may change every path, so this plan is not refused by a rule.
        proposal_actions = request.workspace.proposal_actions()
        result = proposal_actions.propose(
            [operation], actor, mode=BatchMode.ALL, dry_run=True, base_commit=commit
        ).result
    else:
        result = get_target_workspace(request, target).write(
            [operation],
            mode=BatchMode.ALL,
            tool=actor.tool,
            client=actor.client,
            dry_run=True,
            base_commit=commit,
        )
    step = result.steps[0]
    if step.error is not None:
        raise step.error
    return step.outcome


def _list_hints(outcome: Outcome | None) -> Sequence[str]:
    return outcome.hints if outcome and not outcome.result.get("broken_links") else ()


def _read_text(snapshot: Snapshot, path: str) -> str:
    try:
        return load_editable_text(snapshot, path, "").text[:MAX_FORM_CHARS]
    except LimitExceeded as error:
        return error.message
