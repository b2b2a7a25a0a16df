"""search_docs: returns the sections that match a query best, with filters and pages."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import SINCE_DESCRIPTION, Integer, InvalidArguments, ReadingArguments, read_arguments
from tools.caveats import describe_search_caveats
from tools.errors import build_ref_argument
from tools.records.searches import SearchRecord, add_search, are_searches_recorded
from tools.search.fitting_hits import find_fitting_hits
from tools.search.found_tasks import describe_found_tasks
from tools.search.minimum_commit import read_at_least
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.config.taxonomy import BUILT_IN_KEYS, KEY_PATTERN, LATER_PARAMETERS, PARAMETER_PREFIX
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from index.matches import Matcher
    from index.service import Hit, SearchPage
    from tools.tool import CallArguments, Context

MAX_LIMIT = 50
SEARCH_TYPE = "search_type"
_OMITTED_VALUES_NOTE = "Not all values are listed; the error for a wrong value names the nearest."


class SearchDocsArguments(ReadingArguments):
    """The input of search_docs; a workspace adds the keys and values of its taxonomy."""

    query: str = Field(description="The search query (e.g., 'how to paginate', 'RateLimitError').")
    limit: Integer = Field(
        10, description="Maximum number of results to return. Default is 10.", ge=1, le=MAX_LIMIT
    )
    cursor: str | None = Field(
        None,
        description="Opaque pagination token returned from a previous search. Omit for the first page. "
        "Returns an error if invalid or malformed.",
    )
    ref: str | None = None
    path: str | None = Field(None, description="Folder, document, glob")
    since: str | None = Field(None, description=SINCE_DESCRIPTION)
    min_commit: str | None = Field(None, description="A write's commit")
    search_type: Literal["vector", "bm25", "hybrid"] | None = Field(
        None, description="Search by meaning (vector), by words (bm25), or both."
    )
    type: str | None = Field(None, description="Filter results by type.")
    tags: str | None = Field(None, description="Filter results by tags.")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, limit?}}; limit is 1 to {MAX_LIMIT}",
        "query": 'Words are joined by OR; "exact phrase" must occur or ranks high; -word must not',
        "operators": "auth*, retry~1, title:x, heading:x, tag:x, KEY:x, KEY:>=2026-01, AND, OR, NOT, ( )",
        "ref": "Add ref to search a branch, tag, commit or @{date} instead of the tip",
        "since": "Add since, a ref or a date such as 2026-01-31, for sections that changed after it",
        "min_commit": "Add min_commit, the commit of a write's answer, to search that commit or a later one",
        "filters": "Add type, tags, path, or another key of the schema, with a value that it lists",
        "pages": "Add cursor: the next_cursor of the page before, with the same query and filters",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"query": "how to paginate", **select_example_arguments(arguments, ("query", "ref")), "limit": 10}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request, filters = _parse_arguments(context, arguments)
    search = partial(
        context.index.search,
        request.query,
        cursor=request.cursor,
        filters=filters,
        path=request.path,
        progress=context.progress,
        ref=request.ref,
        since=request.since,
        search_type=request.search_type,
    )
    start = perf_counter()

    def find_hits() -> tuple[tuple[SearchPage, list[Data]], str | None]:
        page, hits = find_fitting_hits(search, _describe_hit, request.limit, context.text_tokens)
        return (page, hits), page.commit

    (page, hits), lag = read_at_least(context, request.min_commit, request.ref, find_hits)
    if request.cursor is None and are_searches_recorded():
        _record_search(request.query, page, (perf_counter() - start) * 1_000)
    hint = (
        {
            "message": page.hint.message,
            "suggested_filters": dict(page.hint.suggested_filters),
            "suggested_queries": page.hint.suggested_queries,
        }
        if page.hint
        else None
    )
    data: Data = {
        "hits": hits,
        "next_cursor": page.next_cursor,
        "hint": hint,
        "commit": page.commit,
    }
    if page.hits:
        data["blobs"] = {hit.filepath: hit.blob for hit in page.hits}
    else:
        data["next_step"] = _suggest_search(page, request)
    return Answer({**data, **describe_search_caveats(page), **lag})


def _record_search(query: str, page: SearchPage, duration_ms: float) -> None:
    add_search(
        SearchRecord(
            query=query,
            search_type=page.search_type,
            result_counts={"": len(page.hits)},
            commits={"": page.commit},
            addresses=tuple(("", hit.address) for hit in page.hits),
            missing_words=page.missing_words,
            duration_ms=duration_ms,
            embedding=page.question_vector,  # type: ignore[arg-type]
        )
    )


def _parse_arguments(
    context: Context, arguments: CallArguments
) -> tuple[SearchDocsArguments, dict[str, str]]:
    """Return the arguments, and the filters among them. Raises InvalidArguments, InvalidConfig."""
    fields = SearchDocsArguments.model_fields
    needs_keys = arguments.keys() - (fields.keys() - {*LATER_PARAMETERS})
    keys = context.index.taxonomy_keys() if needs_keys else BUILT_IN_KEYS
    renamed_parameters = _rename_parameters(keys)
    taxonomy_keys = [key for key in keys if key not in fields or key in renamed_parameters]
    parameters = {new_name: name for name, new_name in renamed_parameters.items()}
    request = read_arguments(
        SearchDocsArguments,
        {parameters.get(key, key): arguments[key] for key in arguments if key not in taxonomy_keys},
        taxonomy_keys,
    )
    filters = {key: value for key in BUILT_IN_KEYS if (value := getattr(request, key)) is not None}
    for key in taxonomy_keys:
        value = arguments.get(key)
        if isinstance(value, str):
            filters[key] = value
        elif value is not None:
            raise InvalidArguments(f"'{key}' must be a string", fix=f"Give '{key}' as text.", field=key)
    return request, filters


def _rename_parameters(keys: Iterable[str]) -> dict[str, str]:
    """Return the new names of the parameters whose names are keys."""
    return {key: PARAMETER_PREFIX + key for key in keys if key in LATER_PARAMETERS}


def _find_renamed_parameters(context: Context) -> Mapping[str, str]:
    """Return the new names of parameters; the call itself reports invalid settings."""
    try:
        return _rename_parameters(context.index.taxonomy_keys())
    except WorkspaceError:
        return {}


def _describe_hit(hit: Hit, matcher: Matcher) -> Data:
    return {
        "chunk_id": hit.chunk_id,
        "score": hit.score,
        "heading": hit.heading,
        "breadcrumb": hit.breadcrumb,
        "snippet": hit.snippet,
        "filepath": hit.filepath,
        "metadata": dict(hit.metadata),
        "lines": [hit.start_line, hit.end_line],
        **describe_found_tasks(hit, matcher),
    }


def _suggest_search(page: SearchPage, request: SearchDocsArguments) -> NextStep:
    """Return a next step with another search, for a search without hits."""
    ref_fields = build_ref_argument(request.ref)
    if request.since:
        ref_fields["since"] = request.since
    if page.hint and page.hint.suggested_queries:
        return NextStep(
            "Search again: ", call("search_docs", query=page.hint.suggested_queries[0], **ref_fields)
        )
    for key, values in page.hint.suggested_filters.items() if page.hint else ():
        return NextStep(
            "Search again: ", call("search_docs", query=request.query, **{key: values[0]}, **ref_fields)
        )
    return NextStep("Search again as the hint suggests")


def _add_taxonomy(context: Context, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the indexed keys and values of the taxonomy.

    Before the first index it has the keys of the settings, without values.
    """
    metadata = context.index.metadata()
    if metadata is not None:
        properties = {
            key: _build_property(key, facet.description, facet.listed_values)
            for key, facet in metadata.taxonomy.items()
            if KEY_PATTERN.fullmatch(key)
        }
    else:
        try:
            properties = {
                key: _build_property(key, text, None) for key, text in context.index.taxonomy_keys().items()
            }
        except WorkspaceError:  # a search reports the error
            properties = {}
    new_names = _rename_parameters(properties)
    parameters = {
        new_names.get(name, name): field
        for name, field in schema["properties"].items()
        # Without vectors there is nothing to choose.
        if name != SEARCH_TYPE or context.index.has_vectors
    }
    return {**schema, "properties": {**parameters, **properties}}


def _build_property(key: str, description: str | None, values: Sequence[str] | None) -> dict[str, Any]:
    """Return the schema property of a key, with an enum of the values if they are known."""
    from index.storage.metadata import sanitize_line

    text = sanitize_line(description or "") or f"Filter results by {key}."
    if values:
        return {"type": "string", "description": text, "enum": list(values)}
    hint = "" if values is None else f" {_OMITTED_VALUES_NOTE}"
    return {"type": "string", "description": text + hint}


def _describe_tool(context: Context) -> str:
    corpus = context.index.description()
    return f"Search the {corpus}. Use this to find relevant documentation, guides, or API references."


TOOL = Tool(
    name="search_docs",
    title="Search the documentation",
    toolset="search",
    description="Search the documentation. Use this to find relevant documentation, guides, or API "
    "references.",
    arguments=SearchDocsArguments,
    run=_run,
    usage=_usage,
    example=_example,
    searches=True,
    schema=_add_taxonomy,
    lists_taxonomy=True,
    rename_parameters=_find_renamed_parameters,
    describe=_describe_tool,
)
