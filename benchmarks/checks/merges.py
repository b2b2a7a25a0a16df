"""Checks the merge of documents, over a folder of real Markdown.

    python -m benchmarks.checks.merges FOLDER [--pairs 2000] [--seed 1]

For each pair, two random scripts of operations are made for one document, which touch different units.
The checks:

equal       the merge equals the result of both scripts in either order, except the order of additions at
            one place; `exact` counts those that are equal byte for byte
lost        every word that a side added is in the merge or a conflict, and so is every word and every line
            of the base that no side removed
worse       the merge has readable front matter if both sides have, no new duplicate address, and the line
            endings of a side
sound       a merge with an unchanged side gives the other version, and swapping the sides changes at most
            the order of additions at one place
conflict    if both scripts change one unit differently, exactly this unit is in conflict

Prints how often each was checked and the first disagreements; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

from benchmarks.checks.findings import CheckReport
from benchmarks.checks.merge_scripts import Drawing, Refused, Step, apply_steps, are_apart
from benchmarks.corpus import Corpus
from docyard.terminal.console import show_progress
from workspace.document.document import Document
from workspace.markdown.blocks import parse_nested_blocks
from workspace.markdown.lines import BOM, LINE_END_BYTES
from workspace.merge.conflict import MergedDocument
from workspace.merge.documents import merge_documents

_WORD = re.compile(rb"[^\W_]+|[^\x00-\x7f]+")
_ANCHOR = re.compile(rb"\{#[^}\r\n]{1,200}\}")
_MOST_STEPS = 4


def tree(document: Document) -> dict[str, tuple[object, ...]]:
    """Return a document's sections by address: heading, level, parent, and the blocks as a set."""
    found: dict[str, tuple[object, ...]] = {}
    for section in document.sections:
        parent = None if section.parent is None else document.sections[section.parent].key
        text = document.data[section.body : section.end].strip(b"\r\n")
        # Fields that both sides add to a task are in either order.
        blocks = Counter(
            tuple(sorted(text[block.start : block.end].splitlines())) for block in parse_nested_blocks(text)
        )
        # New anchors have the form of most anchors of the document.
        heading = section.heading.text.title if section.heading else "", section.anchor
        found[section.key] = (heading, section.level, parent, frozenset(blocks.items()))
    return found


def orders(document: Document, known: set[str]) -> dict[str | None, list[str]]:
    """Return the order of the `known` subsections of each section."""
    return {
        section.key if section else None: [
            item.key for item in document.children(section) if item.key in known
        ]
        for section in (None, *document.sections)
    }


def difference(merged: Document, wanted: Document, still: set[str]) -> str | None:
    """Return a difference of two documents; only the order of the `still` (unmoved) sections counts."""
    if dict(merged.front_matter) != dict(wanted.front_matter):
        return "front matter"
    one, other = tree(merged), tree(wanted)
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            return f"{key}: {one.get(key)!r} instead of {other.get(key)!r}"
    return None if orders(merged, still) == orders(wanted, still) else "order"


def lost(base: Document, ours: Document, theirs: Document, merged: MergedDocument) -> str | None:
    """Return a word or line that is wrongly neither in the merge nor in a conflict."""
    base_words, our_words, their_words, merged_words = (
        _words(item.data) for item in (base, ours, theirs, merged)
    )
    in_conflicts = {
        word
        for conflict in merged.conflicts
        for text in (conflict.base, conflict.ours, conflict.theirs)
        for word in _WORD.findall((text or b"").removeprefix(BOM))
    }
    for word in [*(our_words - base_words), *(their_words - base_words)]:
        if word not in merged_words and word not in in_conflicts:
            return f"{word!r} is lost"
    for word, times in base_words.items():
        if min(our_words[word], their_words[word]) >= times > merged_words[word] and word not in in_conflicts:
            return f"{word!r} of the base is lost"
    lines, *others = (_lines(item.data) for item in (base, ours, theirs, merged))
    in_conflicts = {line for found in merged.conflicts for text in found[1:] for line in _lines(text or b"")}
    for line, times in lines.items():
        is_present = min(others[0][line], others[1][line]) < times or others[2][line] >= times
        # Each side may take away one rule, or one mark of front matter, and put another elsewhere.
        if not is_present and line not in in_conflicts and _WORD.search(line):
            return f"the line {line!r} of the base is lost"
    return None


def _words(data: bytes) -> Counter[bytes]:
    """Count words, without those of anchors, which a move or a new title repeats."""
    return Counter(_WORD.findall(_ANCHOR.sub(b"", data.removeprefix(BOM))))


def _lines(data: bytes) -> Counter[bytes]:
    """Count lines without the markers that a move may change."""
    return Counter(line.strip(b"# \t") for line in data.removeprefix(BOM).splitlines())


def worse(ours: Document, theirs: Document, data: bytes) -> str | None:
    """Return a problem of a merged document that neither side has."""
    merged = ours if data == ours.data else Document.parse(data, ours.path)
    sides = ours, theirs
    if merged.front_matter_error and not any(side.front_matter_error for side in sides):
        return "its front matter is invalid"
    shared = {name for name, times in Counter(item.address for item in merged.sections).items() if times > 1}
    known = [Counter(item.address for item in side.sections) for side in sides]
    duplicates = [name for name in shared if all(side[name] < 2 for side in known)]
    if duplicates:
        return f"two sections have the address {duplicates[0]!r}"
    endings, *sides_endings = ({*LINE_END_BYTES.findall(text)} for text in (data, ours.data, theirs.data))
    return "a line ending of neither side" if endings.difference(*sides_endings) else None


def check_pair(report: CheckReport, base: Document, one: list[Step], other: list[Step]) -> bool:
    """Check two scripts that touch different units; False if they cannot be made in both orders."""
    try:
        ours, theirs = apply_steps(base, one, base), apply_steps(base, other, base)
        wanted = [apply_steps(base, other, ours), apply_steps(base, one, theirs)]
    except Refused:
        return False
    merged = merge_documents(base, ours, theirs)
    where = f"{base.path} {[step.touches for step in one]} {[step.touches for step in other]}"
    if merged.conflicts:
        report.add("equal", f"{where}: conflicts {[conflict.unit for conflict in merged.conflicts]}")
    else:
        moved = {
            touch.unit.partition(" ")[2]
            for step in (*one, *other)
            for touch in step.touches
            if touch.unit.startswith("place ")
        }
        still = {section.key for section in base.sections} - moved
        is_exact = merged.data in [document.data for document in wanted]
        read = Document.parse(merged.data, base.path)
        found = [None] if is_exact else [difference(read, document, still) for document in wanted]
        report.add("equal", None if None in found else f"{where}: {found[0]}")
        report.tried["exact"] += is_exact
    problem = lost(base, ours, theirs, merged)
    report.add("lost", problem and f"{where}: {problem}")
    problem = worse(ours, theirs, merged.data)
    report.add("worse", problem and f"{where}: {problem}")
    swapped = merge_documents(base, theirs, ours)
    are_same = bool(merged.conflicts) == bool(swapped.conflicts) and (
        bool(merged.conflicts)
        or swapped.data == merged.data
        or difference(Document.parse(swapped.data), Document.parse(merged.data), set()) is None
    )
    report.add("sound", None if are_same else f"{where}: the other way round it is different")
    for side in (ours, theirs):
        same = {
            merge_documents(base, base, side).data,
            merge_documents(base, side, base).data,
            merge_documents(base, side, side).data,
        }
        report.add("sound", None if same == {side.data} else f"{where}: not the only change")
    return True


def check_clash(report: CheckReport, base: Document, drawing: Drawing) -> None:
    """Check two steps that change one unit differently."""
    drawn = drawing.clash()
    if drawn is None:
        return
    one, other, unit = drawn
    try:
        ours, theirs = apply_steps(base, [one], base), apply_steps(base, [other], base)
    except Refused:
        return
    merged = merge_documents(base, ours, theirs)
    found = [conflict.unit for conflict in merged.conflicts]
    report.add("conflict", None if found == [unit] else f"{base.path}: {found} instead of {unit}")
    if merged.data != ours.data:
        report.add("conflict", f"{base.path}: {unit} is not as in ours")
    problem = lost(base, ours, theirs, merged)
    report.add("lost", problem and f"{base.path} {unit}: {problem}")


def check(documents: list[Document], pairs: int, seed: int) -> CheckReport:
    """Check so many pairs of scripts, on documents drawn from some."""
    report = CheckReport()
    chance = random.Random(seed)
    done = 0
    with show_progress("Merging") as show:
        while done < pairs:
            base = chance.choice(documents)
            drawings = [Drawing(base, chance, name) for name in ("Ada", "Bob")]
            if len(drawings[0].sections) < 2:
                continue
            check_clash(report, base, drawings[0])
            one, other = (
                [
                    step
                    for step, _ in zip(drawing.steps(), range(chance.randint(1, _MOST_STEPS)), strict=False)
                ]
                for drawing in drawings
            )
            if are_apart(one, other) and check_pair(report, base, one, other):
                done += 1
                if show:
                    show(done, pairs, "Merging")
    return report


def main() -> int:
    """Run from the command line; 1 if something disagreed."""
    parser = argparse.ArgumentParser(description="Check that documents merge.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts = Corpus.read(given.folder).documents
    documents = [Document.parse(data, path) for path, data in texts.items() if len(data) < 100_000]
    return check(documents, given.pairs, given.seed).show()


if __name__ == "__main__":
    sys.exit(main())
