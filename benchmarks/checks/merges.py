"""Check the merge of documents, over a folder of real Markdown.

    python -m benchmarks.checks.merges FOLDER [--pairs 2000] [--seed 1]

Each pair is two random scripts of operations on a document, which touch different units. Documents of 100,000
bytes or more are omitted. The checks:

equal           the merge has no conflict, and equals the result of both scripts in either order, except the
                order of blocks in a section, and of moved and added sections; `exact` counts merges that are
                equal byte for byte
lost text       every word that a side added is in the merge or in a conflict, and so are the words and lines
                of the base that no side removed
new problem     the merge has readable front matter if both sides have readable front matter, no new duplicate
                address, and only line endings that a side has
unchanged side  a merge with an unchanged side gives the other side, and so does a merge of equal sides
swapped sides   after a swap of the sides, there are conflicts as before; without conflicts, at most the order
                of blocks and sections changes
conflict        if two steps change a unit differently, exactly this unit is in conflict, and the merge has
                our side

Prints the count of each check and the first problems; the exit code is 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from pathlib import Path

from benchmarks.checks.check_report import CheckReport
from benchmarks.checks.merge_scripts import (
    ScriptGenerator,
    Step,
    StepRefused,
    apply_steps,
    touch_different_units,
)
from benchmarks.corpus import Corpus
from docyard.terminal.console import show_progress
from workspace.document.document import Document
from workspace.markdown.blocks import parse_nested_blocks
from workspace.markdown.lines import BOM, LINE_END_BYTES
from workspace.merge.conflict import MergedDocument
from workspace.merge.documents import merge_documents

_WORD = re.compile(rb"[^\W_]+|[^\x00-\x7f]+")
_ANCHOR = re.compile(rb"\{#[^}\r\n]{1,200}\}")
_MAX_STEPS = 4
_MAX_DOCUMENT_BYTES = 100_000  # each pair merges a document many times


def describe_sections(document: Document) -> dict[str, tuple[object, ...]]:
    """Return a document's sections by key: heading, level, parent, and the blocks as a set."""
    sections_by_key: dict[str, tuple[object, ...]] = {}
    for section in document.sections:
        parent = None if section.parent is None else document.sections[section.parent].key
        text = document.data[section.body_start : section.end].strip(b"\r\n")
        # The order of fields that both sides add to a task is arbitrary.
        blocks = Counter(
            tuple(sorted(text[block.start : block.end].splitlines())) for block in parse_nested_blocks(text)
        )
        # The form of a new anchor depends on the other anchors, so only the anchor itself is compared.
        heading = section.heading.text.title if section.heading else "", section.anchor
        sections_by_key[section.key] = (heading, section.level, parent, frozenset(blocks.items()))
    return sections_by_key


def list_subsection_orders(document: Document, keys: set[str]) -> dict[str | None, list[str]]:
    """Return the order of the subsections with the given keys, by the key of their parent."""
    return {
        section.key if section else None: [
            item.key for item in document.children(section) if item.key in keys
        ]
        for section in (None, *document.sections)
    }


def find_difference(merged: Document, expected: Document, unmoved_keys: set[str]) -> str | None:
    """Return a difference of two documents. Of the sections, only the order of unmoved ones is compared."""
    if dict(merged.front_matter) != dict(expected.front_matter):
        return "front matter"
    actual_sections, expected_sections = describe_sections(merged), describe_sections(expected)
    for key in dict.fromkeys([*actual_sections, *expected_sections]):
        if actual_sections.get(key) != expected_sections.get(key):
            return f"{key}: {actual_sections.get(key)!r} instead of {expected_sections.get(key)!r}"
    return (
        None
        if list_subsection_orders(merged, unmoved_keys) == list_subsection_orders(expected, unmoved_keys)
        else "order"
    )


def find_lost_text(base: Document, ours: Document, theirs: Document, merged: MergedDocument) -> str | None:
    """Return a lost word or line: one that must be in the merge or in a conflict, but is in neither."""
    base_words, our_words, their_words, merged_words = (
        _count_words(item.data) for item in (base, ours, theirs, merged)
    )
    conflict_texts = {
        word
        for conflict in merged.conflicts
        for text in (conflict.base, conflict.ours, conflict.theirs)
        for word in _WORD.findall((text or b"").removeprefix(BOM))
    }
    for word in [*(our_words - base_words), *(their_words - base_words)]:
        if word not in merged_words and word not in conflict_texts:
            return f"{word!r} is lost"
    for word, count in base_words.items():
        if (
            min(our_words[word], their_words[word]) >= count > merged_words[word]
            and word not in conflict_texts
        ):
            return f"{word!r} of the base is lost"
    base_lines, *line_counts = (_count_lines(item.data) for item in (base, ours, theirs, merged))
    conflict_texts = {
        line for conflict in merged.conflicts for text in conflict[1:] for line in _count_lines(text or b"")
    }
    for line, count in base_lines.items():
        is_preserved = (
            min(line_counts[0][line], line_counts[1][line]) < count or line_counts[2][line] >= count
        )
        # Each side may remove one thematic break, or one fence of front matter, and add another elsewhere.
        if not is_preserved and line not in conflict_texts and _WORD.search(line):
            return f"the line {line!r} of the base is lost"
    return None


def _count_words(data: bytes) -> Counter[bytes]:
    """Count words without those of anchors, which a move or a new title repeats."""
    return Counter(_WORD.findall(_ANCHOR.sub(b"", data.removeprefix(BOM))))


def _count_lines(data: bytes) -> Counter[bytes]:
    """Count lines without the heading markers and indentation, which a move may change."""
    return Counter(line.strip(b"# \t") for line in data.removeprefix(BOM).splitlines())


def find_new_problem(ours: Document, theirs: Document, data: bytes) -> str | None:
    """Return a problem of a merged document that neither side has."""
    merged = ours if data == ours.data else Document.parse(data, ours.path)
    sides = ours, theirs
    if merged.front_matter_error and not any(side.front_matter_error for side in sides):
        return "the front matter is invalid"
    ambiguous_addresses = {
        address for address, count in Counter(item.address for item in merged.sections).items() if count > 1
    }
    side_counts = [Counter(item.address for item in side.sections) for side in sides]
    duplicates = [
        address for address in ambiguous_addresses if all(side[address] < 2 for side in side_counts)
    ]
    if duplicates:
        return f"two sections have the address {duplicates[0]!r}"
    endings, *side_endings = ({*LINE_END_BYTES.findall(text)} for text in (data, ours.data, theirs.data))
    return "a line ending that neither side has" if endings.difference(*side_endings) else None


def check_pair(report: CheckReport, base: Document, left: list[Step], right: list[Step]) -> bool:
    """Check two scripts that touch different units; return False if they cannot run in both orders."""
    try:
        ours, theirs = apply_steps(base, left, base), apply_steps(base, right, base)
        expected = [apply_steps(base, right, ours), apply_steps(base, left, theirs)]
    except StepRefused:
        return False
    merged = merge_documents(base, ours, theirs)
    description = (
        f"{base.path} {[step.touched_units for step in left]} {[step.touched_units for step in right]}"
    )
    if merged.conflicts:
        report.add("equal", f"{description}: conflicts {[conflict.unit for conflict in merged.conflicts]}")
    else:
        moved_keys = {
            touched_unit.unit.partition(" ")[2]
            for step in (*left, *right)
            for touched_unit in step.touched_units
            if touched_unit.unit.startswith("place ")
        }
        unmoved_keys = {section.key for section in base.sections} - moved_keys
        is_exact = merged.data in [document.data for document in expected]
        merged_document = Document.parse(merged.data, base.path)
        differences = (
            [None]
            if is_exact
            else [find_difference(merged_document, document, unmoved_keys) for document in expected]
        )
        report.add("equal", None if None in differences else f"{description}: {differences[0]}")
        report.counts["exact"] += is_exact
    problem = find_lost_text(base, ours, theirs, merged)
    report.add("lost text", problem and f"{description}: {problem}")
    problem = find_new_problem(ours, theirs, merged.data)
    report.add("new problem", problem and f"{description}: {problem}")
    swapped_merge = merge_documents(base, theirs, ours)
    is_symmetric = bool(merged.conflicts) == bool(swapped_merge.conflicts) and (
        bool(merged.conflicts)
        or swapped_merge.data == merged.data
        or find_difference(Document.parse(swapped_merge.data), Document.parse(merged.data), set()) is None
    )
    report.add(
        "swapped sides", None if is_symmetric else f"{description}: the merge with swapped sides differs"
    )
    for side in (ours, theirs):
        results = {
            merge_documents(base, base, side).data,
            merge_documents(base, side, base).data,
            merge_documents(base, side, side).data,
        }
        report.add(
            "unchanged side",
            None
            if results == {side.data}
            else f"{description}: a merge with an unchanged or equal side differs from the other side",
        )
    return True


def check_conflict(report: CheckReport, base: Document, generator: ScriptGenerator) -> None:
    """Check that two steps that change a unit differently are in conflict, and the merge has our side."""
    conflicting_steps = generator.draw_conflicting_steps()
    if conflicting_steps is None:
        return
    left, right, unit = conflicting_steps
    try:
        ours, theirs = apply_steps(base, [left], base), apply_steps(base, [right], base)
    except StepRefused:
        return
    merged = merge_documents(base, ours, theirs)
    conflict_units = [conflict.unit for conflict in merged.conflicts]
    report.add(
        "conflict", None if conflict_units == [unit] else f"{base.path}: {conflict_units} instead of {unit}"
    )
    if merged.data != ours.data:
        report.add("conflict", f"{base.path}: {unit} differs from our side")
    problem = find_lost_text(base, ours, theirs, merged)
    report.add("lost text", problem and f"{base.path} {unit}: {problem}")


def check_documents(documents: list[Document], pair_count: int, seed: int) -> CheckReport:
    """Check `pair_count` pairs of scripts on random documents, and conflicting steps on these documents."""
    report = CheckReport()
    rng = random.Random(seed)
    checked_pairs = 0
    with show_progress("Merging") as report_progress:
        while checked_pairs < pair_count:
            base = rng.choice(documents)
            generators = [ScriptGenerator(base, rng, name) for name in ("Ada", "Bob")]
            if len(generators[0].sections) < 2:
                continue
            check_conflict(report, base, generators[0])
            left, right = (
                [
                    step
                    for step, _ in zip(
                        generator.draw_steps(), range(rng.randint(1, _MAX_STEPS)), strict=False
                    )
                ]
                for generator in generators
            )
            if touch_different_units(left, right) and check_pair(report, base, left, right):
                checked_pairs += 1
                if report_progress:
                    report_progress(checked_pairs, pair_count, "Merging")
    return report


def main() -> int:
    """Run from the command line; return 1 after a problem."""
    parser = argparse.ArgumentParser(description="Check that documents merge.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    data_by_path = Corpus.read(options.folder).documents
    documents = [
        Document.parse(data, path) for path, data in data_by_path.items() if len(data) < _MAX_DOCUMENT_BYTES
    ]
    return check_documents(documents, options.pairs, options.seed).print_and_get_exit_code()


if __name__ == "__main__":
    sys.exit(main())
