"""Known items: queries drawn from a corpus, each with the section that it was drawn from.

python -m benchmarks.search.known_items FOLDER [--count N] [--misses] [--json FILE]

Identifiers are code tokens that occur in exactly one section, which should be the first hit. Reminders are
words that a reader may remember of a section: words of its heading, two of its rarer words, and one word
that it does not have.
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
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.child import environment
from benchmarks.corpus import SEED, Corpus, Text, TooSmall, make_repository
from benchmarks.reports.report import table
from index.analysis import STOP_WORDS
from index.service import SearchIndex
from workspace.workspace import Workspace

COUNT = 100
LISTED = 10
"""The number of checked hits; a section beyond them counts as not found."""

# Invisible text is not drawn: comments, anchors, targets of links, bare URLs.
_UNSEEN = re.compile(
    r"<!--.*?-->|<[^<>\n]*>|\{#[^{}\n]*\}|\]\([^()\n]*\)|^ {0,3}\[[^\]\n]+\]:.*$|\w+://\S*",
    re.DOTALL | re.MULTILINE,
)
_CHUNK = re.compile(r"[^\s`'\"()\[\]{}<>|*,;=&~!?]+")
_FLAG = re.compile(r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Za-z]\d|\w\.\w")
_WORD = re.compile(r"[a-z]{4,}")

_SHORTEST = 5
_COMMON = 0.02  # a word in a larger share of the sections is not specific
_RAREST = 6  # two of so many rarest words are drawn
_SEPARATOR = "\n\0\n"


class Item(NamedTuple):
    """A query, and the chunk id of the section that it was drawn from."""

    query: str
    section: str


def draw_identifiers(texts: Sequence[Text], count: int) -> list[Item]:
    """Draw identifiers that occur in one section only, as whole tokens in any letter case.

    At most one is drawn from a section. Raises TooSmall if there are fewer.
    """
    places = _Places(texts)
    order = list(range(len(texts)))
    chance = random.Random(SEED)
    chance.shuffle(order)
    items: list[Item] = []
    for number in order:
        names = sorted(identifiers(texts[number]))
        chance.shuffle(names)
        name = next((name for name in names if places.sections_with(name) == {number}), None)
        if name is not None:
            items.append(Item(name, texts[number].id))
        if len(items) == count:
            return items
    raise TooSmall(f"only {len(items)} sections have an identifier of their own")


def identifiers(text: Text) -> set[str]:
    """Return the visible code tokens of a section: CamelCase, snake_case, with digits, dotted, --flags."""
    seen = _UNSEEN.sub(" ", f"{text.title}\n{text.body}")
    tokens = {token.strip(".:/\\") for token in _CHUNK.findall(seen)}
    return {token for token in tokens if len(token) >= _SHORTEST and _is_identifier(token)}


def _is_identifier(token: str) -> bool:
    if token.startswith("-"):
        return _FLAG.fullmatch(token) is not None
    return _NAME.fullmatch(token) is not None and _CODE.search(token) is not None


class _Places:
    """The occurrences of tokens in a corpus, hidden text included."""

    def __init__(self, texts: Sequence[Text]) -> None:
        parts = [f"{text.title}\n{text.body}".lower() for text in texts]
        self._all = _SEPARATOR.join(parts)
        self._ends = list(accumulate(len(part) + len(_SEPARATOR) for part in parts))

    def sections_with(self, token: str) -> set[int]:
        """Return the sections with a whole token, at most three, because only uniqueness matters."""
        token, found = token.lower(), set[int]()
        start = self._all.find(token)
        while start != -1 and len(found) < 3:
            end = start + len(token)
            if not _is_word(self._all[start - 1 : start]) and not _is_word(self._all[end : end + 1]):
                found.add(bisect_right(self._ends, start))
            start = self._all.find(token, end)
        return found


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def draw_reminders(texts: Sequence[Text], count: int) -> list[Item]:
    """Draw queries of up to three words of a heading, two rarer words below it, and one from elsewhere.

    Words of many headings ("example") are omitted, since users would not search for them. Raises TooSmall
    if hardly any section has such words.
    """
    headings = [_words(text.title) for text in texts]
    bodies = [_words(text.body) for text in texts]
    heads = Counter(word for words in headings for word in set(words))
    known = Counter(word for words in bodies for word in set(words))
    most = max(2, len(texts) * _COMMON)
    chance = random.Random(SEED)
    items: dict[str, Item] = {}
    for _ in range(count * 100 if texts else 0):
        number, other = chance.randrange(len(texts)), chance.randrange(len(texts))
        heading = [word for word in dict.fromkeys(headings[number]) if heads[word] <= most][:3]
        # A word of no other section would be found by itself.
        rare = {word for word in bodies[number] if 2 <= known[word] <= most}.difference(heading)
        rarest = sorted(rare, key=lambda word: (known[word], word))[:_RAREST]
        elsewhere = sorted(set(bodies[other]).difference(bodies[number], headings[number]))
        if heading and len(rarest) == _RAREST and elsewhere:
            query = [*heading, *chance.sample(rarest, 2), chance.choice(elsewhere)]
            chance.shuffle(query)
            items[texts[number].id] = Item(" ".join(query), texts[number].id)
        if len(items) == count:
            return list(items.values())
    raise TooSmall("there is too little text to draw reminders from")


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(_UNSEEN.sub(" ", text).lower()) if word not in STOP_WORDS]


def measure(repository: str, drawn: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, Any]:
    """Return for each kind of items how often section and document were first, and the mean of 1 / rank."""
    index = SearchIndex(Workspace.open(Path(repository), read_only=True))
    try:
        return {kind: _measured(index, [Item(*item) for item in items]) for kind, items in drawn.items()}
    finally:
        index.close()


def _measured(index: SearchIndex, items: Sequence[Item]) -> dict[str, Any]:
    found = [[hit.chunk_id for hit in index.search(item.query, limit=LISTED).hits] for item in items]
    ranks = [_rank(chunks, item.section) for chunks, item in zip(found, items, strict=True)]
    firsts = [chunks[0] if chunks else "" for chunks in found]
    pages = [_path(first) == _path(item.section) for first, item in zip(firsts, items, strict=True)]
    misses = [
        {"query": item.query, "section": item.section, "first": first, "rank": rank}
        for item, first, rank in zip(items, firsts, ranks, strict=True)
        if rank != 1
    ]
    return {
        "asked": len(items),
        "first": ranks.count(1),
        "page_first": sum(pages),
        "mrr": sum(1 / rank for rank in ranks if rank) / len(items),
        "misses": misses,
    }


def _rank(chunks: Sequence[str], section: str) -> int:
    return chunks.index(section) + 1 if section in chunks else 0


def _path(chunk: str) -> str:
    return chunk.rpartition("#")[0]


def draw(texts: Sequence[Text], count: int = COUNT) -> dict[str, list[Item]]:
    """Draw the items for `measure`, by kind."""
    return {"identifiers": draw_identifiers(texts, count), "reminders": draw_reminders(texts, count)}


def run(folder: Path, count: int) -> dict[str, Any]:
    """Draw items from a folder of Markdown and measure them in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="docyard-known-items-") as name:
        home = Path(name)
        corpus = Corpus.read(folder)
        drawn = draw(list(corpus.texts()), count)
        make_repository(corpus, home / "repository")
        os.environ.update(environment(home))
        return measure(str(home / "repository"), drawn)


def main() -> int:
    """Print how often the known section was found first; return 2 if nothing could be drawn."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search.known_items",
        description="Measure how often Docyard finds the section that a query was drawn from.",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument("--count", type=int, default=COUNT, help="number of queries of each kind")
    parser.add_argument("--misses", action="store_true", help="list items that were not found first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    arguments = parser.parse_args()
    try:
        results = run(arguments.folder, arguments.count)
    except TooSmall as error:
        print(error, file=sys.stderr)
        return 2
    columns = ["", "asked", "section first", "document first", f"mrr@{LISTED}"]
    print(table(columns, [_cells(kind, result) for kind, result in results.items()]))
    if arguments.misses:
        for kind, result in results.items():
            misses = [
                [miss["query"], miss["section"], miss["first"] or "nothing"] for miss in result["misses"]
            ]
            print("\n" + table([kind, "drawn from", "found first"], misses))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


def _cells(kind: str, result: Mapping[str, Any]) -> list[str]:
    counts = [str(result[name]) for name in ("asked", "first", "page_first")]
    return [kind, *counts, f"{result['mrr']:.3f}"]


if __name__ == "__main__":
    sys.exit(main())
