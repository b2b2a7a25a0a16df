"""`docyard search`: a search of the committed documents, like the tool `search_docs`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.environment import get_current_directory, is_terminal
from docyard.terminal import console, styles
from docyard.terminal.exits import Exit, print_warning
from docyard.wording import format_count

if TYPE_CHECKING:
    from docyard.web.library.snippets import SnippetBlock, SnippetRun
    from index.hints import Hint
    from index.port import SearchType
    from index.service import Hit, SearchPage
    from workspace.workspace import Workspace

_INDENT = 2


@click.command(name="search")
@click.argument(
    "terms", metavar="QUERY...", nargs=-1, required=True, shell_complete=completion.complete_query
)
@options.repository
@options.branch
@options.artifact
@options.embedding
@click.option(
    "--search-type",
    type=click.Choice(("bm25", "vector", "hybrid")),
    help="Search by words, by meaning, or both. [default: hybrid with an embedding provider, else bm25]",
)
@click.option(
    "--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="The maximum number of hits."
)
@click.option(
    "--type",
    "doc_type",
    metavar="TYPE",
    shell_complete=completion.complete_types,
    help="Search only documents of this type.",
)
@click.option("--tag", metavar="TAG", help="Search only documents with this tag.")
@click.option(
    "--filter",
    "other_filters",
    metavar="KEY=VALUE",
    multiple=True,
    help="Search only documents with this value of a key that docyard.toml declares. Can be repeated.",
)
@click.option("--path", metavar="GLOB", help="Search only this folder, document or glob.")
@click.option(
    "--since",
    metavar="REF",
    shell_complete=completion.complete_refs,
    help="Search only sections whose text changed after this ref or date, such as v1.2 or 2026-01-31.",
)
@options.ref("Search a branch, a tag, a commit or @{2026-01-31}. [default: the branch's tip]")
@options.pager
@options.as_json
def command(
    terms: tuple[str, ...],
    repo: Path | None,
    branch: str | None,
    artifact: Path | None,
    key: Path | None,
    limit: int,
    doc_type: str | None,
    tag: str | None,
    other_filters: tuple[str, ...],
    path: str | None,
    since: str | None,
    search_type: SearchType | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """Search the committed documents, with the same results as the tool search_docs.

    Exits with 1 if there are no hits.

    \b
    Example:
        docyard search rate limit errors --type api_spec --filter language=go
        docyard search 'retry "exponential backoff" -draft'
        docyard search 'title:retry AND (auth* OR tag:security) NOT legacy'
        docyard search 'timeout updated:>=2026-01'
        docyard search retries --ref v1.2
        docyard search retries --since 2026-01-31
        docyard search retries --index site-index
    """
    filters = _parse_filters((("type", doc_type), ("tags", tag)), other_filters)
    index = options.open_index(repo, branch, artifact, key)
    try:
        with console.show_progress("Indexing") as progress:
            index.connect_provider()
            page = index.search(
                " ".join(terms),
                limit=limit,
                filters=filters,
                path=path,
                ref=ref,
                since=since,
                search_type=search_type,
                progress=progress,
            )
    finally:
        index.close()
    if as_json:
        from tools.caveats import describe_embedding

        console.print_json(
            {
                "hits": [_describe_hit(hit) for hit in page.hits],
                "hint": asdict(page.hint) if page.hint else None,
                "commit": page.commit,
                "stale": page.is_stale,
                "unreadable": page.unreadable,
                "partial": page.is_partial,
                "query_notes": page.notes,
                "missing_words": page.missing_words,
                "search_type": page.search_type,
                "embedding": describe_embedding(page.embedding) if page.embedding else None,
            }
        )
    elif page.hits:
        if is_terminal(sys.stdout):
            _print_hits(page, None if ref else index.workspace.git.worktree)
        else:
            rows = [
                (hit.chunk_id, hit.breadcrumb or hit.heading, " ".join(hit.snippet.split()))
                for hit in page.hits
            ]
            console.print_table((), rows)
    else:
        for line in _format_hint(page.hint):
            _print_escaped(line)
        if artifact is None and ref is None:
            _warn_of_new_documents(index.workspace)
    for note in () if as_json else page.notes:
        click.echo(f"Note: {note}.", err=True)
    if not as_json and page.embedding is not None and page.embedding.note is not None:
        coverage = page.embedding.coverage
        click.echo(
            f"Note: these hits are by words alone: {page.embedding.note} ({coverage.covered:,} of "
            f"{format_count(coverage.total, 'section')} with a vector). `docyard index embed` adds vectors.",
            err=True,
        )
    if page.missing_words and page.hits and not as_json:
        _print_escaped(
            f"Note: no section contains these words of the query: {', '.join(page.missing_words)}."
        )
    if not as_json and page.is_stale:
        click.echo(f"The index is behind the branch: these hits are from commit {page.commit}.", err=True)
    if not as_json and page.is_partial:
        click.echo("A phrase was searched only in the 500 best sections with its words.", err=True)
    if not as_json and page.unreadable:
        click.echo(
            "Git cannot read some documents, so they were not searched; `docyard doctor` lists them.",
            err=True,
        )
    return Exit.DONE if page.hits else Exit.PROBLEMS


def _warn_of_new_documents(workspace: Workspace) -> None:
    from docyard.doctor.repository import check_new_documents

    for finding in check_new_documents(workspace):
        print_warning(finding.message, finding.fix)


def _print_hits(page: SearchPage, worktree: Path | None) -> None:
    """Print the hits for a person: each address, the line of its file, and its snippet.

    The file is relative to the current directory, because a terminal opens such a path. Without a work tree,
    no file is named.
    """
    from docyard.cli.proposals.changes import PagePrinter, StyledText
    from docyard.web.library.snippets import parse_snippet
    from index.matches import Matcher

    printer, matcher = PagePrinter(), Matcher(page.terms)
    for number, hit in enumerate(page.hits):
        if number:
            printer.print_blank_line()
        printer.print_command(StyledText(hit.chunk_id, styles.ADDRESS_TITLE))
        if worktree is not None:
            path = os.path.relpath(worktree / hit.filepath, get_current_directory())
            printer.print_command(StyledText(f"{path}:{hit.start_line}", styles.MUTED), indent=_INDENT)
        printer.print_line(StyledText(hit.breadcrumb or hit.heading, styles.TITLE), indent=_INDENT)
        for block in parse_snippet(hit.snippet, matcher) if hit.snippet != hit.heading else ():
            for line in _split_lines(block):
                printer.print_line(
                    *(StyledText(run.text, styles.MATCH if run.is_term else "") for run in line),
                    indent=_INDENT,
                )


def _split_lines(block: SnippetBlock) -> Iterator[list[SnippetRun]]:
    """Yield the lines of a block; a paragraph is one line."""
    line: list[SnippetRun] = []
    for run in block.runs:
        first, *rest = run.text.split("\n")
        line.append(run._replace(text=first))
        for text in rest:
            yield line
            line = [run._replace(text=text)]
    yield line


def _format_hint(hint: Hint | None) -> Iterator[str]:
    """Yield lines that explain why a search has no hits, with the suggested filters and queries."""
    if hint is None:
        yield "There are no hits."
        return
    yield hint.message
    for key, values in hint.suggested_filters.items():
        yield f"  {key}: {', '.join(values)}"
    for query in hint.suggested_queries:
        yield f"  query: {query}"


def _print_escaped(line: str) -> None:
    """Print a line with words of the query to standard error, with invisible characters escaped."""
    from workspace.escapes import escape_invisible

    click.echo(escape_invisible(line), err=True)


def _describe_hit(hit: Hit) -> dict[str, object]:
    """Return the fields of a hit without its whole text."""
    return {name: value for name, value in hit._asdict().items() if name != "text"}


def _parse_filters(
    named_filters: Iterable[tuple[str, str | None]], other_filters: Iterable[str]
) -> dict[str, str]:
    """Return the value of each key to filter by.

    Raises BadParameter if a text is not KEY=VALUE, or if a key is repeated.
    """
    filters = {key: value for key, value in named_filters if value}
    for text in other_filters:
        key, _, value = (part.strip() for part in text.partition("="))
        if not (key and value):
            raise click.BadParameter("write KEY=VALUE, such as language=go", param_hint="--filter")
        if key in filters:
            raise click.BadParameter(
                f"{key!r} is given twice, but a search accepts one value of each key", param_hint="--filter"
            )
        filters[key] = value
    return filters
