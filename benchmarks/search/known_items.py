"""Known items: queries drawn from a corpus, each with the section from which it was drawn.

python -m benchmarks.search.known_items FOLDER [--count N] [--misses] [--json FILE]

Identifiers are code tokens that occur in exactly one section, which should be the first hit. Remembered words
are words that a reader may remember of a section: words of the heading, two rarer words of the text, and one
word that the section does not contain.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.child import make_child_environment
from benchmarks.corpus import SEED, Corpus, CorpusTooSmall, SectionText, make_repository
from benchmarks.reports.report import format_table
from index.analysis.words import STOP_WORDS
from index.service import SearchIndex
from workspace.workspace import Workspace

ITEMS_PER_KIND = 100
CHECKED_HIT_COUNT = 10
"""The number of checked hits. A section of a lower rank counts as not found."""

# No item is drawn from invisible text: comments, anchors, targets of links, bare URLs.
_INVISIBLE = re.compile(
    r"<!--.*?-->|<[^<>\n]*>|\{#[^{}\n]*\}|\]\([^()\n]*\)|^ {0,3}\[[^\]\n]+\]:.*$|\w+://\S*",
    re.DOTALL | re.MULTILINE,
)
_TOKEN = re.compile(r"[^\s`'\"()\[\]{}<>|*,;=&~!?]+")
_FLAG = re.compile(r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z]\d|\w\.\w")
_WORD = re.compile(r"[a-z]{4,}")

_MIN_LENGTH = 5
_MAX_SECTION_SHARE = 0.02  # a word in more sections is not specific
_RAREST_WORD_COUNT = 6  # of a section's rarest words; two of them are drawn
_SEPARATOR = "\n\0\n"


class KnownItem(NamedTuple):
    """A query, and the chunk id of its section of origin."""

    query: str
    section: str


def draw_identifiers(section_texts: Sequence[SectionText], count: int) -> list[KnownItem]:
    """Draw identifiers that occur in one section only, as whole tokens in any letter case.

    At most one identifier is drawn from a section. Raises CorpusTooSmall if there are fewer than `count`.
    """
    token_index = _TokenIndex(section_texts)
    order = list(range(len(section_texts)))
    rng = random.Random(SEED)
    rng.shuffle(order)
    items: list[KnownItem] = []
    for number in order:
        names = sorted(find_identifiers(section_texts[number]))
        rng.shuffle(names)
        name = next((name for name in names if token_index.find_sections(name) == {number}), None)
        if name is not None:
            items.append(KnownItem(name, section_texts[number].id))
        if len(items) == count:
            return items
    raise CorpusTooSmall(f"only {len(items)} sections have an identifier that no other section has")


def find_identifiers(text: SectionText) -> set[str]:
    """Return the visible code tokens of a section: CamelCase, snake_case, with digits, dotted, --flags."""
    visible_text = _INVISIBLE.sub(" ", f"{text.title}\n{text.body}")
    tokens = {token.strip(".:/\\") for token in _TOKEN.findall(visible_text)}
    return {token for token in tokens if len(token) >= _MIN_LENGTH and _is_identifier(token)}


def _is_identifier(token: str) -> bool:
    if token.startswith("-"):
        return _FLAG.fullmatch(token) is not None
    return _NAME.fullmatch(token) is not None and _CODE.search(token) is not None


class _TokenIndex:
    """The occurrences of tokens in a corpus, including invisible text."""

    def __init__(self, section_texts: Sequence[SectionText]) -> None:
        lowercase_texts = [f"{text.title}\n{text.body}".lower() for text in section_texts]
        self._joined_texts = _SEPARATOR.join(lowercase_texts)
        self._ends = list(accumulate(len(text) + len(_SEPARATOR) for text in lowercase_texts))

    def find_sections(self, token: str) -> set[int]:
        """Return the numbers of at most three sections with this token; callers only check uniqueness."""
        token, numbers = token.lower(), set[int]()
        start = self._joined_texts.find(token)
        while start != -1 and len(numbers) < 3:
            end = start + len(token)
            if not _is_word_character(self._joined_texts[start - 1 : start]) and not _is_word_character(
                self._joined_texts[end : end + 1]
            ):
                numbers.add(bisect_right(self._ends, start))
            start = self._joined_texts.find(token, end)
        return numbers


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def draw_remembered_words(section_texts: Sequence[SectionText], count: int) -> list[KnownItem]:
    """Draw queries of up to three words of a heading, two rarer words of its text, and a foreign word.

    Words of many headings ("example") are omitted, because users would not search for them. The foreign word
    is taken from another section. Raises CorpusTooSmall if too few sections have such words.
    """
    headings = [_extract_words(text.title) for text in section_texts]
    bodies = [_extract_words(text.body) for text in section_texts]
    heading_counts = Counter(word for words in headings for word in set(words))
    body_counts = Counter(word for words in bodies for word in set(words))
    max_sections = max(2, len(section_texts) * _MAX_SECTION_SHARE)
    rng = random.Random(SEED)
    items: dict[str, KnownItem] = {}
    for _ in range(count * 100 if section_texts else 0):
        number, other_number = rng.randrange(len(section_texts)), rng.randrange(len(section_texts))
        heading_words = [
            word for word in dict.fromkeys(headings[number]) if heading_counts[word] <= max_sections
        ][:3]
        # A word of a single section would find this section alone.
        rare_words = {word for word in bodies[number] if 2 <= body_counts[word] <= max_sections}.difference(
            heading_words
        )
        rarest_words = sorted(rare_words, key=lambda word: (body_counts[word], word))[:_RAREST_WORD_COUNT]
        foreign_words = sorted(set(bodies[other_number]).difference(bodies[number], headings[number]))
        if heading_words and len(rarest_words) == _RAREST_WORD_COUNT and foreign_words:
            query = [*heading_words, *rng.sample(rarest_words, 2), rng.choice(foreign_words)]
            rng.shuffle(query)
            items[section_texts[number].id] = KnownItem(" ".join(query), section_texts[number].id)
        if len(items) == count:
            return list(items.values())
    raise CorpusTooSmall("the folder has too little text to draw remembered words from")


def _extract_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_INVISIBLE.sub(" ", text).lower()) if word not in STOP_WORDS]


def measure(repository: str, items: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, Any]:
    """Return, by kind, how often a section or its document was the first hit, and the mean of 1 / rank.

    The results include the items whose section was not the first hit.
    """
    index = SearchIndex(Workspace.open(Path(repository), read_only=True))
    try:
        return {
            kind: measure_items(
                lambda item: [hit.chunk_id for hit in index.search(item.query, limit=CHECKED_HIT_COUNT).hits],
                [KnownItem(*fields) for fields in group],
            )
            for kind, group in items.items()
        }
    finally:
        index.close()


def measure_items(search: Callable[[KnownItem], Sequence[str]], items: Sequence[KnownItem]) -> dict[str, Any]:
    """Return how often the section or the document of an item was the first hit, and the mean of 1 / rank.

    `search` returns the chunk ids of the best hits.
    """
    chunk_lists = [search(item) for item in items]
    ranks = [_find_rank(chunks, item.section) for chunks, item in zip(chunk_lists, items, strict=True)]
    first_chunks = [chunks[0] if chunks else "" for chunks in chunk_lists]
    document_first_flags = [
        _extract_path(first_chunk) == _extract_path(item.section)
        for first_chunk, item in zip(first_chunks, items, strict=True)
    ]
    misses = [
        {"query": item.query, "section": item.section, "first": first_chunk, "rank": rank}
        for item, first_chunk, rank in zip(items, first_chunks, ranks, strict=True)
        if rank != 1
    ]
    return {
        "query_count": len(items),
        "first": ranks.count(1),
        "page_first": sum(document_first_flags),
        "mrr": sum(1 / rank for rank in ranks if rank) / len(items),
        "misses": misses,
    }


def _find_rank(chunks: Sequence[str], section: str) -> int:
    return chunks.index(section) + 1 if section in chunks else 0


def _extract_path(chunk: str) -> str:
    return chunk.rpartition("#")[0]


def draw_items(
    section_texts: Sequence[SectionText], count: int = ITEMS_PER_KIND
) -> dict[str, list[KnownItem]]:
    """Return the items for `measure`, by kind. Raises CorpusTooSmall."""
    return {
        "identifiers": draw_identifiers(section_texts, count),
        "remembered_words": draw_remembered_words(section_texts, count),
    }


def measure_folder(folder: Path, count: int) -> dict[str, Any]:
    """Draw items from a folder of Markdown and measure them in a temporary folder. Raises CorpusTooSmall.

    The environment variables of `make_child_environment` are set in this process.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-known-items-") as temporary:
        home = Path(temporary)
        corpus = Corpus.read(folder)
        items = draw_items(list(corpus.read_section_texts()), count)
        make_repository(corpus, home / "repository")
        os.environ.update(make_child_environment(home))
        return measure(str(home / "repository"), items)


def main() -> int:
    """Print how often the section of origin was the first hit; return 2 if the corpus is too small."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search.known_items",
        description="Measure how often Docyard finds the section of origin of a query.",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument("--count", type=int, default=ITEMS_PER_KIND, help="number of queries of each kind")
    parser.add_argument(
        "--misses", action="store_true", help="list the items whose section was not the first hit"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    arguments = parser.parse_args()
    try:
        results = measure_folder(arguments.folder, arguments.count)
    except CorpusTooSmall as error:
        print(error, file=sys.stderr)
        return 2
    columns = ["", "queries", "section first", "document first", f"mrr@{CHECKED_HIT_COUNT}"]
    print(format_table(columns, [_format_cells(kind, result) for kind, result in results.items()]))
    if arguments.misses:
        for kind, result in results.items():
            misses = [
                [miss["query"], miss["section"], miss["first"] or "nothing"] for miss in result["misses"]
            ]
            print("\n" + format_table([kind, "drawn from", "found first"], misses))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


def _format_cells(kind: str, result: Mapping[str, Any]) -> list[str]:
    counts = [str(result[name]) for name in ("query_count", "first", "page_first")]
    return [kind, *counts, f"{result['mrr']:.3f}"]


if __name__ == "__main__":
    sys.exit(main())
