"""A query finds a section of a text by its address, number, title or the beginning of its title."""

# Headings and sentences of other scripts are intentional.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata

import pytest

from tests.loops import loop_over
from workspace.document.addresses import InvalidAddress, SectionNotFound
from workspace.texts.finder import AmbiguousSection, find_entry, fold_text
from workspace.texts.headings import OutlineEntry, TextOutline
from workspace.texts.outline import read_outline
from workspace.texts.text_file import TextFile, detect_kind

PAPER = """\
# A paper

Words.

## 1. Introduction

### 1.1 Scope

## 3 Methods and `code`

### 3.1 Methods

### Section 3.2: Materials

#### 3.10) Tables

## Results {#findings}

<a id="old-name"></a>
### What's new? 🎉

Naïve *setext*
--------------

## Установка

## 数据 導入

## الإعداد

## Résumé

### Scope
"""


def read_source(source: str, path: str = "paper.md") -> tuple[TextFile, TextOutline]:
    text = TextFile(path, "", source.encode(), detect_kind(path))
    return text, read_outline(text)


def find_in_text(query: str, source: str = PAPER, path: str = "paper.md") -> OutlineEntry:
    return find_entry(*read_source(source, path), query)


@loop_over(
    ("query", "title"),
    [
        ("_preamble", "A paper"),
        ("A paper", "A paper"),
        ("findings", "Results"),
        ("#findings", "Results"),
        ("old-name", "What's new? 🎉"),
        ("1-introduction/11-scope", "1.1 Scope"),
        ("1", "1. Introduction"),
        ("1.1", "1.1 Scope"),
        ("3.1", "3.1 Methods"),
        ("3.1.", "3.1 Methods"),
        (" Section 3.1 ", "3.1 Methods"),
        ("§3.1", "3.1 Methods"),
        ("§ 3.2", "Section 3.2: Materials"),
        ("Chapter 3.10", "3.10) Tables"),
        ("3.1 methods", "3.1 Methods"),
        ("٣.١", "3.1 Methods"),
        ("4", "Naïve setext"),
        ("4 naïve setext", "Naïve setext"),
        ("INTRODUCTION", "1. Introduction"),
        ("Methods", "3.1 Methods"),
        ("materials", "Section 3.2: Materials"),
        ("3 methods and code", "3 Methods and code"),
        ("## 3 Methods and `code`", "3 Methods and code"),
        ("**Results**", "Results"),
        ("Results {#findings}", "Results"),
        ("whats new", "What's new? 🎉"),
        ("What’s new? 🎉", "What's new? 🎉"),
        ("naïve   setext", "Naïve setext"),
        (unicodedata.normalize("NFD", "résumé"), "Résumé"),
        ("УСТАНОВКА", "Установка"),
        ("数据 導入", "数据 導入"),
        ("数据", "数据 導入"),
        ("الإعداد", "الإعداد"),
        ("Introd", "1. Introduction"),
        ("Tab", "3.10) Tables"),
        ("1-intro", "1. Introduction"),
    ],
)
def test_section_is_found_by_address_number_title_or_prefix(query: str, title: str) -> None:
    assert find_in_text(query).title == title


@loop_over(("query", "lines"), [("Errors", [2, 9]), ("errors", [2, 9]), ("2", [5, 11]), ("Re", [3, 7])])
def test_ambiguous_query_lists_all_matches(query: str, lines: list[int]) -> None:
    source = "## A\n### Errors\n## Red\n\n## 2. Two\n\n## Rest\n## C\n### Errors\n\n## 2) Twice\n"
    with pytest.raises(AmbiguousSection) as error_info:
        find_in_text(query, source)
    candidates = error_info.value.details["candidates"]
    assert isinstance(candidates, list)
    assert [candidate["line"] for candidate in candidates] == lines
    assert f"on lines {', '.join(map(str, lines))}" in error_info.value.message
    for candidate in candidates:
        assert find_in_text(candidate["slug"], source).line == candidate["line"]


def test_full_title_precedes_prefix_and_number() -> None:
    assert find_in_text("3").line == 9
    assert find_in_text("Scope").line == 33
    with pytest.raises(AmbiguousSection):
        find_in_text("Me")


def test_equal_anchors_are_ambiguous_and_have_keys() -> None:
    source = "## A {#x}\n\n## B {#x}\n"
    with pytest.raises(AmbiguousSection) as error_info:
        find_in_text("x", source)
    assert [candidate["slug"] for candidate in error_info.value.details["candidates"]] == ["x~1", "x~2"]  # type: ignore[attr-defined]
    assert find_in_text("x~2", source).title == "B"


@loop_over(
    ("query", "nearest"),
    [
        ("Introducton", "1-introduction"),
        ("Reslts", "findings"),
        ("Установки", "установка"),
        ("Ustanovka", "установка"),
        ("Metods", "3-methods-and-code/31-methods"),
    ],
)
def test_misspelt_heading_suggests_the_nearest(query: str, nearest: str) -> None:
    with pytest.raises(SectionNotFound) as error_info:
        find_in_text(query)
    assert nearest in error_info.value.details["candidates"]  # type: ignore[operator]
    assert error_info.value.fix.startswith("Did you mean '")


@loop_over("query", ["", "   ", "#", "zzzzzz", "9.9", "x" * 5_000, "`" * 3_000])
def test_query_without_match_is_not_found(query: str) -> None:
    with pytest.raises(SectionNotFound) as error_info:
        find_in_text(query)
    assert len(error_info.value.message) < 300
    assert error_info.value.fix


def test_error_states_that_a_text_has_no_sections() -> None:
    with pytest.raises(SectionNotFound) as error_info:
        find_in_text("Methods", "one line\n", "notes.txt")
    assert "no sections" in error_info.value.fix
    assert find_in_text("_preamble", "one line\n", "notes.txt").end == 9


def test_task_address_is_refused() -> None:
    with pytest.raises(InvalidAddress):
        find_in_text("tasks[0]", "# T\n\n## Tasks\n\n- [ ] one\n")


def test_other_kinds_of_text_are_searched_in_the_same_way() -> None:
    source = "class Server:\n    def start(self):\n        pass\n\n    def stop(self):\n        pass\n"
    assert find_in_text("server/start", source, "a.py").line == 2
    assert find_in_text("start", source, "a.py").line == 2
    assert find_in_text("1.2", source, "a.py").title == "stop"
    assert find_in_text("Serv", "Title\n======\n\nServe\n-----\n", "a.rst").title == "Serve"


def test_one_of_ten_thousand_headings_is_found() -> None:
    text, outline = read_source("".join(f"## Part {number}: {number}\n\n" for number in range(10_000)))
    assert find_entry(text, outline, "part 9999: 9999").line == 19_999
    assert find_entry(text, outline, "10000").line == 19_999
    with pytest.raises(AmbiguousSection) as error_info:
        find_entry(text, outline, "Part")
    assert error_info.value.details["total"] == 10_000
    assert len(error_info.value.details["candidates"]) == 100  # type: ignore[arg-type]
    with pytest.raises(SectionNotFound):
        find_entry(text, outline, "nothing like it")


def test_words_are_compared_without_case_and_form() -> None:
    assert fold_text("  Straße\tﬁn ") == fold_text("STRASSE fin")
    assert fold_text("e\u0301") == fold_text("\u00e9")
