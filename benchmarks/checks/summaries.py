"""Check summaries of long documents over a folder of real Markdown.

    python -m benchmarks.checks.summaries FOLDER --documents 50 [--out SUMMARIES]

Documents of over 10,000 tokens and at least 20,000 bytes are selected evenly. If there are too few, several
documents of a folder are joined in order, each with its headings one level deeper (except H6 and underlined
headings). The checks:

budget    the summary stays within its budget
named     the summary has the address of every section, in order, and read_section finds each by its address
verbatim  the words of every list item of the summary are consecutive in the document, apart from markup
score     completeness_score equals an independent count from the summary

Prints the mean score, the mean reduction (tokens of the document divided by tokens of the summary), the
speed, and the first 20 problems; the exit code is 1 after a problem. A document whose addresses alone exceed
the largest budget (20,000 tokens) is reported and skipped.
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

MIN_TOKENS = 10_000
MAX_PRINTED_PROBLEMS = 20

_HEADING = re.compile(r"#{1,6}(?: (?P<title>.*))? `(?P<address>[^`]+)`")
_WORD = re.compile(r"\w+")
_SHORTCODE = re.compile(r"\{\{[<%]([^{}]*)[>%]\}\}")
_TEXT_ATTRIBUTE = re.compile(r'text="([^"]*)"')
# Invisible text: targets of links, tags, comments, images, indentation and block quote markers.
_INVISIBLE = re.compile(
    r"(?<=\])(?:\([^()]*\)|\[[^\]]*\])|</?[a-z][^<>]*>|<!--.*?-->|!\[[^\]\n]*\]|^[ \t>]+",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


class LongDocument(NamedTuple):
    """A long document: its name, text and outline."""

    name: str
    text: TextFile
    outline: TextOutline


def select_long_documents(root: Path, count: int) -> list[LongDocument]:
    """Return at most `count` documents of over 10,000 tokens, evenly selected, joined if necessary."""
    paths = find_markdown_files(root)
    candidates = [path for path in paths if path.stat().st_size > MIN_TOKENS]
    long_documents = [
        long_document
        for path in candidates
        if (long_document := _make_long_document(path.relative_to(root).as_posix(), path.read_bytes()))
    ]
    if len(long_documents) < count:
        long_documents += list(
            _join_documents(
                root,
                paths,
                {long_document.name for long_document in long_documents},
                count - len(long_documents),
            )
        )
    if len(long_documents) <= count:
        return long_documents
    return [
        long_documents[round(index * (len(long_documents) - 1) / max(count - 1, 1))] for index in range(count)
    ]


def _make_long_document(name: str, data: bytes) -> LongDocument | None:
    """Return a long document; None if the text is too short, or the addresses exceed the largest budget."""
    if len(data) < 2 * MIN_TOKENS or count_tokens(data.decode("utf-8", "replace")) <= MIN_TOKENS:
        return None
    text = TextFile(name, "", data, TextKind.MARKDOWN)
    outline = read_outline(text)
    if sum(count_tokens(f"# `{entry.address}`\n") for entry in outline.entries) > MAX_BUDGET:
        print(f"skipped: the addresses of {name} alone exceed {MAX_BUDGET:,} tokens")
        return None
    return LongDocument(name, text, outline)


def _join_documents(
    root: Path, paths: Sequence[Path], used_names: set[str], count: int
) -> Iterator[LongDocument]:
    """Yield long documents joined from several documents of a folder, in order."""
    parts: list[bytes] = []
    folder: Path | None = None
    for path in paths:
        name = path.relative_to(root).as_posix()
        if count <= 0:
            return
        if name in used_names:
            continue
        if path.parent != folder:
            parts, folder = [], path.parent
        parts.append(_shift_headings_down(Document.parse(path.read_bytes(), name)))
        if long_document := _make_long_document(
            f"{name} and earlier documents", b"# Joined\n\n" + b"\n\n".join(parts)
        ):
            yield long_document
            parts, count = [], count - 1


def _shift_headings_down(document: Document) -> bytes:
    """Return the body of a document with its headings one level deeper, except H6 and underlined headings."""
    parts, position = [], document.front_matter_end
    for section in document.sections:
        heading = document.data[section.heading_start : section.heading_start + 6]
        if section.has_heading and heading.startswith(b"#") and not heading.startswith(b"######"):
            parts += [document.data[position : section.heading_start], b"#"]
            position = section.heading_start
    return b"".join((*parts, document.data[position:]))


def find_problems(long_document: LongDocument, summary: Summary) -> Iterator[str]:
    """Yield a message for each problem of a summary."""
    if (tokens := count_tokens(summary.content)) > summary.budget:
        yield f"the summary has {tokens:,} tokens, over its budget of {summary.budget:,}"
    lines = summary.content.splitlines()
    addresses = [match["address"] for line in lines if (match := _HEADING.fullmatch(line))]
    expected = [entry.address for entry in long_document.outline.entries]
    if addresses != expected:
        found_count = len(set(addresses) & set(expected))
        yield f"the addresses differ from the outline; {found_count} of {len(expected)} are present"
    for address in addresses:
        if find_entry(long_document.text, long_document.outline, address).address != address:
            yield f"the address {address!r} resolves to another section"
    source = long_document.text.text()
    normalized_texts = [f" {_normalize_words(source)} ", f" {_normalize_words(_to_visible_text(source))} "]
    for line in lines:
        if line.startswith("- ") and not _occurs(line.removesuffix(" …"), normalized_texts):
            yield f"a list item is not in the document: {line[:80]!r}"
    if (score := recompute_score(summary.content, long_document.text.text())) != summary.completeness:
        yield f"completeness_score is {summary.completeness}, but the check computes {score}"


def _occurs(line: str, normalized_texts: Sequence[str]) -> bool:
    """Return True if a line's words are consecutive in the source, or its visible words in the visible text.

    `normalized_texts` are the words of the source and of its visible text.
    """
    words = (_normalize_words(line), _normalize_words(_to_visible_text(line)))
    return any(f" {line_words} " in text for line_words, text in zip(words, normalized_texts, strict=True))


def _to_visible_text(source: str) -> str:
    """Return a source without link targets, tags and comments, and with the text of Hugo shortcodes."""
    return _INVISIBLE.sub(
        " ", _SHORTCODE.sub(lambda match: " ".join(_TEXT_ATTRIBUTE.findall(match[1])), source)
    )


def _normalize_words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def recompute_score(content: str, original: str) -> float:
    """Return the completeness score, at most 1.

    It is the tokens of the list items and titles of a summary divided by the tokens of the original.
    """
    token_count = 0
    for line in content.splitlines():
        if match := _HEADING.fullmatch(line):
            words = match["title"] or ""
        elif line.startswith("- "):
            words = line[2:]
        else:
            continue
        token_count += count_tokens(words[:-2] if words.endswith(" …") else words)
    return round(min(1.0, token_count / count_tokens(original)), 4)


def main() -> int:
    """Run the check on a folder; return 1 after a problem."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--out", type=Path, help="a folder for the summaries")
    options = parser.parse_args()
    scores, reductions, problems, elapsed, byte_count = [], [], [], 0.0, 0
    long_documents = select_long_documents(options.folder, options.documents)
    for number, long_document in enumerate(long_documents, 1):
        start = perf_counter()
        summary = summarize(long_document.text, long_document.outline, count_tokens=count_tokens)
        elapsed += perf_counter() - start
        byte_count += len(long_document.text.data)
        problems += [f"{long_document.name}: {problem}" for problem in find_problems(long_document, summary)]
        scores.append(summary.completeness)
        reductions.append(summary.original_tokens / summary.tokens)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{number:02}.md").write_text(summary.content, encoding="utf-8")
    print(f"{len(long_documents)} documents, {len(problems)} problems, tokens counted by {get_tokenizer()}")
    if long_documents:
        print(f"mean score {fmean(scores):.3f}, mean reduction {fmean(reductions):.1f}")
        print(f"documents were summarized at {byte_count / elapsed / 1e6:.1f} MB/s")
    for problem in problems[:MAX_PRINTED_PROBLEMS]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
