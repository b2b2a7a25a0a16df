"""Estimated numbers of tokens, compared with two real tokenizers."""

# Headings and sentences of other scripts are intentional.
# ruff: noqa: RUF001

from __future__ import annotations

import base64
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from benchmarks.checks.reading_tools import measure_errors
from tests.loops import loop_over
from workspace.texts import tokens
from workspace.texts.tokens import bound_tokens, count_tokens, estimate_tokens, get_tokenizer

ROOT = Path(__file__).resolve().parents[3]
TOKENIZERS = {"o200k_base": openai.o200k_base().count, "cl100k_base": openai.cl100k_base().count}

# The same few sentences in several languages.
SENTENCES_BY_LANGUAGE = {
    "english": "Each section has an address, and every tool answers with the commit that it read.",
    "german": "Jeder Abschnitt hat eine Adresse, und jede Antwort nennt den gelesenen Stand.",
    "russian": "У каждого раздела есть адрес, и каждый ответ называет прочитанную версию.",
    "chinese": "每个章节都有一个地址，每个回答都会说明它读取的是哪个提交。",
    "japanese": "それぞれの節には住所があり、どの答えも読んだコミットを示します。",
    "korean": "각 절에는 주소가 있으며 모든 답변은 읽은 커밋을 알려 줍니다.",
    "arabic": "لكل قسم عنوان، وكل إجابة تذكر النسخة التي قرأتها.",
    "hebrew": "לכל סעיף יש כתובת, וכל תשובה מציינת את הגרסה שנקראה.",
    "hindi": "हर अनुभाग का एक पता होता है और हर उत्तर बताता है कि कौन सा संस्करण पढ़ा गया।",
    "thai": "แต่ละส่วนมีที่อยู่ และทุกคำตอบบอกว่าอ่านรุ่นใด",
    "greek": "Κάθε ενότητα έχει μια διεύθυνση και κάθε απάντηση λέει ποια έκδοση διάβασε.",
}


@pytest.mark.parametrize("count", TOKENIZERS.values(), ids=TOKENIZERS)
def test_documents_are_estimated_within_a_quarter(count: Callable[[str], int]) -> None:
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
    estimation_errors = measure_errors(pages, count)
    assert len(pages) > 10
    assert max(map(abs, estimation_errors.relative_errors)) < 0.25
    assert abs(estimation_errors.total_error) < 0.1


def test_source_code_is_estimated_within_a_quarter() -> None:
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "workspace").glob("*.py"))]
    estimation_errors = measure_errors(sources, TOKENIZERS["o200k_base"])
    assert max(map(abs, estimation_errors.relative_errors)) < 0.25


@pytest.mark.parametrize("language", SENTENCES_BY_LANGUAGE)
def test_other_languages_are_estimated_within_a_factor_of_two(language: str) -> None:
    text = (SENTENCES_BY_LANGUAGE[language] + "\n") * 3
    counts = sorted(count(text) for count in TOKENIZERS.values())
    assert counts[0] / 2 < estimate_tokens(text) < counts[1] * 2


def test_unreadable_text_is_estimated() -> None:
    rng = random.Random(7)
    random_bytes = rng.randbytes(6_000)
    log = "".join(
        f"2026-01-{day:02d}T12:00:{day:02d}.123Z INFO [worker-{day}] GET /v1/items/{day * 977} {day * 13}ms\n"
        for day in range(1, 29)
    )
    for text, tolerance in (
        (base64.b64encode(random_bytes).decode(), 0.35),
        (random_bytes.hex(), 0.35),
        (log, 0.2),
    ):
        assert estimate_tokens(text) == pytest.approx(TOKENIZERS["o200k_base"](text), rel=tolerance)


def test_token_counts_are_exact_if_the_extra_is_installed() -> None:
    assert get_tokenizer() == "o200k_base"
    for text in SENTENCES_BY_LANGUAGE.values():
        assert count_tokens(text) == count_tokens(text.encode()) == TOKENIZERS["o200k_base"](text)


def test_token_counts_are_estimates_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens._load_counter.cache_clear()
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    try:
        assert get_tokenizer() == "estimate"
        assert count_tokens("Each section has an address.") == estimate_tokens("Each section has an address.")
        assert count_tokens(b"caf\xe9") == estimate_tokens("caf\ufffd")
    finally:
        tokens._load_counter.cache_clear()


@given(st.text(max_size=100))
def test_no_text_has_more_tokens_than_the_upper_bound(text: str) -> None:
    upper_bound = bound_tokens(len(text))
    assert estimate_tokens(text) <= upper_bound
    assert all(count(text) <= upper_bound for count in TOKENIZERS.values())


def test_empty_text_has_no_tokens() -> None:
    assert (estimate_tokens(""), count_tokens(b"")) == (0, 0)


@given(st.text(max_size=100), st.text(max_size=100))
def test_estimate_is_about_the_sum_of_its_parts(first: str, second: str) -> None:
    joined_tokens, separate_tokens = (
        estimate_tokens(f"{first}\n\n{second}"),
        estimate_tokens(first) + estimate_tokens(second),
    )
    assert abs(joined_tokens - separate_tokens) <= 8 + 0.35 * separate_tokens


@loop_over(
    "repeated_text", ["a", " ", "\n", "\t \t", "A", "!", "é", "数", "🚀", "\u0301", "'s", "a_", "\x00"]
)
def test_tokens_of_long_repetitive_text_are_estimated(repeated_text: str) -> None:
    assert 0 < estimate_tokens(repeated_text * 200_000) <= 3 * 200_000
