"""The results of a search in documentation sources, within a budget of tokens.

Every result has its title, summary and URL. The contents of long sections are cut so that the answer fits. If
even short contents do not fit, the page ends earlier, with a cursor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import cache, cached_property
from itertools import chain
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from index.matches import Matcher, SearchableText
from index.sources.permalinks import CitedSection, format_permalink
from index.sources.source import SourceUnavailable
from tools.pages import cut_text, exceeds, measure_tokens
from tools.retrieval.budgets import find_largest_fitting_size
from tools.tool import NextStep, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from index.sources.sources import SourceHit, SourcesPage
    from tools.tool import Data

MAX_SUMMARY_CHARACTERS = 200
_SHORT_TITLE_CHARACTERS = 40
_MIN_CONTENT_CHARACTERS = 100
_SURELY_FITTING_CHARACTERS = 1  # of contents for each token, so that they nearly always fit
_FIELDS_OMITTED_IF_SHORT = frozenset(("blob", "chunk_index", "document", "lines", "relevance_score", "url"))
_TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_TABLE_PADDING = re.compile(r" {2,}|-{4,}")
_RUN_LENGTHS = {" ": 1, "-": 3}  # to which longer runs are shortened
_ADDRESS_FIELDS = ("namespace", "address")
_FIELDS_OMITTED_IF_MINIMAL = _FIELDS_OMITTED_IF_SHORT | {
    "summary",
    "lifted_by",
    "walkthrough_relevance",
    "related_walkthrough_steps",
    "suggested_follow_up",
}


class Content:
    """The whole text of a result, and the terms of a question in it, which a matcher finds."""

    def __init__(self, text: str, matcher: Matcher) -> None:
        self.text = text
        self._matcher = matcher

    @cached_property
    def _words(self) -> tuple[Sequence[int], Sequence[frozenset[str]]]:
        """The ascending offsets of the words with terms, and the terms of each of these words."""
        return self._matcher.find_words(SearchableText(self.text))

    @cached_property
    def _line_starts(self) -> list[int]:
        """The start of the line of each offset."""
        return [self.text.rfind("\n", 0, offset) + 1 for offset in self._words[0]]

    @cached_property
    def _weights(self) -> dict[str, float]:
        """The weight of each term. A term that is rare in the text counts more."""
        return {term: 1 / count for term, count in Counter(chain.from_iterable(self._words[1])).items()}

    def find_best_start(self, size: int) -> int:
        """Return the start of the part of the text, of `size` characters, with the most terms.

        The part begins with a line, and it is the beginning of the text if no other part has more terms.
        """
        (offsets, terms), weights = self._words, self._weights
        # `cut_text` may leave out the last quarter of the part, to end it between blocks.
        sure_size = max(size * 3 // 4, 1)
        part_counts = dict.fromkeys(weights, 0)  # of the terms in the part, which moves from start to start
        best_start, best_weight = 0, 0.0
        first = end = 0
        for line_start, offset in ((0, 0), *zip(self._line_starts, offsets, strict=True)):
            start = max(line_start, offset - sure_size // 2)
            has_new_term = False
            while end < len(offsets) and offsets[end] < start + sure_size:
                for term in terms[end]:
                    has_new_term |= not part_counts[term]
                    part_counts[term] += 1
                end += 1
            while first < end and offsets[first] < start:
                for term in terms[first]:
                    part_counts[term] -= 1
                first += 1
            if has_new_term:
                weight = fsum(weights[term] for term, count in part_counts.items() if count)
                if weight > best_weight:
                    best_start, best_weight = start, weight
        # A part that would reach beyond the end begins earlier.
        earliest_line = self.text.find("\n", max(len(self.text) - size - 1, 0)) + 1
        return min(best_start, earliest_line) if earliest_line else best_start


class Result(NamedTuple):
    """One result: its fields without the content, and the whole content (None if none is wanted)."""

    fields: Data
    content: Content | None

    def reduce_to_address(self) -> Result:
        """Return the result with its address and namespace alone."""
        return Result({name: self.fields[name] for name in _ADDRESS_FIELDS if name in self.fields}, None)


class Detail(IntEnum):
    """The detail of an answer: a small budget permits less of it.

    SHORT results have an address, no other position except the URL of a web page, and a summary only without
    a content. MINIMAL answers have only the address, the title and the content of each result, and no
    commits; `detail` is then "minimal".
    """

    MINIMAL = 0
    SHORT = 1
    FULL = 2


BuildAnswer = Callable[[list["Data"], Detail], "Data"]
"""Returns the whole answer with some results, in a detail."""


def build_results(page: SourcesPage, *, includes_content: bool, includes_namespace: bool) -> list[Result]:
    """Return the results of a page, with their contents and namespaces if they are wanted.

    A source that was removed after the search has no contents.
    """
    fields = [_build_fields(source_hit, page) for source_hit in page.hits]
    if includes_namespace:
        fields = [
            {"namespace": source_hit.source.name, **item}
            for source_hit, item in zip(page.hits, fields, strict=True)
        ]
    contents = _read_contents(page) if includes_content else {}
    return [Result(item, contents.get(number)) for number, item in enumerate(fields)]


def _read_contents(page: SourcesPage) -> dict[int, Content]:
    """Return the contents of the hits of a page by their positions in it."""
    matcher = Matcher(page.terms)
    contents: dict[int, Content] = {}
    for source in dict.fromkeys(source_hit.source for source_hit in page.hits):
        hits = {number: item.hit for number, item in enumerate(page.hits) if item.source is source}
        with suppress(SourceUnavailable):
            for number, text in zip(hits, source.read_texts([*hits.values()]), strict=True):
                contents[number] = Content(text, matcher)
    return contents


def _build_fields(source_hit: SourceHit, page: SourcesPage) -> Data:
    """Return the fields of a result, without its namespace and content."""
    source, hit = source_hit.source, source_hit.hit
    key = hit.address.removeprefix(f"{hit.filepath}#")
    commit = page.commits[source.name]
    settings = source.settings
    position = CitedSection(
        source.name, settings.folder, hit.filepath, key, commit, hit.start_line, hit.end_line
    )
    return {
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


def shorten_summary(text: str) -> str:
    """Return a text on one line, of at most 200 characters and an ellipsis."""
    return _shorten(" ".join(text.split()), MAX_SUMMARY_CHARACTERS)


def _shorten(line: str, limit: int) -> str:
    """Return a line; one of more than `limit` characters is cut after a word, with an ellipsis."""
    if len(line) <= limit:
        return line
    words, separator, _ = line[:limit].rpartition(" ")
    return f"{words if separator and len(words) > limit // 2 else line[:limit]}…"


class ResultList(NamedTuple):
    """The results of one question, and the function that returns the answer with some of them."""

    results: Sequence[Result]
    build_answer: BuildAnswer
    max_detail: Detail = Detail.FULL

    @property
    def longest_content(self) -> int:
        """The characters of the longest content."""
        return max((len(result.content.text) for result in self.results if result.content), default=0)

    @property
    def min_length(self) -> int:
        """The characters of the shortest contents for which results are left out."""
        return min(self.longest_content, _MIN_CONTENT_CHARACTERS)

    def build(self, count: int, limit: int, detail: Detail) -> Data:
        """Return the answer with the first `count` results, each with at most `limit` characters."""
        shown_results = [
            _cut_content(_reduce_to_detail(result, detail), limit) for result in self.results[:count]
        ]
        return self.build_answer(shown_results, detail)

    def select_form(self, max_tokens: int) -> tuple[int, Detail]:
        """Return how many results fit a number of tokens with short contents, and their detail."""

        def fits(count: int, detail: Detail) -> bool:
            return not exceeds(self.build(count, self.min_length, detail), max_tokens)

        count = len(self.results)
        if fits(count, self.max_detail):
            return count, self.max_detail
        details = [detail for detail in reversed(Detail) if detail <= self.max_detail]
        detail = next((item for item in details if fits(min(count, 1), item)), Detail.MINIMAL)
        while count > 1 and not fits(count, detail):
            count -= 1
        return count, detail


def fit_results(result_list: ResultList, max_tokens: int) -> Data:
    """Return the answer with the results that fit a number of tokens; contents are cut if needed.

    A cut content has `truncated`, and `offset`, the character at which the text continues.
    """
    return fit_result_lists([result_list], max_tokens)[0]


def fit_result_lists(result_lists: Sequence[ResultList], max_tokens: int) -> list[Data]:
    """Return the answers to several questions that fit a number of tokens together.

    Each list gets an equal share, and longer contents if those of the others are short.
    """
    full_forms = [(len(result_list.results), result_list.max_detail) for result_list in result_lists]
    min_length = max((result_list.min_length for result_list in result_lists), default=0)
    limit, answers = _fit_contents(result_lists, full_forms, max_tokens)
    # Most answers have room for all results, so that no other form has to be built and measured.
    if min_length and limit >= min_length:
        return answers
    share = max_tokens // max(len(result_lists), 1)
    forms = [result_list.select_form(share) for result_list in result_lists]
    return (
        answers if min_length and forms == full_forms else _fit_contents(result_lists, forms, max_tokens)[1]
    )


def _fit_contents(
    result_lists: Sequence[ResultList], forms: Sequence[tuple[int, Detail]], max_tokens: int
) -> tuple[int, list[Data]]:
    """Return the characters of a content with which the answers fit a number of tokens, and the answers.

    `forms` are the number of results of each list, and their detail.
    """

    @cache
    def build(limit: int) -> list[Data]:
        return [
            result_list.build(count, limit, detail)
            for result_list, (count, detail) in zip(result_lists, forms, strict=True)
        ]

    texts = [result.content.text for item in result_lists for result in item.results if result.content]
    lengths = sorted(map(len, texts))

    def measure(characters: int) -> int:
        return sum(map(measure_tokens, build(_share_characters(lengths, characters))))

    total = sum(lengths)
    first_total, empty_tokens = total, None
    if total > max_tokens * _SURELY_FITTING_CHARACTERS:
        empty_tokens = measure(0)
        sample = "".join(text[: max_tokens // len(texts)] for text in texts)
        characters_per_token = len(sample) / measure_tokens(sample)
        first_total = max(int((max_tokens - empty_tokens) * characters_per_token), 1)
    characters = find_largest_fitting_size(total, measure, max_tokens, first_total, empty_tokens)
    limit = _share_characters(lengths, characters)
    return limit, build(limit)


def _share_characters(lengths: Sequence[int], total: int) -> int:
    """Return the limit of a content with which contents of ascending lengths have `total` characters."""
    for number, length in enumerate(lengths):
        if length > (share := total // (len(lengths) - number)):
            return share
        total -= length
    return lengths[-1] if lengths else 0


def _reduce_to_detail(result: Result, detail: Detail) -> Result:
    """Return a result in a detail."""
    fields = result.fields
    if detail is Detail.FULL:
        return result
    if detail is Detail.SHORT:
        # A resource URI repeats the namespace and the address.
        has_web_page = not fields.get("url", "doc:").startswith("doc:")
        omitted_fields = _FIELDS_OMITTED_IF_SHORT - {"url"} if has_web_page else _FIELDS_OMITTED_IF_SHORT
        if result.content is not None:  # the shown part of the content has the words of the question
            omitted_fields |= {"summary"}
        return result._replace(fields={name: fields[name] for name in fields if name not in omitted_fields})
    minimal_fields = {name: fields[name] for name in fields if name not in _FIELDS_OMITTED_IF_MINIMAL}
    if "title" in minimal_fields:
        minimal_fields["title"] = _shorten(minimal_fields["title"], _SHORT_TITLE_CHARACTERS)
    return result._replace(fields=minimal_fields)


def _cut_content(result: Result, limit: int) -> Data:
    """Return a result with at most `limit` characters of its content: the part with the most terms.

    A content that does not start at its beginning has `start`.
    """
    fields, content = result
    if content is None:
        return fields
    if len(content.text) <= limit:
        return _insert_content(fields, remove_table_padding(content.text))
    start = content.find_best_start(limit) if limit > 0 else 0
    text, offset = cut_text(content.text, start, limit) if limit > 0 else ("", 0)
    data = {**_insert_content(fields, remove_table_padding(text)), "truncated": True}
    if start:
        data["start"] = start
    return data if offset is None else {**data, "offset": offset}


def remove_table_padding(text: str) -> str:
    """Return a text whose table rows have no padding, which may be half of a table.

    Lines that begin with a bar are treated as table rows.
    """
    return _TABLE_ROW.sub(
        lambda row: _TABLE_PADDING.sub(lambda run: run[0][: _RUN_LENGTHS[run[0][0]]], row[0]), text
    )


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


def suggest_continuation(sources: Sequence[Data], detail: Detail = Detail.FULL) -> NextStep | None:
    """Return the next step that reads the rest of the first truncated content."""
    cut_source = next((source for source in sources if source.get("truncated")), None)
    if cut_source is None:
        return None
    if detail is Detail.MINIMAL:
        return NextStep("Read the rest with get_doc: address as chunk_id, offset")
    namespace = {"namespace": cut_source["namespace"]} if "namespace" in cut_source else {}
    # A content that has a start is read from its beginning.
    offset = (
        {"offset": cut_source["offset"]} if cut_source.get("offset") and "start" not in cut_source else {}
    )
    rest_call = call("get_doc", chunk_id=cut_source["address"], **offset, **namespace)
    return NextStep("Read the rest of a truncated content with ", rest_call)
