"""Checks summaries of long documents over a folder of real Markdown.

    python -m benchmarks.checks.summaries FOLDER --documents 50 [--out SUMMARIES]

Takes documents of over 10,000 tokens, spread over the folder; where too few are that long, further ones are
joined from several of one folder, in order, each a section with its headings one level down. Checks that

budget    the summary stays within its budget
named     the summary has the address of every section, and read_section's way of finding takes it to there
verbatim  every line that is kept stands in the document, markup aside
score     completeness_score is what code written for this check alone counts from the summary

Prints the mean score and reduction, and the first disagreements; the exit code is 1 if there are any. A
document whose addresses alone pass the largest budget there is (20,000 tokens) is told of, and not taken.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import NamedTuple

from benchmarks.corpus import markdown_files
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
# What else a reader of the rendered text does not see.
_TARGET = re.compile(
    r"(?<=\])(?:\([^()]*\)|\[[^\]]*\])|</?[a-z][^<>]*>|<!--.*?-->|!\[[^\]\n]*\]|^[ \t>]+",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


class Case(NamedTuple):
    """A long document: what it is called, and what it says."""

    name: str
    text: TextFile
    outline: TextOutline


def long_documents(root: Path, number: int) -> list[Case]:
    """So many documents of over 10,000 tokens, spread over those that a folder has, or gives joined."""
    paths = markdown_files(root)
    found = [path for path in paths if path.stat().st_size > LONG]
    cases = [case for path in found if (case := _case(path.relative_to(root).as_posix(), path.read_bytes()))]
    if len(cases) < number:
        cases += list(_joined(root, paths, {case.name for case in cases}, number - len(cases)))
    if len(cases) <= number:
        return cases
    return [cases[round(place * (len(cases) - 1) / max(number - 1, 1))] for place in range(number)]


def _case(name: str, data: bytes) -> Case | None:
    """Return a document as a case; None if it is too short, or has more addresses than any budget takes."""
    if len(data) < 2 * LONG or count_tokens(data.decode("utf-8", "replace")) <= LONG:
        return None
    text = TextFile(name, "", data, TextKind.MARKDOWN)
    outline = read_outline(text)
    if sum(count_tokens(f"# `{entry.address}`\n") for entry in outline.entries) > MAX_BUDGET:
        print(f"not taken: the addresses of {name} alone pass {MAX_BUDGET:,} tokens")
        return None
    return Case(name, text, outline)


def _joined(root: Path, paths: Sequence[Path], taken: set[str], number: int) -> Iterator[Case]:
    """Yield documents made of several of one folder, in order, each as long as it must be."""
    parts: list[bytes] = []
    folder: Path | None = None
    for path in paths:
        name = path.relative_to(root).as_posix()
        if number <= 0:
            return
        if name in taken:
            continue
        if path.parent != folder:
            parts, folder = [], path.parent
        parts.append(_one_level_down(Document.parse(path.read_bytes(), name)))
        if case := _case(f"{name} and before", b"# Joined\n\n" + b"\n\n".join(parts)):
            yield case
            parts, number = [], number - 1


def _one_level_down(document: Document) -> bytes:
    """The body of a document with its headings one level deeper, as far as there is one; H1 becomes H2."""
    pieces, place = [], document.front_matter_end
    for section in document.sections:
        heading = document.data[section.heading_start : section.heading_start + 6]
        if section.has_heading and heading.startswith(b"#") and not heading.startswith(b"######"):
            pieces += [document.data[place : section.heading_start], b"#"]
            place = section.heading_start
    return b"".join((*pieces, document.data[place:]))


def problems(case: Case, summary: Summary) -> Iterator[str]:
    """Yield what is wrong with a summary."""
    if (tokens := count_tokens(summary.content)) > summary.budget:
        yield f"{tokens} tokens, over {summary.budget}"
    lines = summary.content.splitlines()
    named = [found["address"] for line in lines if (found := _HEADING.fullmatch(line))]
    expected = [entry.address for entry in case.outline.entries]
    if named != expected:
        yield f"names {len(set(named) & set(expected))} of {len(expected)} sections"
    for address in named:
        if find_entry(case.text, case.outline, address).address != address:
            yield f"'{address}' is taken to another section"
    source = case.text.text()
    texts = [f" {_words(source)} ", f" {_words(_as_rendered(source))} "]
    for line in lines:
        if line.startswith("- ") and not _stands(line.removesuffix(" …"), texts):
            yield f"a line is not of the document: {line[:80]!r}"
    if (score := recount(summary.content, case.text.text())) != summary.completeness:
        yield f"completeness_score is {summary.completeness}, and {score} by a recount"


def _stands(line: str, texts: Sequence[str]) -> bool:
    """Whether a line's words follow one another in the source, or in it without what no reader sees."""
    words = (_words(line), _words(_as_rendered(line)))
    return any(f" {found} " in text for found, text in zip(words, texts, strict=True))


def _as_rendered(source: str) -> str:
    """A source without targets of links, tags and comments; of a shortcode of Hugo the text that it shows."""
    return _TARGET.sub(" ", _SHORTCODE.sub(lambda found: " ".join(_TEXT.findall(found[1])), source))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def recount(content: str, original: str) -> float:
    """Return the score by its definition: tokens of kept lines and named titles, of those of the original."""
    kept = 0
    for line in content.splitlines():
        if found := _HEADING.fullmatch(line):
            words = found["title"] or ""
        elif line.startswith("- "):
            words = line[2:]
        else:
            continue
        kept += count_tokens(words[:-2] if words.endswith(" …") else words)
    return round(min(1.0, kept / count_tokens(original)), 4)


def main() -> int:
    """Run the check on a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--out", type=Path, help="a folder for the summaries")
    asked = parser.parse_args()
    scores, reductions, wrong, seconds, size = [], [], [], 0.0, 0
    cases = long_documents(asked.folder, asked.documents)
    for number, case in enumerate(cases, 1):
        start = perf_counter()
        summary = summarize(case.text, case.outline, count=count_tokens)
        seconds += perf_counter() - start
        size += len(case.text.data)
        wrong += [f"{case.name}: {problem}" for problem in problems(case, summary)]
        scores.append(summary.completeness)
        reductions.append(summary.original_tokens / summary.tokens)
        if asked.out:
            asked.out.mkdir(parents=True, exist_ok=True)
            (asked.out / f"{number:02}.md").write_text(summary.content, encoding="utf-8")
    print(f"{len(cases)} documents, {len(wrong)} disagreements, tokens by {get_tokenizer()}")
    if cases:
        print(f"mean score {fmean(scores):.3f}, mean reduction {fmean(reductions):.1f}")
        print(f"{size / seconds / 1e6:.1f} MB/s")
    for problem in wrong[:SHOWN]:
        print(problem)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
