"""Summaries are within their budget, name every section, and are described correctly."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from workspace.texts.finder import find_entry
from workspace.texts.headings import TextOutline
from workspace.texts.outline import read_outline
from workspace.texts.summaries import summary, wording
from workspace.texts.summaries.passages import PassageKind
from workspace.texts.summaries.summary import STYLES, Summary, UnknownStyle, choose_default_budget, summarize
from workspace.texts.text_file import TextFile, detect_kind
from workspace.texts.tokens import count_tokens

GUIDE = """---
title: Guide
---
# Retries

Retries make calls again. They cost time.

> [!WARNING]
> Never retry a payment.

## Backoff {#backoff}

Backoff is a wait between two calls. The wait defaults to 200 ms.

Clients MUST add jitter. It was raining that day.

```python
def backoff(attempt: int, base: float = 0.2) -> float:
    return base * 2 ** attempt
```

| code | meaning |
|------|---------|
| 429  | slow down |
| 503  | come back later |

### Jitter

**Jitter**: a random part of the wait.

## Tasks

- [x] Write it
- [ ] Test it
"""

HEADING = re.compile(r"^#{1,6} (?:(.*) )?`([^`]+)`(?: lines \d+-\d+, ~\d+ tokens)?$")


def make_text_file(source: str, path: str = "guide.md") -> TextFile:
    data = source.encode()
    return TextFile(path, "0" * 40, data, detect_kind(path))


def summarize_source(
    source: str, path: str = "guide.md", style: str = "structured", budget: int | None = None
) -> Summary:
    text = make_text_file(source, path)
    return summarize(text, read_outline(text), style=style, budget=budget, count_tokens=count_tokens)


def list_addresses(content: str) -> list[str]:
    return [match[2] for line in content.splitlines() if (match := HEADING.match(line))]


def test_summary_of_a_short_document_includes_all_passages() -> None:
    summary = summarize_source(GUIDE)
    assert summary.content == (
        "# Retries `_preamble`\n"
        "- Retries make calls again.\n"
        "- They cost time.\n"
        "- Never retry a payment.\n"
        "## Backoff `backoff`\n"
        "- Backoff is a wait between two calls.\n"
        "- The wait defaults to 200 ms.\n"
        "- Clients MUST add jitter.\n"
        "- It was raining that day.\n"
        "- def backoff(attempt: int, base: float = 0.2) -> float:\n"
        "- | code | meaning |\n"
        "> 2 rows\n"
        "- | 429 | slow down |\n"
        "- | 503 | come back later |\n"
        "### Jitter `backoff/jitter`\n"
        "- **Jitter**: a random part of the wait.\n"
        "## Tasks `tasks`\n"
        "- Write it\n"
        "- [ ] Test it\n"
    )
    assert (
        summary.included_counts[PassageKind.WARNING]
        == summary.included_counts[PassageKind.REQUIREMENT]
        == summary.included_counts[PassageKind.TASK]
        == 1
    )


def test_marked_passages_precede_other_sentences() -> None:
    unmarked_text = "It was raining that day and nobody went out for a walk. " * 30
    source = (
        f"# T\n\nLead here.\n\n{unmarked_text}\n\n## A\n\n"
        f"{unmarked_text}\n\nClients MUST add jitter.\n\n- [ ] Test it\n"
    )
    content = summarize_source(source, budget=100).content
    assert "- Lead here." in content
    assert "- Clients MUST add jitter." in content
    assert "- [ ] Test it" in content
    # The budget leaves space for only a few of the sixty sentences without a mark.
    assert content.count("raining") < 6


@loop_over("style", STYLES)
@loop_over("budget", [100, 150, 400, 20_000])
def test_summary_is_within_its_budget_and_counts_its_tokens(style: str, budget: int) -> None:
    source = GUIDE + "".join(
        f"\n## Part {number}\n\nWords of part {number}. And more.\n" for number in range(12)
    )
    summary = summarize_source(source, style=style, budget=budget)
    assert count_tokens(summary.content) == summary.tokens <= budget
    included_texts = 0
    for line in summary.content.splitlines():
        if match := HEADING.match(line):
            included_texts += count_tokens(match[1] or "")
        elif line.startswith("- "):
            included_texts += count_tokens(line[2:])
    assert summary.completeness == round(included_texts / count_tokens(source), 4)


def test_addresses_in_a_summary_resolve() -> None:
    text = make_text_file(GUIDE)
    outline = read_outline(text)
    summary = summarize(text, outline, count_tokens=count_tokens)
    assert list_addresses(summary.content) == [entry.address for entry in outline.entries]
    for entry in summary.named_entries:
        assert find_entry(text, outline, entry.address) == entry


@settings(max_examples=scale_examples(60))
@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "### C", "Words. More of them.", "- [ ] x", "| a |", "|-|", "```", ""]
        )
    ),
    st.sampled_from(STYLES),
    st.integers(100, 400),
)
def test_every_section_is_named_if_the_addresses_fit(lines: list[str], style: str, budget: int) -> None:
    text = make_text_file("\n".join(lines))
    outline = read_outline(text)
    summary = summarize(text, outline, style=style, budget=budget, count_tokens=count_tokens)
    assert count_tokens(summary.content) <= budget
    expected = [entry.address for entry in outline.entries]
    named_addresses = list_addresses(summary.content)
    assert named_addresses == [entry.address for entry in summary.named_entries]
    if sum(count_tokens(f"###### `{address}`\n") + 1 for address in expected) <= budget:
        assert named_addresses == expected


def test_small_budget_names_sections_of_the_highest_levels() -> None:
    part_count = 30
    source = "".join(
        f"## Part {number}\n\n### Deep down in part {number}\n\n" for number in range(part_count)
    )
    summary = summarize_source(source, budget=300)
    assert 0 < len(summary.named_entries) < summary.section_count == 2 * part_count
    levels = [entry.level for entry in summary.named_entries]
    assert levels.count(2) == part_count or set(levels) == {2}
    sentence = wording.format_preamble(make_text_file(source), summary, "")
    assert f"names {len(summary.named_entries)} of them, the shallowest first" in sentence
    assert "choosing the section to read" not in wording.list_recommended_uses(summary)
    unnamed_count = summary.section_count - len(summary.named_entries)
    assert f"finding anything in the {unnamed_count} sections not named" in wording.list_discouraged_uses(
        summary
    )


def test_outline_summary_has_only_lines_and_token_counts() -> None:
    lines = summarize_source(GUIDE, style="outline").content.splitlines()
    assert lines[1].startswith("## Backoff `backoff` lines 11-30, ~")
    assert all(HEADING.match(line) for line in lines)


def test_lead_style_has_the_first_sentence_of_a_section() -> None:
    summary = summarize_source(GUIDE, style="lead", budget=100)
    lines = summary.content.splitlines()
    for line, next_line in pairwise(lines):
        if "`backoff`" in line:
            assert next_line == "- Backoff is a wait between two calls."
    assert "| code" not in summary.content


def test_unknown_style_error_lists_the_styles() -> None:
    with pytest.raises(UnknownStyle) as error_info:
        summarize_source(GUIDE, style="structurd")
    assert error_info.value.details["styles"] == list(STYLES)
    assert "Did you mean 'structured'?" in error_info.value.fix


def test_summaries_are_deterministic() -> None:
    assert summarize_source(GUIDE, budget=120) == summarize_source(GUIDE, budget=120)


@loop_over(
    ("path", "source", "included_texts"),
    [
        ("a.rst", "Title\n=====\n\nIt caches.\n\n.. warning:: It burns.\n", ["It caches.", "It burns."]),
        ("a.adoc", "= Title\n\nIt caches.\n\nWARNING: It burns.\n", ["It caches.", "WARNING: It burns."]),
        ("a.py", '"""Runs."""\n\n\ndef go(x):\n    """Goes."""\n', ["Runs.", "def go(x):", "Goes."]),
        ("a.log", "INFO one\nERROR two\nINFO three\n", ["INFO one", "ERROR two", "INFO three"]),
        ("a.txt", "Plain words.\nAnd more.\n", ["Plain words.", "And more."]),
    ],
)
def test_texts_of_every_kind_are_summarized(path: str, source: str, included_texts: list[str]) -> None:
    lines = summarize_source(source, path).content.splitlines()
    assert [line[2:] for line in lines if line.startswith("- ")] == included_texts


def test_empty_text_has_a_complete_summary() -> None:
    summary = summarize_source("", "a.txt")
    assert (summary.completeness, summary.original_tokens) == (1.0, 0)


def test_invalid_bytes_and_all_line_endings_are_summarized() -> None:
    text = TextFile("a.md", "0" * 40, b"# T\r\n\r\nIt \xff caches.\r\rMore.\n", detect_kind("a.md"))
    content = summarize(text, read_outline(text), count_tokens=count_tokens).content
    assert "- It \ufffd caches.\n- More.\n" in content


def test_repeated_passages_have_a_lower_weight() -> None:
    repeated_sentence = "Note that this member is declared within a union of the base class.\n"
    source = "".join(
        f"## Part {n}\n\nPart {n} does thing {n} for you.\n\n{repeated_sentence}\n" for n in range(10)
    )
    content = summarize_source(source, budget=320).content
    assert all(f"Part {n} does thing {n}" in content for n in range(10))


def test_adversarial_text_is_limited_to_a_number_of_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_PASSAGES", 50)
    text = make_text_file("# A\n\n" + "A1. " * 40 + "\n\n## B\n\n" + "A2. " * 40)
    assert [len(passages) for passages in summary.read_passages(text, read_outline(text))] == [40, 10]


def test_preamble_of_a_cut_text_states_the_passage_limit() -> None:
    text = make_text_file(GUIDE)
    summary = summarize(text, read_outline(text), count_tokens=count_tokens)
    assert not summary.is_cut
    assert "of the first 200,000 passages alone" in wording.format_preamble(
        text, summary._replace(is_cut=True), ""
    )


def test_default_budget_exceeds_the_tokens_of_the_names() -> None:
    assert choose_default_budget(1_000, 50) == 500
    assert choose_default_budget(16_000, 100) == 2_000
    assert choose_default_budget(1_000_000, 100) == 4_000
    assert choose_default_budget(30_000, 3_000) == 7_500
    assert choose_default_budget(30_000, 20_000) == 10_000
    assert choose_default_budget(10_000_000, 2_000_000) == 20_000


def test_description_of_a_summary_matches_its_content() -> None:
    text = make_text_file(GUIDE)
    summary = summarize(text, read_outline(text), count_tokens=count_tokens)
    included, excluded = wording.measure_coverage(summary)
    assert included["sections"] == 4
    assert set(included) == set(excluded)
    assert (included["open_tasks"], excluded["open_tasks"]) == (1, 0)
    assert (included["code_blocks"], excluded["code_blocks"]) == (0, 1)
    assert wording.compute_completeness(summary) == 1.0
    assert "all of its open tasks" in wording.list_recommended_uses(summary)
    assert wording.list_discouraged_uses(summary) == ["quoting or editing the file", "its code examples"]
    sentence = wording.format_preamble(text, summary, "Retries")
    assert sentence.startswith("'Retries' (guide.md) is a Markdown document of ")
    assert "in 4 sections; this summary names all of them, and keeps word for word" in sentence
    assert "1 of 1 requirements" in sentence
    assert sentence.count(". ") == 0


def test_outline_preamble_states_zero_sentences() -> None:
    text = make_text_file(GUIDE)
    summary = summarize(
        text, TextOutline(read_outline(text).entries), style="outline", count_tokens=count_tokens
    )
    assert wording.compute_completeness(summary) < 0.5
    assert "an overview of the whole file" not in wording.list_recommended_uses(summary)
