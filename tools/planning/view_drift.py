"""view_drift: lists the sections whose code changed after their text last did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import WITHOUT_DEFAULT, Integer, ReadingArguments, read_arguments
from tools.examples import correct_path
from tools.pages import build_list_page
from tools.read_context import ReadContext, list_paths, normalize_folder
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.git.reader import GitReader
    from workspace.history.drift import CodeChange, Drift, DriftFinder, DriftReport

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
DEFAULT_CHANGES = 5
MAX_CHANGES = 50
_MAX_FILES = 5


class ViewDriftArguments(ReadingArguments):
    """The input of view_drift."""

    path: str = Field(".", json_schema_extra=WITHOUT_DEFAULT)
    commits: Integer = Field(
        DEFAULT_CHANGES,
        ge=1,
        le=MAX_CHANGES,
        description="Of each section",
        json_schema_extra=WITHOUT_DEFAULT,
    )
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "all": "Call with {} for all documents, or {path} for a folder or a document",
        "coverage": "A section names its code by a list item '- Covers: `src/auth/**`, `src/login.py`', "
        'a document by covers: ["src/auth/**"] in its front matter',
        "fix": "Read the commits, correct the section, or note in it that it was checked",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
        "pages": f"commits is 1 to {MAX_CHANGES} of each section; limit is 1 to {MAX_LIMIT} sections; "
        "cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"path": "docs", **select_example_arguments(arguments, ("path", "ref"))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ViewDriftArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    folder = normalize_folder(request.path)
    paths = frozenset(list_paths(snapshot, folder))
    finder = context.workspace.drift_finder()
    report = finder.find(snapshot, context.progress)
    drifts = [drift for drift in report.drifts if drift.path in paths]
    page = build_list_page(
        drifts,
        lambda drift: describe_drift(finder, snapshot.git, drift, request.commits),
        cursor=request.cursor,
        version=snapshot.commit,
        criteria=["drift", folder],
        limit=request.limit,
        keys=context.signing_keys,
        tokens=context.text_tokens,
    )
    data: Data = {
        "drift": page.entries,
        "total": len(drifts),
        "covered": report.covered_count,
        "commit": snapshot.commit,
    }
    if page.next_cursor:
        data["next_cursor"] = page.next_cursor
    if hints := describe_gaps(report):
        data["hints"] = hints
    data["next_step"] = _suggest_next_step(read_context, drifts[page.first :], report)
    return Answer(data)


def describe_drift(finder: DriftFinder, git: GitReader, drift: Drift, max_changes: int) -> Data:
    """Return a section, its covered files, and its newest changes, at most `max_changes`."""
    return {
        "file": drift.path,
        "slug": drift.section.key if drift.section else None,
        "title": drift.title,
        "covers": list(drift.coverage.globs),
        "text_commit": drift.text_commit,
        "changes": [_describe_change(finder, git, drift, change) for change in drift.changes[:max_changes]],
        "changes_total": len(drift.changes),
    }


def _describe_change(finder: DriftFinder, git: GitReader, drift: Drift, change: CodeChange) -> Data:
    from tools.history.descriptions import describe_commit
    from workspace.escapes import escape_invisible
    from workspace.history.commits import describe_commit as read_commit

    commit = describe_commit(read_commit(git.commit(change.commit)))
    files = list(finder.list_changed_files(drift, change))
    data: Data = {
        "commit": change.commit,
        **{name: commit[name] for name in ("by", "date", "subject")},
        "files": [escape_invisible(file) for file in files[:_MAX_FILES]],
    }
    if len(files) > _MAX_FILES:
        data["files_total"] = len(files)
    return data


def describe_gaps(report: DriftReport) -> list[str]:
    """Return why a report may lack a section or a commit; no texts for a complete report."""
    gaps: list[str] = []
    if not report.is_complete:
        gaps.append(
            "the history was not read to its end, because this clone is shallow or the history is very "
            "long: the last change of some texts is unknown"
        )
    if report.unreadable_paths:
        gaps.append(f"documents that cannot be read: {', '.join(report.unreadable_paths[:3])}")
    return gaps


def _suggest_next_step(read_context: ReadContext, drifts: Sequence[Drift], report: DriftReport) -> NextStep:
    if not report.covered_count:
        return NextStep("No section names its code yet: write a list item '- Covers: `src/**`' in one")
    if drifts and read_context.context.offers("view_document"):
        drift = drifts[0]
        slug = {"slug": drift.section.key} if drift.section else {}
        return NextStep(
            "Compare the text with the code: ",
            read_context.call("view_document", file=drift.path, **slug),
        )
    if drifts:
        return NextStep("Compare each text with its code, and correct it")
    if not report.is_complete:
        return NextStep("Whether covered code changed after its text is unknown: fetch the full history")
    return NextStep("No covered code has changed after its text")


TOOL = Tool(
    name="view_drift",
    title="View drift",
    toolset="planning",
    description="List the sections whose code (Covers: globs) changed after they last did, with commits.",
    arguments=ViewDriftArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_path,
)
