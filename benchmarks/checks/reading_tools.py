"""Check outlines and sections of the reading tools, and the estimate of tokens, over real Markdown.

    python -m benchmarks.checks.reading_tools FOLDER

headings   the outline has the headings that markdown-it-py's own full CommonMark parse finds outside lists
           and quotations, with equal text, level and line
sections   each heading is found by its address; the bytes of each section but the title's are the lines from
           its heading, or the HTML anchors above, to the next heading that is not below it
tokens     the error of the estimate against the tokenizers o200k_base and cl100k_base

The exit code is 1 after a difference, or if fewer than 95 % of the documents are estimated within 20 % of the
count of one of the tokenizers.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin
from rs_bpe.bpe import openai

from benchmarks.corpus import find_markdown_files
from workspace.texts.finder import find_entry
from workspace.texts.headings import OutlineEntry, TextOutline
from workspace.texts.outline import read_outline
from workspace.texts.text_file import TextFile, TextKind
from workspace.texts.tokens import estimate_tokens

MAX_PRINTED_PROBLEMS = 20
MAX_RELATIVE_ERROR = 0.20
MIN_SHARE_WITHIN_LIMIT = 0.95

_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")
_ANCHOR_LINE = re.compile(rb"[ \t]*(?:<a [^<>]*>[ \t]*(?:</a>)?[ \t]*)+(?:\r\n?|\n)?", re.IGNORECASE)
_ANCHOR = re.compile(r"[ \t]*(?:\{#[^{}]*\}|<#[^<>]*>)[ \t]*$")


class ParsedHeading(NamedTuple):
    """A heading of markdown-it-py. Lines count from 0.

    `first_line` is the line of the first HTML anchor above the heading, or of the heading without anchors.
    """

    line: int
    level: int
    text: str
    first_line: int


@cache
def _make_reference_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").use(front_matter_plugin)


def parse_headings(data: bytes) -> list[ParsedHeading]:
    """Return the headings outside lists and quotations, parsed by markdown-it-py alone."""
    lines = _LINE.findall(data)
    tokens = _make_reference_parser().parse(data.decode("utf-8-sig", "replace"))
    headings: list[ParsedHeading] = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            line = token.map[0]
            words = " ".join(_ANCHOR.sub("", _to_plain_text(inline.children or ())).split())
            headings.append(ParsedHeading(line, int(token.tag[1]), words, _find_first_line(lines, line)))
    return headings


def _to_plain_text(tokens: Sequence[Token]) -> str:
    """Return the text of rendered Markdown without images, as in the slugs of GitHub."""
    pieces = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            pieces.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
    return "".join(pieces)


def _find_first_line(lines: Sequence[bytes], line: int) -> int:
    """Return the first line of HTML anchors above a heading. A blank line may follow the anchors."""
    line_above = line - 1
    if line_above >= 0 and not lines[line_above].strip():
        line_above -= 1
    first = line
    while line_above >= 0 and _ANCHOR_LINE.fullmatch(lines[line_above]):
        first, line_above = line_above, line_above - 1
    return first


def find_differences(path: str, data: bytes) -> Iterator[str]:
    """Yield the differences of an outline and its sections from the headings of markdown-it-py."""
    text = TextFile(path, "", data, TextKind.MARKDOWN)
    outline = read_outline(text)
    headings = parse_headings(data)
    entries = _list_entries_with_heading(text, outline)
    actual = [(entry.line - 1, entry.level or 1, " ".join(entry.title.split())) for entry in entries]
    expected = [(heading.line, heading.level, heading.text) for heading in headings]
    if actual != expected:
        first_difference = next(
            (pair for pair in zip(actual, expected, strict=False) if pair[0] != pair[1]), None
        )
        yield f"{path}: headings: {first_difference or f'{len(actual)} instead of {len(expected)}'}"
        return
    lines = _LINE.findall(data)
    for number, entry in enumerate(entries):
        if find_entry(text, outline, entry.address) != entry:
            yield f"{path}: {entry.address} is not found by its address"
        if not entry.level:
            continue
        later_headings = headings[number + 1 :]
        end = next(
            (item.first_line for item in later_headings if _ends_section(item, entry.level, text)), len(lines)
        )
        expected_bytes = b"".join(lines[headings[number].first_line : end])
        if data[entry.tree_range] != expected_bytes:
            yield f"{path}: {entry.address}: different bytes"


def _ends_section(heading: ParsedHeading, level: int, text: TextFile) -> bool:
    """Return True if a heading ends a section of a level: the document's title, or a heading not deeper."""
    preamble = text.document.preamble if text.document else None
    return heading.level <= level or (preamble is not None and preamble.line == heading.line + 1)


def _list_entries_with_heading(text: TextFile, outline: TextOutline) -> list[OutlineEntry]:
    document = text.document
    if document is None or not document.sections:
        return []
    return [outline.entries[section.position] for section in document.sections if section.has_heading]


class EstimateErrors(NamedTuple):
    """The relative errors of the estimates of texts, in ascending order, and the error of their total."""

    relative_errors: list[float]
    total_error: float

    @property
    def share_within_limit(self) -> float:
        """Return the share of texts that are estimated within 20 %."""
        return sum(abs(error) <= MAX_RELATIVE_ERROR for error in self.relative_errors) / max(
            1, len(self.relative_errors)
        )

    def find_percentile(self, percent: float) -> float:
        """Return the signed error that the given percentage of the texts does not exceed."""
        return self.relative_errors[
            min(len(self.relative_errors) - 1, int(len(self.relative_errors) * percent / 100))
        ]


def measure_errors(texts: Sequence[str], count_tokens: Callable[[str], int]) -> EstimateErrors:
    """Compare the estimates of texts with a tokenizer's counts."""
    pairs = [(estimate_tokens(text), count_tokens(text)) for text in texts]
    relative_errors = sorted(
        (estimate - actual_tokens) / max(1, actual_tokens) for estimate, actual_tokens in pairs
    )
    estimated, actual = (sum(values) for values in zip(*pairs, strict=True))
    return EstimateErrors(relative_errors, estimated / max(1, actual) - 1)


def main() -> int:
    """Check, measure and print; return 1 if a check failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in find_markdown_files(folder)}
    if not files:
        parser.error("the folder has no Markdown")
    differences = [difference for path, data in files.items() for difference in find_differences(path, data)]
    print(f"{len(files):,} documents have {len(differences):,} differences of headings and sections")
    print("\n".join(differences[:MAX_PRINTED_PROBLEMS]))
    document_texts = [data.decode("utf-8", "replace") for data in files.values()]
    is_limit_met = True
    for name, tokenizer in (("o200k_base", openai.o200k_base()), ("cl100k_base", openai.cl100k_base())):
        errors = measure_errors(document_texts, tokenizer.count)
        is_limit_met = is_limit_met and errors.share_within_limit >= MIN_SHARE_WITHIN_LIMIT
        errors_by_percentile = "  ".join(
            f"{percent} %: {errors.find_percentile(percent):+.1%}" for percent in (1, 5, 25, 50, 75, 95, 99)
        )
        share = errors.share_within_limit
        print(f"{name}: {share:.1%} of the documents are estimated within 20 %")
        print(f"    error of the total of all documents: {errors.total_error:+.1%}")
        print(f"    percentiles of the error: {errors_by_percentile}")
        print(f"    largest error: {max(map(abs, errors.relative_errors)):.1%}")
    start = time.perf_counter()
    for text in document_texts:
        estimate_tokens(text)
    speed = sum(map(len, files.values())) / (time.perf_counter() - start) / 1e6
    print(f"tokens were estimated at {speed:.0f} MB/s")
    return 0 if is_limit_met and not differences else 1


if __name__ == "__main__":
    raise SystemExit(main())
