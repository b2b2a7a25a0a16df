"""The description of a summary in an answer: its content, its uses, and its gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.texts.summaries.passages import MARKED, PassageKind, format_count
from workspace.texts.summaries.summary import MAX_PASSAGES
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from workspace.texts.summaries.summary import Summary
    from workspace.texts.text_file import TextFile

_TEXTS = {
    TextKind.MARKDOWN: "a Markdown document",
    TextKind.RESTRUCTUREDTEXT: "a reStructuredText document",
    TextKind.ASCIIDOC: "an AsciiDoc document",
    TextKind.SOURCE: "source code",
    TextKind.LOG: "a log",
    TextKind.PLAIN: "a plain text",
}
_WORDS = {
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
    """Return one sentence that says what the file is, and what this summary of it holds."""
    named, sections = len(summary.named), summary.sections
    what = f"'{title}' ({text.path})" if title else text.path
    size = f"{_TEXTS[text.kind]} of {summary.original_tokens:,} tokens in {format_count(sections, 'section')}"
    names = "names all of them" if named == sections else f"names {named:,} of them, the shallowest first"
    if sections == 1:
        names = "names it" if named else "names none"
    kept = [_share(kept, total, words) for kept, total, words in _shares(summary)]
    keeps = f", and keeps word for word {', '.join(kept)}" if kept else ""
    looked = f", of the first {MAX_PASSAGES:,} passages alone" if summary.is_cut else ""
    return f"{what} is {size}; this summary {names}{keeps}{looked}."


def _shares(summary: Summary) -> list[tuple[int, int, str]]:
    """Return how many passages of each kind were kept, of how many; only kinds that the text has."""
    kept = sum(summary.kept.get(kind, 0) for kind in _SENTENCES)
    total = sum(summary.total.get(kind, 0) for kind in _SENTENCES)
    shares = [(kept, total, "sentences")] if total else []
    for kind in MARKED:
        if summary.total.get(kind):
            shares.append((summary.kept.get(kind, 0), summary.total[kind], _WORDS[kind]))
    return shares


def _share(kept: int, total: int, words: str) -> str:
    return f"{kept:,} of {total:,} {words}"


def measure_coverage(summary: Summary) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many sections and passages of each kind are in a summary, and how many are not."""
    kinds = [kind for kind in PassageKind if summary.total.get(kind)]
    included = {"sections": len(summary.named)}
    included |= {kind.value: summary.kept.get(kind, 0) for kind in kinds}
    excluded = {"sections": summary.sections - len(summary.named)}
    excluded |= {kind.value: summary.total[kind] - summary.kept.get(kind, 0) for kind in kinds}
    return included, excluded


def estimate_confidence(summary: Summary) -> float:
    """Return the share of sections, leading sentences and marked passages that a summary holds, 0 to 1."""
    kinds = (PassageKind.LEAD, *MARKED)
    kept = len(summary.named) + sum(summary.kept.get(kind, 0) for kind in kinds)
    total = summary.sections + sum(summary.total.get(kind, 0) for kind in kinds)
    return round(kept / total, 4) if total else 1.0


def list_recommended_uses(summary: Summary) -> list[str]:
    """Return what this summary is enough for."""
    uses = []
    if len(summary.named) == summary.sections:
        uses.append("choosing the section to read")
    if _all_but_a_tenth(summary, PassageKind.LEAD) and summary.style != "outline":
        uses.append("an overview of the whole file")
    uses += [
        f"all of its {_WORDS[kind]}"
        for kind in MARKED
        if summary.total.get(kind) and summary.kept.get(kind) == summary.total[kind]
    ]
    return uses


def list_discouraged_uses(summary: Summary) -> list[str]:
    """Return what the file itself has to be read for."""
    uses = ["quoting or editing the file"]
    if missing := summary.sections - len(summary.named):
        uses.append(f"finding anything in the {format_count(missing, 'section')} not named")
    for kept, total, words in _shares(summary):
        if kept < total and words != "sentences":
            uses.append(f"a complete list of its {words}: {_share(kept, total, 'kept')}")
    if summary.total.get(PassageKind.ROW, 0) > summary.kept.get(PassageKind.ROW, 0):
        uses.append("values in the rows of its tables")
    if summary.total.get(PassageKind.CODE):
        uses.append("its code examples")
    return uses


def _all_but_a_tenth(summary: Summary, kind: PassageKind) -> bool:
    return summary.kept.get(kind, 0) * 10 >= summary.total.get(kind, 0) * 9
