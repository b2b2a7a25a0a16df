"""The description of a summary in a response: the content, the uses and the gaps of the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.texts.summaries.passages import MARKED_KINDS, PassageKind, format_count
from workspace.texts.summaries.summary import MAX_PASSAGES
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from workspace.texts.summaries.summary import Summary
    from workspace.texts.text_file import TextFile

_TEXT_NAMES = {
    TextKind.MARKDOWN: "a Markdown document",
    TextKind.RESTRUCTUREDTEXT: "a reStructuredText document",
    TextKind.ASCIIDOC: "an AsciiDoc document",
    TextKind.SOURCE: "source code",
    TextKind.LOG: "a log",
    TextKind.PLAIN: "a plain text",
}
_KIND_NAMES = {
    PassageKind.WARNING: "warnings",
    PassageKind.REQUIREMENT: "requirements",
    PassageKind.DEFINITION: "definitions",
    PassageKind.SIGNATURE: "signatures",
    PassageKind.TABLE: "heads of tables",
    PassageKind.TASK: "open tasks",
    PassageKind.FIGURE: "limits and defaults",
    PassageKind.LEVEL: "levels of log lines",
}
_SENTENCES = (PassageKind.LEAD, PassageKind.SENTENCE)


def format_preamble(text: TextFile, summary: Summary, title: str) -> str:
    """Return one sentence that describes the file and the contents of its summary."""
    named_count, sections = len(summary.named_entries), summary.section_count
    subject = f"'{title}' ({text.path})" if title else text.path
    counted_sections = format_count(sections, "section")
    size = f"{_TEXT_NAMES[text.kind]} of {summary.original_tokens:,} tokens in {counted_sections}"
    names_clause = (
        "names all of them"
        if named_count == sections
        else f"names {named_count:,} of them, the shallowest first"
    )
    if sections == 1:
        names_clause = "names it" if named_count else "names none"
    counts = [
        _format_count_of(count, total, noun) for count, total, noun in _count_included_passages(summary)
    ]
    passages_clause = f", and keeps word for word {', '.join(counts)}" if counts else ""
    limit_clause = f", of the first {MAX_PASSAGES:,} passages alone" if summary.is_cut else ""
    return f"{subject} is {size}; this summary {names_clause}{passages_clause}{limit_clause}."


def _count_included_passages(summary: Summary) -> list[tuple[int, int, str]]:
    """Return the number of included passages, the number of all passages, and the noun, for each kind.

    Kinds without passages are omitted, and so are table rows and code blocks.
    """
    included_count = sum(summary.included_counts.get(kind, 0) for kind in _SENTENCES)
    total = sum(summary.total_counts.get(kind, 0) for kind in _SENTENCES)
    counts = [(included_count, total, "sentences")] if total else []
    for kind in MARKED_KINDS:
        if summary.total_counts.get(kind):
            counts.append(
                (summary.included_counts.get(kind, 0), summary.total_counts[kind], _KIND_NAMES[kind])
            )
    return counts


def _format_count_of(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {total:,} {noun}"


def measure_coverage(summary: Summary) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of included and of omitted sections and passages, by kind."""
    kinds = [kind for kind in PassageKind if summary.total_counts.get(kind)]
    included_counts = {"sections": len(summary.named_entries)}
    included_counts |= {kind.value: summary.included_counts.get(kind, 0) for kind in kinds}
    omitted_counts = {"sections": summary.section_count - len(summary.named_entries)}
    omitted_counts |= {
        kind.value: summary.total_counts[kind] - summary.included_counts.get(kind, 0) for kind in kinds
    }
    return included_counts, omitted_counts


def compute_completeness(summary: Summary) -> float:
    """Return the included fraction, from 0 to 1, of all sections, first sentences and marked passages."""
    kinds = (PassageKind.LEAD, *MARKED_KINDS)
    covered_count = len(summary.named_entries) + sum(summary.included_counts.get(kind, 0) for kind in kinds)
    total = summary.section_count + sum(summary.total_counts.get(kind, 0) for kind in kinds)
    return round(covered_count / total, 4) if total else 1.0


def list_recommended_uses(summary: Summary) -> list[str]:
    """Return the uses for which this summary suffices."""
    uses = []
    if len(summary.named_entries) == summary.section_count:
        uses.append("choosing the section to read")
    if _includes_nine_tenths(summary, PassageKind.LEAD) and summary.style != "outline":
        uses.append("an overview of the whole file")
    uses += [
        f"all of its {_KIND_NAMES[kind]}"
        for kind in MARKED_KINDS
        if summary.total_counts.get(kind) and summary.included_counts.get(kind) == summary.total_counts[kind]
    ]
    return uses


def list_discouraged_uses(summary: Summary) -> list[str]:
    """Return the uses for which the file itself must be read."""
    uses = ["quoting or editing the file"]
    if omitted_count := summary.section_count - len(summary.named_entries):
        uses.append(f"finding anything in the {format_count(omitted_count, 'section')} not named")
    for count, total, noun in _count_included_passages(summary):
        if count < total and noun != "sentences":
            uses.append(f"a complete list of its {noun}: {_format_count_of(count, total, 'included')}")
    if summary.total_counts.get(PassageKind.ROW, 0) > summary.included_counts.get(PassageKind.ROW, 0):
        uses.append("values in the rows of its tables")
    if summary.total_counts.get(PassageKind.CODE):
        uses.append("its code examples")
    return uses


def _includes_nine_tenths(summary: Summary, kind: PassageKind) -> bool:
    return summary.included_counts.get(kind, 0) * 10 >= summary.total_counts.get(kind, 0) * 9
