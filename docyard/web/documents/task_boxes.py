"""The boxes of tasks as buttons, and the form that completes or reopens a task.

All buttons of a page belong to one form, with the commit that the page shows. The address of a task is mapped
from that commit to the tip: a task that was moved is found, and one that was removed or renamed is refused.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from docyard.web.documents.page_write import (
    SERVED_BRANCH,
    PageWrite,
    check_may_write,
    get_result_url,
    get_target_workspace,
    read_key,
    submit_form,
)
from docyard.web.urls import quote_fragment
from workspace.document.addresses import (
    format_task_address,
    read_fragment,
    resolve_section,
    split_address,
)
from workspace.edits.tasks import CompleteTask, ReopenTask
from workspace.edits.text import read_editable_text
from workspace.errors import WorkspaceError
from workspace.markdown.inline import to_plain_text
from workspace.writing.idempotency import KeyReused
from workspace.writing.read_before_write import resolve_base_commit

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.document.document import Document
    from workspace.edits.operation import Operation
    from workspace.snapshot.snapshot import Snapshot

_MAX_LABEL_CHARS = 200

TASK_MARK = f"task-{secrets.token_hex(8)}"
"""The beginning of the ids of boxes in rendered HTML. It is random, so that no document can contain it."""

_BOX = re.compile(rf'<input\b[^>]* id="{TASK_MARK}-(\d{{1,9}})"[^>]*>')
_BOX_ID = re.compile(rf' id="{TASK_MARK}-\d{{1,9}}"')
_BUTTON_TEMPLATE = (
    '<button class="tick" form="[tasks]" name="{}" value="{}" role="checkbox" aria-checked="{}" '
    'aria-label="{}" title="{}"></button>'
)


class TaskForm(NamedTuple):
    """The form of a page's buttons: its key, the shown commit, the shown proposal, and the page to return to.

    `return_query` is the query of the page of tasks; None returns to the document.
    """

    key: str
    commit: str
    proposal: str = ""
    return_query: str | None = None


def build_task_form(
    request: PageRequest, *, proposal: str = "", return_query: str | None = None
) -> TaskForm | None:
    """Return the form of a page's buttons; None if the caller cannot write at the shown ref."""
    is_writable = request.may_write and (request.ref is None or bool(proposal))
    commit = request.snapshot.commit
    if not is_writable or commit is None or request.workspace.branch is None:
        return None
    return TaskForm(secrets.token_hex(16), commit, proposal, return_query)


def replace_boxes(html: str, document: Document) -> str:
    """Return rendered HTML with the boxes of a document's tasks as buttons of the page's form."""
    if TASK_MARK not in html:
        return html
    tasks = {
        task.line: (format_task_address(section.key, task), task)
        for section in document.sections
        for task in document.tasks(section)
    }

    def write_button(box: re.Match[str]) -> str:
        address, task = tasks.get(int(box[1]), ("", None))
        if task is None:
            return _BOX_ID.sub("", box[0])
        label = to_plain_text(task.title)[:_MAX_LABEL_CHARS]
        action = "reopen" if task.is_done else "complete"
        return _BUTTON_TEMPLATE.format(
            action,
            escape(f"{document.path}#{address}"),
            "true" if task.is_done else "false",
            escape(label),
            action.capitalize(),
        )

    return _BOX.sub(write_button, html)


def handle_task_form(request: PageRequest) -> Response:
    """Complete or reopen a task, and return a redirect to the page of the form or to the proposal.

    A task that was changed since the page was shown is refused, with its section then and now.
    Raises ReadOnly, ProposalNotFound, ProposalEnded.
    """
    check_may_write(request)
    fields, target = request.fields, request.fields.get("proposal", "").strip() or SERVED_BRANCH
    action = "complete" if "complete" in fields else "reopen"
    address, base_commit = fields.get(action, ""), fields.get("base", "")
    workspace = get_target_workspace(request, target)
    path, slug = split_address(address, workspace.snapshot().documents)
    # Each button of a page has a key of its own.
    key = hashlib.sha256(f"{read_key(request)} {action} {address}".encode()).hexdigest()[:32]

    def build_write() -> PageWrite:
        commit = resolve_base_commit(request.workspace.git, base_commit)
        operation_class = CompleteTask if action == "complete" else ReopenTask
        operation: Operation = operation_class(file=path, slug=slug or "")
        return PageWrite(
            [operation],
            target,
            key,
            [path, action, address, base_commit, target],
            base_commit=commit,
            is_draft=target != SERVED_BRANCH,
        )

    return_url = _build_return_url(request, path, slug or "", target)
    return submit_form(
        request,
        build_write,
        get_url=lambda page_result: (
            get_result_url(request, page_result, return_url) if page_result.proposal != target else return_url
        ),
        render_problem=lambda error, status: _render_refusal(
            request, error, status, workspace.snapshot(), path, slug or "", return_url
        ),
        unchanged_error=WorkspaceError("the task is unchanged", fix="Open its page again."),
    )


def _build_return_url(request: PageRequest, path: str, slug: str, target: str) -> str:
    """Return the URL of the form's page: the tasks with their filters, the home page, or the document."""
    query = request.fields.get("return")
    if query == "home":
        return request.urls.home()
    if query is not None or not path:
        pairs = parse_qsl((query or "")[:2_000])
        return request.urls.at(None).tasks(**{name: value for name, value in pairs if name.isidentifier()})
    section = read_fragment(slug).section
    return request.urls.at(target or None).document(path) + quote_fragment(section)


def _render_refusal(
    request: PageRequest,
    error: WorkspaceError,
    status: int,
    snapshot: Snapshot,
    path: str,
    slug: str,
    return_url: str,
) -> Response:
    """Return the page of a refused task, with the text of its section when it was shown, and now."""
    if isinstance(error, KeyReused):  # the button was used, and something else was written with its key
        error = WorkspaceError("this task was already changed from this page", fix="Open its page again.")
    texts = {"Current text": _read_section(snapshot, path, slug)}
    try:
        base_snapshot = request.workspace.snapshot(
            resolve_base_commit(request.workspace.git, request.fields.get("base", ""))
        )
        texts["Text when you opened the page"] = _read_section(base_snapshot, path, slug)
    except WorkspaceError:  # the commit no longer exists
        pass
    return request.page(
        "task_refused.html",
        status=409 if status == 404 else status,
        problem=error,
        path=path,
        texts={label: text for label, text in texts.items() if text},
        return_url=return_url,
    )


def _read_section(snapshot: Snapshot, path: str, slug: str) -> str:
    """Return the text of a task's section; empty if it does not exist."""
    try:
        document = snapshot.document(path)
        found = document.find_task(slug)
        section = found[0] if found else resolve_section(document, read_fragment(slug).section)
        return read_editable_text(document, section)
    except WorkspaceError:
        return ""
