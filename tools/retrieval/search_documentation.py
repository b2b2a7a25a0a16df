"""search_documentation: searches one documentation source or all, and returns cited sections."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from index.sources.settings import ALL_NAMESPACES, MIN_ANSWER_TOKENS
from index.sources.sources import (
    MAX_OFFSET,
    check_cursor_commits,
    compute_arguments_digest,
    join_search_types,
    read_sources_cursor,
    search_sources,
    write_sources_cursor,
)
from tools.arguments import (
    OPERATIONS,
    Boolean,
    Integer,
    InvalidArguments,
    Objects,
    ReadingArguments,
    check_call_fields,
    read_arguments,
    read_operations,
)
from tools.budgets.limits import MAX_TOKENS
from tools.retrieval.recorded_searches import record_page
from tools.retrieval.related_steps import RelatedSteps
from tools.retrieval.results import (
    Detail,
    ResultList,
    build_results,
    fit_result_lists,
    fit_results,
    suggest_continuation,
)
from tools.retrieval.walkthroughs import find_position
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.port import SearchType
    from index.sources.sources import SourcesPage
    from tools.retrieval.context import RetrievalContext
    from tools.retrieval.results import Result
    from tools.tool import CallArguments, Data

MAX_RESULTS = 20
MAX_QUESTIONS = 10
DEFAULT_BATCH_RESULTS = 2
"""The default number of results of a question in a batch; only the first has its content, the other its
address."""

_COMMON_FIELDS = ("namespace", "max_results", "include_content", "handle", "search_type")
"""The fields of a call that apply to each question of its batch."""

_CALL_FIELDS = frozenset((OPERATIONS, MAX_TOKENS))
"""The fields that apply to a whole call, and that no question of a batch has."""

MAX_QUESTION_TOKENS = 350
"""The tokens of a question in a batch, unless the call names a limit for the whole answer."""

MIN_QUESTION_TOKENS = 200
"""The least number of tokens of a question in a batch."""

_RESERVED_QUESTION_TOKENS = 10  # for the separators and the field names of an entry
_REMAINDER_ADVICE = (
    "Read on from a truncated content with get_doc: its address as chunk_id, namespace, offset, max_tokens"
)
_MAX_LISTED_SOURCES = 20
_MAX_SUGGESTED_QUERIES = 3
_MAX_LISTED_NOTES = 3


class SearchDocumentationArguments(ReadingArguments):
    """The input of search_documentation. `query` is optional with `operations`."""

    query: str = Field("", description="Search query for documentation")
    namespace: str | None = Field(
        None, description="Specific namespace to search in (optional if only one namespace)"
    )
    search_type: Literal["vector", "bm25", "hybrid"] = Field("hybrid", description="Search algorithm to use")
    max_results: Integer = Field(10, description="Maximum number of results to return", ge=1, le=MAX_RESULTS)
    include_content: Boolean = Field(True, description="Whether to include full content or just summaries")
    handle: str | None = Field(None, description="Walkthrough under way")
    cursor: str | None = None
    operations: Objects | None = Field(
        None, description="Several questions in one call, with short answers: [{query, namespace}, ...]"
    )


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, namespace?, max_results?}}; max_results is 1 to {MAX_RESULTS}",
        "namespaces": f'list_documentation_sources lists them; "{ALL_NAMESPACES}" searches all',
        "query": 'Words are joined by OR; "exact phrase"; -word; title:x; auth*; AND, OR, NOT, ( )',
        "pages": "Add cursor: the next_cursor of the page before, with the same query",
        "batch": f"Call with {{operations: [{{query, namespace?}}, ...]}}; at most {MAX_QUESTIONS}, "
        f"which share max_tokens (default: {MAX_QUESTION_TOKENS} for each)",
        "budget": f"max_tokens limits the answer; at least {MIN_ANSWER_TOKENS}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "query": "how to paginate",
        **select_example_arguments(arguments, ("query", "namespace")),
        "max_results": 5,
    }


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(SearchDocumentationArguments, arguments)
    if request.operations is None:
        search = _Search.run(context, request)
        results = search.build_results(includes_namespace=len(context.sources) > 1)
        return Answer(fit_results(ResultList(results, search.build_answer), context.max_tokens))
    common_fields = {name: arguments[name] for name in _COMMON_FIELDS if arguments.get(name) is not None}
    items = [{**common_fields, **item} for item in read_operations(request.operations)]
    if request.query.strip():
        items.insert(0, {name: arguments[name] for name in arguments if name not in _CALL_FIELDS})
    if len(items) > MAX_QUESTIONS:
        raise InvalidArguments(
            f"'{OPERATIONS}' has {len(items):,} questions; at most {MAX_QUESTIONS} are allowed",
            fix="Split the call into several.",
            field=OPERATIONS,
        )
    max_tokens = context.max_tokens
    if max_tokens < (min_tokens := len(items) * MIN_QUESTION_TOKENS):
        raise InvalidArguments(
            f"'{MAX_TOKENS}' must be at least {min_tokens:,} for {len(items)} questions",
            fix=f"Give {min_tokens:,}, or at most {max(max_tokens // MIN_QUESTION_TOKENS, 1)} questions.",
            field=MAX_TOKENS,
        )
    if arguments.get(MAX_TOKENS) is None:
        max_tokens = min(max_tokens, len(items) * MAX_QUESTION_TOKENS)
    return _answer_questions(context, items, max_tokens - len(items) * _RESERVED_QUESTION_TOKENS)


def _answer_questions(context: RetrievalContext, items: list[dict[str, object]], max_tokens: int) -> Answer:
    """Return the answers to several questions, which share a number of tokens.

    An error of one question does not affect the others. The commits are in the answer once. An entry has no
    cursor: its question can be sent alone.
    """
    defaults: dict[str, object] = {"max_results": DEFAULT_BATCH_RESULTS}
    result_lists: dict[int, ResultList] = {}
    failures: dict[int, Data] = {}
    commits: dict[str, str | None] = {}
    search_types: list[SearchType] = []
    for number, item in enumerate(items):
        try:
            check_call_fields(item, _CALL_FIELDS)
            request = read_arguments(SearchDocumentationArguments, {**defaults, **item})
            search = _Search.run(context, request)
        except WorkspaceError as error:
            failures[number] = {
                "success": False,
                "error": error.message,
                "code": error.code,
                "fix": error.fix,
            }
            continue
        # A question about one source names its namespace.
        results = search.build_results(includes_namespace=request.namespace == ALL_NAMESPACES)
        if "include_content" not in item:  # the first result answers most questions
            results = [*results[:1], *(result.reduce_to_address() for result in results[1:])]
        search_types.append(search.page.search_type)
        result_lists[number] = ResultList(results, search.build_entry, Detail.SHORT)
        for source_hit in search.page.hits:
            commits[source_hit.source.name] = search.page.commits[source_hit.source.name]
    fitted_answers = fit_result_lists(list(result_lists.values()), max_tokens)
    entries = failures | dict(zip(result_lists, fitted_answers, strict=True))
    batch_results = [entries[number] for number in range(len(items))]
    answer: Data = {"batch_results": batch_results, "search_type": join_search_types(search_types)}
    if len(commits) <= _MAX_LISTED_SOURCES:
        answer["commits"] = commits
    if any(source.get("truncated") for entry in batch_results for source in entry.get("sources", ())):
        answer["next_step"] = NextStep(_REMAINDER_ADVICE)
    return Answer(answer, is_error=not result_lists)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search, and its answer with some of the results. `offset` is the number of hits of earlier pages.

    `duration_ms` is the time that the search took.
    """

    context: RetrievalContext
    request: SearchDocumentationArguments
    page: SourcesPage
    digest: str
    offset: int
    duration_ms: float

    @classmethod
    def run(cls, context: RetrievalContext, request: SearchDocumentationArguments) -> _Search:
        """Search the sources of a request.

        Raises the errors of `Sources.select`, `search_sources` and cursors.
        """
        sources = context.sources.select(request.namespace)
        digest = compute_arguments_digest(
            request.query, [(source.organization, source.name) for source in sources]
        )
        commits_digest, offset = None, 0
        if request.cursor is not None:
            commits_digest, offset = read_sources_cursor(context.sources.signing_keys, request.cursor, digest)
        start = perf_counter()
        page = search_sources(
            sources,
            request.query,
            limit=request.max_results,
            offset=offset,
            search_type=request.search_type,
            progress=context.progress,
        )
        duration_ms = (perf_counter() - start) * 1_000
        if commits_digest is not None:
            check_cursor_commits(commits_digest, page.commits)
        return cls(context, request, page, digest, offset, duration_ms)

    def build_results(self, *, includes_namespace: bool) -> list[Result]:
        """Return and record the results, with their contents if the request includes contents."""
        results = build_results(
            self.page, includes_content=self.request.include_content, includes_namespace=includes_namespace
        )
        related_steps = find_related_steps(self.context, self.request.handle)
        if not self.offset:
            record_page(self.request.query, self.page, related_steps, self.duration_ms)
        if related_steps is not None:
            for result, source_hit in zip(results, self.page.hits, strict=True):
                result.fields.update(related_steps.describe(source_hit))
        return results

    def build_answer(self, results: list[Data], detail: Detail) -> Data:
        """Return the answer to a single question."""
        data: Data = {
            "query_processed": True,
            "result_count": len(results),
            "sources": results,
            **describe_page(self.page, detail),
        }
        end = self.offset + len(results)
        if (self.page.has_more or len(results) < len(self.page.hits)) and end < MAX_OFFSET:
            keys = self.context.sources.signing_keys
            data["next_cursor"] = write_sources_cursor(keys, self.digest, self.page.commits, end)
        next_step = (
            suggest_continuation(results, detail)
            if results
            else suggest_search(self.page, self.request.namespace)
        )
        if next_step is not None:
            data["next_step"] = next_step
        return data

    def build_entry(self, results: list[Data], detail: Detail) -> Data:
        """Return the entry of a batch."""
        page_fields = describe_page(self.page, detail)
        omitted_fields = ("search_type", "commit", "commits")
        return {
            "success": True,
            "sources": results,
            **{name: page_fields[name] for name in page_fields if name not in omitted_fields},
        }


def describe_page(page: SourcesPage, detail: Detail) -> Data:
    """Return the algorithm, the commits, the unavailable sources, and the words that nothing contains."""
    if detail is Detail.MINIMAL:
        return {"detail": "minimal"}
    data: Data = {"search_type": page.search_type}
    if page.embedding_notes:
        data["embedding_notes"] = list(page.embedding_notes[:_MAX_LISTED_NOTES])
    commits = list(page.commits.values())
    if len(commits) == 1:
        data["commit"] = commits[0]
    else:
        names = page.commits
        if len(commits) > _MAX_LISTED_SOURCES:
            names = dict.fromkeys(item.source.name for item in page.hits)
        data["commits"] = {name: page.commits[name] for name in names}
    if page.unavailable:
        data["unavailable"] = dict(list(page.unavailable.items())[:_MAX_LISTED_SOURCES])
    if page.missing_words:
        data["missing_words"] = list(page.missing_words)
    if page.notes:
        data["notes"] = list(page.notes)
    if page.suggested_queries:
        data["suggested_queries"] = list(page.suggested_queries[:_MAX_SUGGESTED_QUERIES])
    return data


def find_related_steps(context: RetrievalContext, handle: str | None) -> RelatedSteps | None:
    """Return the steps of the walkthrough under way; None without a handle.

    Raises the errors of `find_position`.
    """
    return RelatedSteps(find_position(context.sources, handle)) if handle is not None else None


def suggest_search(page: SourcesPage, namespace: str | None) -> NextStep:
    """Return the next step after a search without results."""
    arguments = {"namespace": namespace} if namespace else {}
    if page.suggested_queries:
        query = page.suggested_queries[0]
        return NextStep("Search again: ", call("search_documentation", query=query, **arguments))
    return NextStep("Search again with other words")


def complete_search_schema(context: RetrievalContext, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that lists the namespaces of the server, if they are few, and requires the query.

    It names the fields of the questions of a batch.
    """
    names = [source.name for source in context.sources]
    properties = dict(schema["properties"])
    if 1 < len(names) <= _MAX_LISTED_SOURCES:
        properties["namespace"] = {**properties["namespace"], "enum": [*names, ALL_NAMESPACES]}
    if OPERATIONS in properties:
        item_properties = {name: {"type": "string"} for name in ("query", "namespace")}
        items = {"type": "object", "properties": item_properties, "required": ["query"]}
        properties[OPERATIONS] = {**properties[OPERATIONS], "items": items}
    return {**schema, "properties": properties, "required": ["query"]}


TOOL = Tool(
    name="search_documentation",
    title="Search documentation",
    toolset="retrieval",
    description="Search documentation for relevant information",
    arguments=SearchDocumentationArguments,
    run=_run,
    usage=_usage,
    example=_example,
    searches=True,
    schema=complete_search_schema,
)
