"""What an answer says of a summary: what was kept, what it is good for, and what it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.texts.summaries.passages import MARKED, Kind, counted
from workspace.texts.summaries.summary import MAX_PASSAGES
from workspace.texts.text_file import Kind as TextKind

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
    Kind.WARNING: "warnings",
    Kind.REQUIREMENT: "requirements",
    Kind.DEFINITION: "definitions",
    Kind.SIGNATURE: "signatures",
    Kind.TABLE: "heads of tables",
    Kind.TASK: "open tasks",
    Kind.FIGURE: "limits and defaults",
    Kind.LEVEL: "levels of log lines",
}
_SENTENCES = (Kind.LEAD, Kind.SENTENCE)


def preamble(text: TextFile, summary: Summary, title: str) -> str:
    """Return one sentence that says what the file is, and what this summary of it holds."""
    named, sections = len(summary.named), summary.sections
    what = f"'{title}' ({text.path})" if title else text.path
    size = f"{_TEXTS[text.kind]} of {summary.original_tokens:,} tokens in {counted(sections, 'section')}"
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


def coverage(summary: Summary) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many sections and passages of each kind are in a summary, and how many are not."""
    kinds = [kind for kind in Kind if summary.total.get(kind)]
    included = {"sections": len(summary.named)}
    included |= {kind.value: summary.kept.get(kind, 0) for kind in kinds}
    excluded = {"sections": summary.sections - len(summary.named)}
    excluded |= {kind.value: summary.total[kind] - summary.kept.get(kind, 0) for kind in kinds}
    return included, excluded


def confidence(summary: Summary) -> float:
    """Return the share of sections, leading sentences and marked passages that a summary holds, 0 to 1."""
    kinds = (Kind.LEAD, *MARKED)
    kept = len(summary.named) + sum(summary.kept.get(kind, 0) for kind in kinds)
    total = summary.sections + sum(summary.total.get(kind, 0) for kind in kinds)
    return round(kept / total, 4) if total else 1.0


def recommended_for(summary: Summary) -> list[str]:
    """Return what this summary is enough for."""
    uses = []
    if len(summary.named) == summary.sections:
        uses.append("choosing the section to read")
    if _all_but_a_tenth(summary, Kind.LEAD) and summary.style != "outline":
        uses.append("an overview of the whole file")
    uses += [
        f"all of its {_WORDS[kind]}"
        for kind in MARKED
        if summary.total.get(kind) and summary.kept.get(kind) == summary.total[kind]
    ]
    return uses


def not_recommended_for(summary: Summary) -> list[str]:
    """Return what the file itself has to be read for."""
    uses = ["quoting or editing the file"]
    if missing := summary.sections - len(summary.named):
        uses.append(f"finding anything in the {counted(missing, 'section')} not named")
    for kept, total, words in _shares(summary):
        if kept < total and words != "sentences":
            uses.append(f"a complete list of its {words}: {_share(kept, total, 'kept')}")
    if summary.total.get(Kind.ROW, 0) > summary.kept.get(Kind.ROW, 0):
        uses.append("values in the rows of its tables")
    if summary.total.get(Kind.CODE):
        uses.append("its code examples")
    return uses


def _all_but_a_tenth(summary: Summary, kind: Kind) -> bool:
    return summary.kept.get(kind, 0) * 10 >= summary.total.get(kind, 0) * 9
