"""The results of a search in documentation sources, within a budget of tokens.

Every result has its title, summary and URL. The contents of long sections are cut so that the answer fits. If
even short contents do not fit, the page ends earlier, with a cursor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from enum import IntEnum
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from index.matches import Matcher, SearchableText
from index.sources.permalinks import SectionPosition, format_permalink
from index.sources.source import SourceUnavailable
from tools.pages import cut_text, exceeds
from tools.retrieval.budgets import find_largest
from tools.tool import NextStep, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from index.sources.sources import SourceHit, SourcesPage
    from tools.tool import Data

MAX_SUMMARY_CHARACTERS = 200
_SHORT_TITLE_CHARACTERS = 40
_MIN_CONTENT_CHARACTERS = 100
_SHORT_OMITS = frozenset(("blob", "chunk_index", "lines", "url"))
_MINIMAL_OMITS = _SHORT_OMITS | {
    "document",
    "relevance_score",
    "summary",
    "lifted_by",
    "walkthrough_relevance",
    "related_walkthrough_steps",
    "suggested_follow_up",
}


class Result(NamedTuple):
    """One result: its fields without the content, and the whole content (None if none is wanted).

    `matches` are the character offsets of the words of the question in the content, each with its terms.
    """

    fields: Data
    content: str | None
    matches: tuple[tuple[int, frozenset[str]], ...] = ()


class Detail(IntEnum):
    """The detail of an answer: a small budget needs less of it.

    SHORT results have no position and no blob, and a summary only without a content. MINIMAL answers have
    only the address, the title and the content of each result, and no commits; `detail` is then "minimal".
    """

    MINIMAL = 0
    SHORT = 1
    FULL = 2


BuildAnswer = Callable[[list["Data"], Detail], "Data"]
"""Returns the whole answer with some results, in a detail."""


def build_results(page: SourcesPage, *, content_count: int, names_namespace: bool) -> list[Result]:
    """Return the results of a page, the first `content_count` with their contents.

    `names_namespace` adds the namespace of each result.
    """
    matcher = Matcher(page.terms)
    return [
        _build_result(
            source_hit, page, matcher if number < content_count else None, names_namespace=names_namespace
        )
        for number, source_hit in enumerate(page.hits)
    ]


def _build_result(
    source_hit: SourceHit, page: SourcesPage, matcher: Matcher | None, *, names_namespace: bool
) -> Result:
    """Return a result; with a matcher, its content."""
    source, hit = source_hit.source, source_hit.hit
    key = hit.address.removeprefix(f"{hit.filepath}#")
    commit = page.commits[source.name]
    settings = source.settings
    position = SectionPosition(
        source.name, settings.folder, hit.filepath, key, commit, hit.start_line, hit.end_line
    )
    fields: Data = {
        "document": hit.filepath,
        "relevance_score": round(source_hit.score, 6),
        "title": hit.title,
        "summary": shorten_summary(hit.snippet),
        "url": format_permalink(position, settings.permalink, source.remote_url),
        "chunk_index": hit.position,
        "address": hit.address,
        "blob": hit.blob,
        "lines": [hit.start_line, hit.end_line],
    }
    if names_namespace:
        fields = {"namespace": source.name, **fields}
    if matcher is None:
        return Result(fields, None)
    try:
        with source.open() as index:
            content = str(index.read_source(hit), "utf-8", "replace")
    except SourceUnavailable:  # the source was removed after the search
        return Result(fields, None)
    return Result(fields, content, tuple(zip(*matcher.find_words(SearchableText(content)), strict=True)))


def shorten_summary(text: str) -> str:
    """Return a text on one line, of at most 200 characters and an ellipsis."""
    return _shorten(" ".join(text.split()), MAX_SUMMARY_CHARACTERS)


def _shorten(line: str, limit: int) -> str:
    """Return a line; one of more than `limit` characters is cut after a word, with an ellipsis."""
    if len(line) <= limit:
        return line
    words, separator, _ = line[:limit].rpartition(" ")
    return f"{words if separator and len(words) > limit // 2 else line[:limit]}…"


def fit_results(
    results: Sequence[Result],
    max_tokens: int,
    build_answer: BuildAnswer,
    most_detail: Detail = Detail.FULL,
) -> Data:
    """Return the answer with the results that fit a number of tokens; contents are cut if needed.

    A cut content has `truncated`, and `offset`, the character at which the text goes on.
    """

    def build(count: int, limit: int, detail: Detail) -> Data:
        shown = [_cut_content(_reduce(result, detail), limit) for result in results[:count]]
        return build_answer(shown, detail)

    def fits(count: int, limit: int, detail: Detail) -> bool:
        return not exceeds(build(count, limit, detail), max_tokens)

    count = len(results)
    longest = max((len(result.content or "") for result in results), default=0)
    least = min(longest, _MIN_CONTENT_CHARACTERS)
    details = [detail for detail in reversed(Detail) if detail <= most_detail]
    detail = next((item for item in details if fits(min(count, 1), least, item)), Detail.MINIMAL)
    while count > 1 and not fits(count, least, detail):
        count -= 1
    return build(count, find_largest(longest, lambda limit: fits(count, limit, detail)), detail)


def _reduce(result: Result, detail: Detail) -> Result:
    """Return a result in a detail."""
    fields = result.fields
    if detail is Detail.FULL:
        return result
    if detail is Detail.SHORT:
        # A resource URI repeats the namespace and the address.
        omitted = _SHORT_OMITS if fields["url"].startswith("doc:") else _SHORT_OMITS - {"url"}
        if result.content is not None:  # the shown part of the content has the words of the question
            omitted |= {"summary"}
        return result._replace(fields={name: fields[name] for name in fields if name not in omitted})
    minimal_fields = {name: fields[name] for name in fields if name not in _MINIMAL_OMITS}
    title = _shorten(fields["title"], _SHORT_TITLE_CHARACTERS)
    return result._replace(fields={**minimal_fields, "title": title})


def _cut_content(result: Result, limit: int) -> Data:
    """Return a result with at most `limit` characters of its content: those with most of the question.

    A content that does not start at its beginning has `start`.
    """
    fields, content, matches = result
    if content is None:
        return fields
    if len(content) <= limit:
        return _insert_content(fields, content)
    start = find_window(content, matches, limit)
    text, offset = cut_text(content, start, limit) if limit > 0 else ("", start)
    data = {**_insert_content(fields, text), "truncated": True}
    if start:
        data["start"] = start
    return data if offset is None else {**data, "offset": offset}


def find_window(content: str, matches: Sequence[tuple[int, frozenset[str]]], size: int) -> int:
    """Return the start of the part of a text, of `size` characters, with the most terms of a question.

    A term that is rare in the text counts more. The part begins with a line, and it is the beginning of the
    text if no other part has more terms.
    """
    counts = Counter(term for _, terms in matches for term in terms)
    # `cut_text` may leave out the second half of the part, to end it between blocks.
    sure_size = max(size // 2, 1)

    def measure(start: int) -> float:
        first = bisect_left(matches, start, key=itemgetter(0))
        in_window = takewhile(lambda match: match[0] < start + sure_size, matches[first:])
        return sum(1 / counts[term] for term in set().union(*(terms for _, terms in in_window)))

    starts = [max(content.rfind("\n", 0, offset) + 1, offset - sure_size // 2) for offset, _ in matches]
    return max((0, *dict.fromkeys(starts)), key=measure)


def _insert_content(fields: Data, content: str) -> Data:
    """Return fields with the content after the title and the summary, as in the contract."""
    names = list(fields)
    position = 1 + max(names.index(name) for name in ("title", "summary") if name in fields)
    before, after = names[:position], names[position:]
    return {
        **{name: fields[name] for name in before},
        "content": content,
        **{name: fields[name] for name in after},
    }


def suggest_rest(sources: Sequence[Data], detail: Detail = Detail.FULL) -> NextStep | None:
    """Return the next step that reads the rest of the first truncated content."""
    cut = next((source for source in sources if source.get("truncated")), None)
    if cut is None:
        return None
    if detail is Detail.MINIMAL:
        return NextStep("Read the rest with get_doc: address as chunk_id, offset")
    namespace = {"namespace": cut["namespace"]} if "namespace" in cut else {}
    # A content that has a start is read from its beginning.
    offset = {"offset": cut["offset"]} if cut.get("offset") and "start" not in cut else {}
    rest_call = call("get_doc", chunk_id=cut["address"], **offset, **namespace)
    return NextStep("Read the rest of a truncated content with ", rest_call)
