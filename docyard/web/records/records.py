"""The page of the recorded searches of an organization, and its forms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.ids import read_clock_ms
from docyard.records.counts import NO_BOUND_MS
from docyard.records.problem_reports import list_reports, resolve_report
from docyard.records.questions import HASH_PREFIX
from docyard.records.summary import (
    PERIODS,
    OrganizationName,
    build_period,
    find_unanswered_question,
    format_latency,
    list_organizations,
    read_namespace_settings,
    read_summary,
)
from docyard.web.charts import Chart, ChartValue, build_chart
from docyard.web.errors import get_status
from docyard.web.records.proposals import MissingDocument, ProposeDocument
from docyard.web.servers import Pages
from docyard.web.templates import render_template
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.records.summary import Period, Summary

PAGE_PATH = "/records"
PERIOD_LABELS = {"day": "Today", "week": "7 days", "month": "30 days", "quarter": "90 days"}
_DEFAULT_PERIOD = "week"
_SHOWN_REPORTS = 50


class RecordsAccess(NamedTuple):
    """The database, the mode of its records, and what a caller may do.

    `list_organization_ids` returns the ids of the organizations whose records a caller may see; None is all.
    `propose_document` opens proposals in the repository of this server; None if the server cannot write.
    `pages` are the main pages of the server.
    """

    database: Database
    mode: str
    list_organization_ids: Callable[[Caller], Collection[str] | None]
    propose_document: ProposeDocument | None = None
    pages: Pages = (("Records", PAGE_PATH),)


class NotWritable(WorkspaceError):
    """The server cannot write to the repository of a namespace."""

    code: ClassVar[str] = "NOT_WRITABLE"


class WordsUnknown(WorkspaceError):
    """The words of a question are not recorded, or it was deleted meanwhile."""

    code: ClassVar[str] = "WORDS_UNKNOWN"


def render_records_page(access: RecordsAccess, caller: Caller, query: Mapping[str, str]) -> Response:
    """Return the page. Raises HTTPException with 404 if the caller may see no records."""
    period_name = query.get("period", "") if query.get("period") in PERIODS else _DEFAULT_PERIOD
    period = build_period(period_name, read_clock_ms())
    try:
        with access.database.connect() as connection:
            organizations = _list_visible_organizations(access, caller, list_organizations(connection))
            organization = _select_organization(organizations, query.get("organization"))
            all_numbers = read_summary(connection, organization.id, period)
            namespace = next(
                (share for share in all_numbers.namespaces if query.get("namespace") == (share.id or "*")),
                None,
            )
            numbers = (
                all_numbers
                if namespace is None
                else read_summary(connection, organization.id, period, namespace.id)
            )
            reports = list_reports(connection, organization.id, limit=_SHOWN_REPORTS)
    except DatabaseUnavailable as error:
        return render_records_error(access, caller, error, 503)
    values: dict[str, Any] = {
        **_build_frame(access, caller),
        "error": None,
        "organizations": organizations,
        "organization": organization,
        "periods": PERIOD_LABELS,
        "numbers": numbers,
        "namespaces": all_numbers.namespaces,
        "namespace": namespace,
        "searches_chart": _build_searches_chart(numbers),
        "latency_chart": _build_latency_chart(numbers),
        "points": [
            (_format_start(numbers.period, point.start_ms), point)
            for point in numbers.points
            if point.searches
        ],
        "latencies": [(format_latency(bound), count) for bound, count in numbers.latencies],
        "format_latency": format_latency,
        "hash_prefix": HASH_PREFIX,
        "mode": access.mode,
        "may_propose": access.mode == "text",
        "reports": reports,
        "build_url": _build_url_builder(organization, period_name, query.get("namespace", "")),
    }
    return HTMLResponse(render_template("records.html", values).encode("utf-8", "replace"))


def propose_missing_document(access: RecordsAccess, caller: Caller, fields: Mapping[str, str]) -> Response:
    """Open a proposal for the document that a question did not find, and redirect to it."""
    try:
        with access.database.connect() as connection:
            organizations = _list_visible_organizations(access, caller, list_organizations(connection))
            organization = _select_organization(organizations, fields.get("organization"))
            namespace_id = fields.get("namespace", "")
            question = find_unanswered_question(
                connection, organization.id, namespace_id, fields.get("digest", "")
            )
            settings = read_namespace_settings(connection, organization.id, namespace_id)
        if question is None or question.text.startswith(HASH_PREFIX):
            raise WordsUnknown(
                "the words of this question are not recorded",
                fix='Set mode = "text" to record the words of questions, or open the list again.',
            )
        missing_document = MissingDocument(question.namespace, question.text, question.searches)
        if access.propose_document is None:
            raise _build_refusal(missing_document, settings)
        if not caller.may_write:
            raise NotWritable("you may not write to this repository", fix="Ask a person who may write to it.")
        return RedirectResponse(access.propose_document(caller, missing_document), 303)
    except DatabaseUnavailable as error:
        return render_records_error(access, caller, error, 503)
    except WorkspaceError as error:
        return render_records_error(access, caller, error)


def _build_refusal(missing_document: MissingDocument, settings: Mapping[str, Any]) -> NotWritable:
    """Return the error of a server that only reads, with the way to write the document elsewhere."""
    title = f"Document: {missing_document.title}"
    if url := settings.get("url"):
        fix = f"Open a pull request with the document '{missing_document.title}' at {url}."
    elif repo := settings.get("repo"):
        fix = f"Run: docyard proposals create {_quote(title)} -C {_quote(str(repo))}"
    else:
        fix = f"Run in the repository: docyard proposals create {_quote(title)}"
    return NotWritable("this server cannot write to the repository of the namespace", fix=fix)


def _quote(text: str) -> str:
    import shlex

    return shlex.quote(text)


def resolve_reader_report(
    access: RecordsAccess, caller: Caller, id: str, fields: Mapping[str, str]
) -> Response:
    """Mark a report as resolved, and redirect to the page."""
    try:
        with access.database.begin() as connection:
            organizations = _list_visible_organizations(access, caller, list_organizations(connection))
            organization = _select_organization(organizations, fields.get("organization"))
            resolve_report(connection, id, organization.id)
    except DatabaseUnavailable as error:
        return render_records_error(access, caller, error, 503)
    except WorkspaceError as error:
        return render_records_error(access, caller, error)
    return RedirectResponse(f"{PAGE_PATH}?{urlencode({'organization': organization.slug})}", 303)


def render_records_error(
    access: RecordsAccess, caller: Caller, error: WorkspaceError, status: int | None = None
) -> Response:
    """Return the page of an error."""
    values = {**_build_frame(access, caller), "error": error}
    html = render_template("records.html", values).encode("utf-8", "replace")
    return HTMLResponse(html, status or get_status(error))


def _build_frame(access: RecordsAccess, caller: Caller) -> dict[str, Any]:
    """Return the values of the frame of the page."""
    return {"caller": caller, "pages": access.pages, "page_path": PAGE_PATH, "has_sign_in": False}


def _list_visible_organizations(
    access: RecordsAccess, caller: Caller, organizations: Sequence[OrganizationName]
) -> list[OrganizationName]:
    ids = access.list_organization_ids(caller)
    return [organization for organization in organizations if ids is None or organization.id in ids]


def _select_organization(organizations: Sequence[OrganizationName], slug: str | None) -> OrganizationName:
    """Return an organization, by default the first one. Raises HTTPException with 404 if there is none."""
    for organization in organizations:
        if not slug or organization.slug == slug:
            return organization
    raise HTTPException(404)


def _format_start(period: Period, start_ms: int) -> str:
    time = datetime.fromtimestamp(start_ms / 1_000, UTC)
    return f"{time:%H:%M}" if period.unit == "hour" else f"{time.day} {time:%b %Y}"


def _build_searches_chart(numbers: Summary) -> Chart:
    values = [
        ChartValue(_format_start(numbers.period, point.start_ms), point.searches, point.empty_searches)
        for point in numbers.points
    ]
    total = numbers.total
    return build_chart(
        "searches",
        "Searches over time",
        f"{total.searches:,} searches, of which {total.empty_searches:,} found nothing. The table below has "
        "the numbers.",
        values,
    )


def _build_latency_chart(numbers: Summary) -> Chart:
    values = [
        ChartValue("10 s +" if bound == NO_BOUND_MS else format_latency(bound), count)
        for bound, count in numbers.latencies
    ]
    latency = numbers.total.latency
    return build_chart(
        "latency",
        "Duration of searches",
        f"Half of the searches took {format_latency(latency.p50)}, 95 % {format_latency(latency.p95)}, "
        f"99 % {format_latency(latency.p99)}. The table below has the numbers.",
        values,
    )


def _build_url_builder(organization: OrganizationName, period: str, namespace: str) -> Callable[..., str]:
    """Return the function that builds URLs of this page with some other values."""

    def build_url(**values: str) -> str:
        parameters = {"organization": organization.slug, "period": period, "namespace": namespace} | values
        return f"{PAGE_PATH}?{urlencode({name: value for name, value in parameters.items() if value})}"

    return build_url
