"""The results of a search in documentation sources, within a budget of tokens.

Every result has its title, summary and URL. The contents of long sections are cut so that the answer fits. If
even short contents do not fit, the page ends earlier, with a cursor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from index.sources.permalinks import SectionPosition, format_permalink
from tools.pages import cut_text, exceeds
from tools.retrieval.budgets import find_largest
from tools.tool import NextStep, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from index.sources.sources import SourceHit, SourcesPage
    from tools.tool import Data

MAX_SUMMARY_CHARACTERS = 200
_SHORT_SUMMARY_CHARACTERS = 40
_MIN_CONTENT_CHARACTERS = 200


class Result(NamedTuple):
    """One result: its fields without the content, and the whole content (None if none is wanted)."""

    fields: Data
    content: str | None


BuildAnswer = Callable[[list["Data"]], "Data"]
"""Returns the whole answer with some results."""


def build_results(page: SourcesPage, *, include_content: bool, names_namespace: bool) -> list[Result]:
    """Return the results of a page; `names_namespace` adds the namespace of each.

    Raises SourceUnavailable.
    """
    return [
        _build_result(source_hit, page, include_content=include_content, names_namespace=names_namespace)
        for source_hit in page.hits
    ]


def _build_result(
    source_hit: SourceHit, page: SourcesPage, *, include_content: bool, names_namespace: bool
) -> Result:
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
    content = None
    if include_content:
        with source.open() as index:
            content = str(index.read_source(hit), "utf-8", "replace")
    return Result(fields, content)


def shorten_summary(text: str) -> str:
    """Return a text on one line, of at most 200 characters and an ellipsis."""
    return _shorten(" ".join(text.split()), MAX_SUMMARY_CHARACTERS)


def _shorten(line: str, limit: int) -> str:
    """Return a line; one of more than `limit` characters is cut after a word, with an ellipsis."""
    if len(line) <= limit:
        return line
    words, separator, _ = line[:limit].rpartition(" ")
    return f"{words if separator and len(words) > limit // 2 else line[:limit]}…"


def fit_results(results: Sequence[Result], max_tokens: int, build_answer: BuildAnswer) -> Data:
    """Return the answer with the results that fit a number of tokens; contents are cut if needed.

    A cut content has `truncated` and `offset`, the number of its shown characters. With few tokens, the
    results have very short summaries, and leave out the ids of their blobs.
    """
    if len(results) > 0 and exceeds(build_answer([_cut_content(results[0], 0)]), max_tokens // 2):
        results = [_drop_fields(result) for result in results]

    def build(count: int, limit: int) -> Data:
        return build_answer([_cut_content(result, limit) for result in results[:count]])

    def fits(count: int, limit: int) -> bool:
        return not exceeds(build(count, limit), max_tokens)

    count = len(results)
    longest = max((len(result.content or "") for result in results), default=0)
    while count > 1 and not fits(count, min(longest, _MIN_CONTENT_CHARACTERS)):
        count -= 1
    return build(count, find_largest(longest, lambda limit: fits(count, limit)))


def _drop_fields(result: Result) -> Result:
    """Return a result without its blob, and with a very short summary."""
    fields = {name: value for name, value in result.fields.items() if name != "blob"}
    return Result(
        {**fields, "summary": _shorten(fields["summary"], _SHORT_SUMMARY_CHARACTERS)}, result.content
    )


def _cut_content(result: Result, limit: int) -> Data:
    """Return a result with at most `limit` characters of its content."""
    fields, content = result
    if content is None:
        return fields
    if len(content) <= limit:
        return _insert_content(fields, content)
    text, offset = cut_text(content, 0, limit) if limit > 0 else ("", 0)
    return {**_insert_content(fields, text), "truncated": True, "offset": offset}


def _insert_content(fields: Data, content: str) -> Data:
    """Return fields with the content before the URL, as in the contract."""
    data: Data = {}
    for name, value in fields.items():
        if name == "url":
            data["content"] = content
        data[name] = value
    return data


def suggest_rest(sources: Sequence[Data]) -> NextStep | None:
    """Return the next step that reads the rest of the first truncated content."""
    cut = next((source for source in sources if source.get("truncated")), None)
    if cut is None:
        return None
    namespace = {"namespace": cut["namespace"]} if "namespace" in cut else {}
    offset = {"offset": cut["offset"]} if cut["offset"] else {}
    rest_call = call("get_doc", chunk_id=cut["address"], **offset, **namespace)
    return NextStep("Read the rest of a truncated content with ", rest_call)
