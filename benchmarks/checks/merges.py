"""Checks the merge of documents, over a folder of real Markdown.

    python -m benchmarks.checks.merges FOLDER [--pairs 2000] [--seed 1]

For each pair, two random scripts of operations are made for one document, which touch different units of it.
What is checked:

equal       the merge is what the two scripts make one after the other, in either order, but for the order
            of what both put at one place; `exact` counts those that are so byte for byte
lost        every word that a side added is in the merge or a conflict, and so is every word and every line
            of the base that no side took away
worse       front matter that both sides can read is read, no two sections share an address that none shared,
            and lines end as on a side
sound       merging with what did not change gives the other version, and so does each order of the
            sides, but for the order of what both put at one place
conflict    where both scripts change one unit differently, this unit is in conflict, and no other

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
from benchmarks.checks.merge_scripts import Drawing, Refused, Step, are_apart, made
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
    """What a document says by address: headings, what they stand below, and their texts' blocks as a set."""
    found: dict[str, tuple[object, ...]] = {}
    for section in document.sections:
        parent = None if section.parent is None else document.sections[section.parent].key
        text = document.data[section.body : section.end].strip(b"\r\n")
        # Fields that both sides add to a task stand in either order.
        blocks = Counter(
            tuple(sorted(text[block.start : block.end].splitlines())) for block in parse_nested_blocks(text)
        )
        # New anchors have the form that most of a document's have by then.
        heading = section.heading.text.title if section.heading else "", section.anchor
        found[section.key] = (heading, section.level, parent, frozenset(blocks.items()))
    return found


def orders(document: Document, known: set[str]) -> dict[str | None, list[str]]:
    """Return the order of the sections below each one, of those that are `known`."""
    return {
        section.key if section else None: [
            item.key for item in document.children(section) if item.key in known
        ]
        for section in (None, *document.sections)
    }


def difference(merged: Document, wanted: Document, still: set[str]) -> str | None:
    """What two documents say differently; the order of sections counts for those that stand `still`."""
    if dict(merged.front_matter) != dict(wanted.front_matter):
        return "front matter"
    one, other = tree(merged), tree(wanted)
    for key in dict.fromkeys([*one, *other]):
        if one.get(key) != other.get(key):
            return f"{key}: {one.get(key)!r} instead of {other.get(key)!r}"
    return None if orders(merged, still) == orders(wanted, still) else "order"


def lost(base: Document, ours: Document, theirs: Document, merged: MergedDocument) -> str | None:
    """Return a word that is neither in the merge nor in a conflict, though it should be."""
    was, mine, yours, kept = (_words(item.data) for item in (base, ours, theirs, merged))
    told = {
        word
        for conflict in merged.conflicts
        for text in (conflict.base, conflict.ours, conflict.theirs)
        for word in _WORD.findall((text or b"").removeprefix(BOM))
    }
    for word in [*(mine - was), *(yours - was)]:
        if word not in kept and word not in told:
            return f"{word!r} is lost"
    for word, times in was.items():
        if min(mine[word], yours[word]) >= times > kept[word] and word not in told:
            return f"{word!r} of the base is lost"
    lines, *others = (_lines(item.data) for item in (base, ours, theirs, merged))
    told = {line for found in merged.conflicts for text in found[1:] for line in _lines(text or b"")}
    for line, times in lines.items():
        is_kept = min(others[0][line], others[1][line]) < times or others[2][line] >= times
        # Each side may take away one rule, or one mark of front matter, and put another elsewhere.
        if not is_kept and line not in told and _WORD.search(line):
            return f"the line {line!r} of the base is lost"
    return None


def _words(data: bytes) -> Counter[bytes]:
    """Words, without those of anchors, which a move or a new title repeats."""
    return Counter(_WORD.findall(_ANCHOR.sub(b"", data.removeprefix(BOM))))


def _lines(data: bytes) -> Counter[bytes]:
    """Return lines without the marks that moving them may change."""
    return Counter(line.strip(b"# \t") for line in data.removeprefix(BOM).splitlines())


def worse(ours: Document, theirs: Document, data: bytes) -> str | None:
    """Return what is wrong with a merged document that is wrong on neither side."""
    merged = ours if data == ours.data else Document.parse(data, ours.path)
    sides = ours, theirs
    if merged.front_matter_error and not any(side.front_matter_error for side in sides):
        return "its front matter cannot be read"
    shared = {name for name, times in Counter(item.address for item in merged.sections).items() if times > 1}
    known = [Counter(item.address for item in side.sections) for side in sides]
    doubled = [name for name in shared if all(side[name] < 2 for side in known)]
    if doubled:
        return f"two sections are called {doubled[0]!r}"
    endings, *had = ({*LINE_END_BYTES.findall(text)} for text in (data, ours.data, theirs.data))
    return "a line ends as on neither side" if endings.difference(*had) else None


def check_pair(report: CheckReport, base: Document, one: list[Step], other: list[Step]) -> bool:
    """Check two scripts that touch different units; False if they cannot be made in both orders."""
    try:
        ours, theirs = made(base, one, base), made(base, other, base)
        wanted = [made(base, other, ours), made(base, one, theirs)]
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
        ours, theirs = made(base, [one], base), made(base, [other], base)
    except Refused:
        return
    merged = merge_documents(base, ours, theirs)
    found = [conflict.unit for conflict in merged.conflicts]
    report.add("conflict", None if found == [unit] else f"{base.path}: {found} instead of {unit}")
    if merged.data != ours.data:
        report.add("conflict", f"{base.path}: {unit} does not stand as in ours")
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
