"""`docyard eval`: the quality of search, measured with known questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import __version__
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit, print_error

if TYPE_CHECKING:
    from docyard.eval.cases import Case
    from docyard.eval.report import Difference, RequiredMinimum
    from docyard.eval.run import EvalRun, Parameters
    from index.port import SearchType
    from index.service import SearchIndex
    from index.vectors.vector_index import EmbeddingReport

_INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT_FILE = click.Path(dir_okay=False, path_type=Path)
_OUTPUT_FOLDER = click.Path(file_okay=False, path_type=Path)


def _parse_minimums(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> list[RequiredMinimum]:
    from docyard.eval.report import parse_minimum

    try:
        return [parse_minimum(value) for value in values]
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def _check_plot_file(context: click.Context, parameter: click.Parameter, file: Path | None) -> Path | None:
    from docyard.eval.plot import PLOT_SUFFIXES

    if file is not None and file.suffix.lower() not in PLOT_SUFFIXES:
        raise click.BadParameter(f"must end in {' or '.join(PLOT_SUFFIXES)}", context, parameter)
    return file


@click.command(name="eval")
@click.argument("files", metavar="CASES...", nargs=-1, required=True, type=_INPUT_FILE)
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
    "--queries", metavar="FILE", type=_INPUT_FILE, help="The queries, if CASES are TREC judgements."
)
@click.option("--limit", type=click.IntRange(min=1), help="Run only the first N cases.")
@click.option(
    "--top",
    type=click.IntRange(10, 1000),
    default=50,
    show_default=True,
    help="The number of results that are evaluated for each query.",
)
@click.option("--report", metavar="FILE", type=_OUTPUT_FILE, help="Write a report in Markdown.")
@click.option(
    "--runs",
    metavar="DIR",
    type=_OUTPUT_FOLDER,
    help="Save the run in DIR, and compare it with the last run.",
)
@click.option(
    "--against", metavar="FILE", type=_INPUT_FILE, help="Compare with this run instead of the last run."
)
@click.option(
    "--plot",
    metavar="FILE",
    type=_OUTPUT_FILE,
    callback=_check_plot_file,
    help="Plot all runs of --runs (svg, png).",
)
@click.option(
    "--fail-under",
    "minimums",
    metavar="MEASURE=NUMBER",
    multiple=True,
    callback=_parse_minimums,
    help="Exit with 1 if a mean is below NUMBER, such as ndcg@10=.45 or chunk.mrr=.5. Can be repeated.",
)
@click.option(
    "--compare",
    "compared_providers",
    metavar="NAME",
    type=click.Choice(("none", "hash", "local", "http")),
    multiple=True,
    help="Print one table of several embedding providers, each with hybrid searches and with vectors alone. "
    "Can be repeated.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 1 if a case expects an address that the commit does not have."
)
@options.as_json
def command(
    files: tuple[Path, ...],
    repo: Path | None,
    branch: str | None,
    artifact: Path | None,
    key: Path | None,
    queries: Path | None,
    limit: int | None,
    top: int,
    report: Path | None,
    runs: Path | None,
    against: Path | None,
    plot: Path | None,
    minimums: list[RequiredMinimum],
    search_type: SearchType | None,
    compared_providers: tuple[str, ...],
    strict: bool,
    as_json: bool,
) -> int:
    """Measure search quality with known questions.

    CASES are files of questions with known answers: YAML, JSONL, or TREC judgements with --queries. The
    output is nDCG, MRR and recall by page and by section, and the search time.
    docs/search.md describes the files and the measures.

    Exits with 1 if a measure is below --fail-under, or with --strict if an expected address is unknown; with
    2 if the cases cannot be read.

    \b
    Example:
        docyard eval cases.yaml --runs runs --report report.md
        docyard eval cases.yaml --index site-index
        docyard eval qrels.tsv --queries queries.jsonl --fail-under ndcg@10=.45
        docyard eval cases.yaml --compare none --compare local
    """
    from docyard.eval.cases import InvalidCases, is_qrels
    from docyard.eval.plot import check_plotting, draw_plot
    from docyard.eval.report import render_report
    from docyard.eval.run import Parameters, read_runs, save_run

    qrels_file = next((file for file in files if is_qrels(file)), None)
    if qrels_file is not None and queries is None:
        raise click.UsageError(
            f"{qrels_file.name} contains TREC judgements: name their queries with --queries"
        )
    if plot is not None:
        if runs is None:
            raise click.UsageError("--plot needs saved runs: add --runs DIR")
        check_plotting()
    try:
        cases = _read_cases(files, queries)[:limit]
    except InvalidCases as error:
        print_error(error.message, error.fix)
        return Exit.USAGE
    name, parameters = " ".join(file.name for file in files), Parameters(top=top, limit=limit)
    if compared_providers:
        if runs or report or against or minimums or search_type:
            raise click.UsageError(
                "--compare prints a table alone: leave out --runs, --report, --against, --fail-under and "
                "--search-type"
            )
        compared_runs = []
        for provider in dict.fromkeys(compared_providers):
            compared_types: tuple[SearchType, ...] = ("bm25",) if provider == "none" else ("hybrid", "vector")
            with closing(options.open_index(repo, branch, artifact, key, provider=provider)) as index:
                compared_runs += [
                    _run_cases(index, cases, name, parameters, compared_type)
                    for compared_type in compared_types
                ]
        _print_comparison(compared_runs, as_json)
        return Exit.DONE
    earlier_run = _read_earlier_run(against, runs, name, parameters)
    with closing(options.open_index(repo, branch, artifact, key)) as index:
        run = _run_cases(index, cases, name, parameters, search_type)
    difference = _compare_with_earlier_run(earlier_run, run)
    missed_minimums = [reason for minimum in minimums if (reason := minimum.describe_miss(run))]
    with _convert_write_errors():
        if runs is not None:
            save_run(runs, run)
        if report is not None:
            report.write_text(render_report(run, difference), encoding="utf-8")
        if plot is not None and runs is not None:
            draw_plot(read_runs(runs, name, parameters), plot)
    if as_json:
        _print_json(run, difference, missed_minimums)
    else:
        _print_tables(run, difference, missed_minimums)
    return Exit.PROBLEMS if missed_minimums or (strict and run.problems) else Exit.DONE


def _read_cases(files: Sequence[Path], queries: Path | None) -> list[Case]:
    from docyard.eval.cases import read_cases

    try:
        return read_cases(files, queries)
    except OSError as error:
        raise CommandError(f"the cases cannot be read: {error.strerror or type(error).__name__}") from error


def _read_earlier_run(
    against: Path | None, runs: Path | None, name: str, parameters: Parameters
) -> EvalRun | None:
    from docyard.eval.run import read_run, read_runs

    try:
        if against is not None:
            return read_run(against)
        saved_runs = read_runs(runs, name, parameters) if runs is not None else []
    except OSError as error:
        raise CommandError(
            f"earlier runs cannot be read: {error.strerror or type(error).__name__}"
        ) from error
    return saved_runs[-1] if saved_runs else None


def _run_cases(
    index: SearchIndex,
    cases: Sequence[Case],
    name: str,
    parameters: Parameters,
    search_type: SearchType | None,
) -> EvalRun:
    from docyard.eval.run import Embedding, EvalRun, run_cases

    uses_vectors = index.has_vectors and search_type != "bm25"
    report: EmbeddingReport | None = None
    with console.show_progress("Indexing") as progress:
        commit = index.update_to_tip(progress)
    if uses_vectors:
        with console.show_progress("Embedding") as progress:
            report = index.embed_sections(progress)
    with console.show_progress("Searching") as progress:
        case_results = run_cases(
            index,
            index.workspace.snapshot(commit),
            cases,
            top=parameters.top,
            search_type=search_type,
            progress=progress,
        )
    metadata = index.metadata()
    return EvalRun(
        name=name,
        at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        commit=commit,
        version=__version__,
        parameters=parameters,
        metadata=metadata.model_dump(mode="json") if metadata else None,
        search_type=(search_type or "hybrid") if uses_vectors else "bm25",
        embedding=None
        if report is None
        else Embedding(provider=report.provider, model=report.model, dimensions=report.dimensions),
        problems=tuple(str(problem) for problem in case_results.problems),
        cases=case_results.outcomes,
    )


def _print_comparison(runs: Sequence[EvalRun], as_json: bool) -> None:
    from docyard.eval.report import COMPARISON_HEADINGS, format_comparison, summarize_run

    if as_json:
        console.print_json(
            [
                {
                    "embedding": run.embedding.model_dump(mode="json") if run.embedding else None,
                    "search_type": run.search_type,
                    "summary": summarize_run(run),
                }
                for run in runs
            ]
        )
    else:
        console.print_table(COMPARISON_HEADINGS, format_comparison(runs))


def _compare_with_earlier_run(earlier_run: EvalRun | None, run: EvalRun) -> Difference | None:
    from docyard.eval.report import compare_runs

    return compare_runs(earlier_run, run) if earlier_run is not None else None


@contextmanager
def _convert_write_errors() -> Iterator[None]:
    """Raise CommandError for a file that cannot be written."""
    try:
        yield
    except OSError as error:
        name = Path(str(error.filename or "a file")).name
        raise CommandError(
            f"{name} cannot be written: {error.strerror or type(error).__name__}",
            fix="Name a file in a writable folder.",
        ) from error


def _print_json(run: EvalRun, difference: Difference | None, missed_minimums: Sequence[str]) -> None:
    from docyard.eval.report import summarize_run

    earlier_run = difference.earlier_run if difference else None
    console.print_json(
        {
            "summary": summarize_run(run),
            "earlier": {
                "at": earlier_run.at,
                "commit": earlier_run.commit,
                "summary": summarize_run(earlier_run),
            }
            if earlier_run
            else None,
            "missed": list(missed_minimums),
            **run.model_dump(mode="json"),
        }
    )


def _print_tables(run: EvalRun, difference: Difference | None, missed_minimums: Sequence[str]) -> None:
    from docyard.eval.cases import MAX_LISTED_PROBLEMS
    from docyard.eval.report import HEADINGS, format_measure_cells, format_time_cells

    console.print_table(HEADINGS, format_measure_cells(run, difference))
    console.print_table(("", ""), format_time_cells(run, difference))
    for problem in run.problems[:MAX_LISTED_PROBLEMS]:
        click.echo(f"warning: {problem}", err=True)
    if len(run.problems) > MAX_LISTED_PROBLEMS:
        omitted_count = len(run.problems) - MAX_LISTED_PROBLEMS
        click.echo(f"warning: {omitted_count:,} more problems of the cases are not listed", err=True)
    for reason in missed_minimums:
        click.echo(f"missed: {reason}", err=True)
