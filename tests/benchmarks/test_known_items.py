"""Known items: identifiers and remembered words drawn from a corpus, and their measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.corpus import Corpus, CorpusTooSmall, SectionText
from benchmarks.search.known_items import (
    draw_identifiers,
    draw_remembered_words,
    find_identifiers,
    measure_folder,
)
from docyard.eval.cases import read_cases
from tests.loops import loop_over

WORDS = [f"{letter}word" for letter in "abcdefghijklmnop"]
FILLER_COUNT = 800
"""The number of sections without these words, so that each word occurs in less than 2 % of the sections."""


def make_section_text(body: str, title: str = "Title", name: str = "a.md#b") -> SectionText:
    return SectionText(id=name, title=title, body=body, headings="", path=name.partition("#")[0], tags="")


@loop_over(
    ("body", "expected"),
    [
        ("Raise `RateLimitError`, or max_retries (x2go). See os.path.join, and pass --dry-run.", None),
        (
            "Read [this](guide/SomePage_2.md), http://e.org/a_page <a name='an_anchor'></a><!-- a_note -->",
            set(),
        ),
        ("[ref_one]: target_page.md 'Title_Text'\n", set()),
        (
            "Plain words, e.g. these; well-known, either/or, 12.5, 1_000, C++ and --x are no identifiers.",
            set(),
        ),
        ("**snake_case** and _emphasis_ | cell_one | `a->b_c`", {"snake_case", "cell_one"}),
    ],
)
def test_identifiers_are_found_in_visible_text_only(body: str, expected: set[str] | None) -> None:
    if expected is None:
        expected = {"RateLimitError", "max_retries", "os.path.join", "--dry-run"}
    assert find_identifiers(make_section_text(body)) == expected


def test_drawn_identifier_occurs_in_one_section_only() -> None:
    section_texts = [
        make_section_text("only_here and twice_here", name="a.md#a"),
        make_section_text("TWICE_HERE and only_here_too", name="b.md#b"),
        make_section_text("[x](only_here_too.md) alone_here alone_here", name="c.md#c"),
        make_section_text("twice_here.part", name="d.md#d"),
    ]
    items = dict(draw_identifiers(section_texts, 3))
    assert items == {"only_here": "a.md#a", "alone_here": "c.md#c", "twice_here.part": "d.md#d"}
    with pytest.raises(CorpusTooSmall):
        draw_identifiers(section_texts, 4)


def make_section_texts() -> list[SectionText]:
    """Return sections with distinct titles and eight words that each occur in several sections."""
    return [
        make_section_text(
            " ".join(WORDS[(number + step) % len(WORDS)] for step in range(8)),
            f"Topic {word}",
            f"{word}.md#x",
        )
        for number, word in enumerate(WORDS)
    ] + [make_section_text("nothing that matters", name=f"{number}.md#y") for number in range(FILLER_COUNT)]


def test_remembered_words_are_words_of_their_section_and_one_foreign_word() -> None:
    section_texts = make_section_texts()
    words_by_id = {text.id: set(f"{text.title} {text.body}".lower().split()) for text in section_texts}
    items = draw_remembered_words(section_texts, 10)
    assert len({item.section for item in items}) == 10
    for item in items:
        words = item.query.split()
        assert sum(word not in words_by_id[item.section] for word in words) == 1
        assert "title" not in words
    assert draw_remembered_words(section_texts, 10) == items, "the same corpus gives the same queries"
    with pytest.raises(CorpusTooSmall):
        draw_remembered_words(section_texts[:1], 1)


@pytest.mark.slow
def test_run_measures_identifiers_and_remembered_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, text in enumerate(make_section_texts()[: len(WORDS)]):
        (folder / text.path).write_text(f"# {text.title}\n\n{text.body} option_{number:03}\n")
    for number in range(FILLER_COUNT):
        (folder / f"{number}.md").write_text("nothing that matters\n")
    results = measure_folder(folder, 5)
    assert results["identifiers"] == {"query_count": 5, "first": 5, "page_first": 5, "mrr": 1, "misses": []}
    assert results["remembered_words"]["query_count"] == 5
    assert json.loads(json.dumps(results)) == results


@loop_over("name", ["small", "large"])
def test_stored_questions_are_valid_cases(name: str) -> None:
    questions = Path(__file__).resolve().parents[2] / "benchmarks" / "questions" / f"{name}.jsonl"
    cases = read_cases([questions])
    assert len(cases) >= 30
    assert all(path.endswith(".md") for case in cases for path in case.expected)
    assert len({path for case in cases for path in case.expected}) == len(cases)


@loop_over("name", ["aframe", "jupyterhub"])
def test_labelled_sets_are_cases_with_graded_answers(name: str) -> None:
    folder = Path(__file__).resolve().parents[2] / "benchmarks" / "questions"
    cases = read_cases([folder / f"{name}.qrels.tsv"], folder / f"{name}.queries.jsonl")
    assert len(cases) == 60
    assert all(max(case.expected.values()) == 2 for case in cases)


def test_corpus_without_identifiers_raises_corpus_too_small(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nwords\n")
    with pytest.raises(CorpusTooSmall, match="identifier"):
        draw_identifiers(list(Corpus.read(tmp_path).read_section_texts()), 1)
