"""Checks summaries of long documents over a folder of real Markdown.

    python -m benchmarks.checks.summaries FOLDER --documents 50 [--out SUMMARIES]

Selects documents of over 10,000 tokens, spread over the folder. If too few are that long, further ones are
joined from several of one folder, in order, each a section with its headings one level down. Checks that

budget    the summary stays within its budget
named     the summary has the address of every section, and read_section finds the section by it
verbatim  every line of the summary occurs in the document, except markup
score     completeness_score equals an independent count from the summary

Prints the mean score and reduction, and the first disagreements; the exit code is 1 if there are any. A
document whose addresses alone exceed the largest budget (20,000 tokens) is reported and skipped.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import NamedTuple

from benchmarks.corpus import find_markdown_files
from workspace.document.document import Document
from workspace.texts.finder import find_entry
from workspace.texts.headings import TextOutline
from workspace.texts.outline import read_outline
from workspace.texts.summaries.summary import MAX_BUDGET, Summary, summarize
from workspace.texts.text_file import TextFile, TextKind
from workspace.texts.tokens import count_tokens, get_tokenizer

LONG = 10_000
SHOWN = 20

_HEADING = re.compile(r"#{1,6}(?: (?P<title>.*))? `(?P<address>[^`]+)`")
_WORD = re.compile(r"\w+")
_SHORTCODE = re.compile(r"\{\{[<%]([^{}]*)[>%]\}\}")
_TEXT = re.compile(r'text="([^"]*)"')
# Other invisible parts of the rendered text.
_TARGET = re.compile(
    r"(?<=\])(?:\([^()]*\)|\[[^\]]*\])|</?[a-z][^<>]*>|<!--.*?-->|!\[[^\]\n]*\]|^[ \t>]+",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


class Case(NamedTuple):
    """A long document: its name, text and outline."""

    name: str
    text: TextFile
    outline: TextOutline


def long_documents(root: Path, number: int) -> list[Case]:
    """Return `number` documents of over 10,000 tokens, spread over a folder, joined if necessary."""
    paths = find_markdown_files(root)
    found = [path for path in paths if path.stat().st_size > LONG]
    cases = [case for path in found if (case := _case(path.relative_to(root).as_posix(), path.read_bytes()))]
    if len(cases) < number:
        cases += list(_joined(root, paths, {case.name for case in cases}, number - len(cases)))
    if len(cases) <= number:
        return cases
    return [cases[round(place * (len(cases) - 1) / max(number - 1, 1))] for place in range(number)]


def _case(name: str, data: bytes) -> Case | None:
    """Return a document as a case; None if it is too short, or its addresses exceed any budget."""
    if len(data) < 2 * LONG or count_tokens(data.decode("utf-8", "replace")) <= LONG:
        return None
    text = TextFile(name, "", data, TextKind.MARKDOWN)
    outline = read_outline(text)
    if sum(count_tokens(f"# `{entry.address}`\n") for entry in outline.entries) > MAX_BUDGET:
        print(f"skipped: the addresses of {name} alone exceed {MAX_BUDGET:,} tokens")
        return None
    return Case(name, text, outline)


def _joined(root: Path, paths: Sequence[Path], used: set[str], number: int) -> Iterator[Case]:
    """Yield long documents joined from several of one folder, in order."""
    parts: list[bytes] = []
    folder: Path | None = None
    for path in paths:
        name = path.relative_to(root).as_posix()
        if number <= 0:
            return
        if name in used:
            continue
        if path.parent != folder:
            parts, folder = [], path.parent
        parts.append(_one_level_down(Document.parse(path.read_bytes(), name)))
        if case := _case(f"{name} and before", b"# Joined\n\n" + b"\n\n".join(parts)):
            yield case
            parts, number = [], number - 1


def _one_level_down(document: Document) -> bytes:
    """Return the body of a document with its headings one level deeper, except H6."""
    pieces, place = [], document.front_matter_end
    for section in document.sections:
        heading = document.data[section.heading_start : section.heading_start + 6]
        if section.has_heading and heading.startswith(b"#") and not heading.startswith(b"######"):
            pieces += [document.data[place : section.heading_start], b"#"]
            place = section.heading_start
    return b"".join((*pieces, document.data[place:]))


def problems(case: Case, summary: Summary) -> Iterator[str]:
    """Yield the problems of a summary."""
    if (tokens := count_tokens(summary.content)) > summary.budget:
        yield f"{tokens} tokens, over {summary.budget}"
    lines = summary.content.splitlines()
    named = [found["address"] for line in lines if (found := _HEADING.fullmatch(line))]
    expected = [entry.address for entry in case.outline.entries]
    if named != expected:
        yield f"names {len(set(named) & set(expected))} of {len(expected)} sections"
    for address in named:
        if find_entry(case.text, case.outline, address).address != address:
            yield f"'{address}' resolves to another section"
    source = case.text.text()
    texts = [f" {_words(source)} ", f" {_words(_as_rendered(source))} "]
    for line in lines:
        if line.startswith("- ") and not _occurs(line.removesuffix(" …"), texts):
            yield f"a line is not of the document: {line[:80]!r}"
    if (score := recount(summary.content, case.text.text())) != summary.completeness:
        yield f"completeness_score is {summary.completeness}, and {score} by a recount"


def _occurs(line: str, texts: Sequence[str]) -> bool:
    """Return True if a line's words are consecutive in the source, or in its visible text."""
    words = (_words(line), _words(_as_rendered(line)))
    return any(f" {found} " in text for found, text in zip(words, texts, strict=True))


def _as_rendered(source: str) -> str:
    """Return a source without link targets, tags and comments, and with the text of Hugo shortcodes."""
    return _TARGET.sub(" ", _SHORTCODE.sub(lambda found: " ".join(_TEXT.findall(found[1])), source))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def recount(content: str, original: str) -> float:
    """Return the score by its definition: the tokens of lines and titles, divided by the original's."""
    counted = 0
    for line in content.splitlines():
        if found := _HEADING.fullmatch(line):
            words = found["title"] or ""
        elif line.startswith("- "):
            words = line[2:]
        else:
            continue
        counted += count_tokens(words[:-2] if words.endswith(" …") else words)
    return round(min(1.0, counted / count_tokens(original)), 4)


def main() -> int:
    """Run the check on a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--out", type=Path, help="a folder for the summaries")
    options = parser.parse_args()
    scores, reductions, wrong, seconds, size = [], [], [], 0.0, 0
    cases = long_documents(options.folder, options.documents)
    for number, case in enumerate(cases, 1):
        start = perf_counter()
        summary = summarize(case.text, case.outline, count=count_tokens)
        seconds += perf_counter() - start
        size += len(case.text.data)
        wrong += [f"{case.name}: {problem}" for problem in problems(case, summary)]
        scores.append(summary.completeness)
        reductions.append(summary.original_tokens / summary.tokens)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{number:02}.md").write_text(summary.content, encoding="utf-8")
    print(f"{len(cases)} documents, {len(wrong)} disagreements, tokens by {get_tokenizer()}")
    if cases:
        print(f"mean score {fmean(scores):.3f}, mean reduction {fmean(reductions):.1f}")
        print(f"{size / seconds / 1e6:.1f} MB/s")
    for problem in wrong[:SHOWN]:
        print(problem)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
