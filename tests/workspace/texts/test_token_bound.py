"""The upper bound of tokens, compared with one or two real tokenizers."""

# Sentences of other scripts are intentional.

from __future__ import annotations

import base64
import json
import random
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rs_bpe.bpe import openai

from tests.loops import loop_over
from tests.workspace.texts.test_tokens import SENTENCES_BY_LANGUAGE
from workspace.texts.token_bound import _FOLLOWING_LETTERS, count_tokens_at_most

ROOT = Path(__file__).resolve().parents[3]
count_o200k, count_cl100k = openai.o200k_base().count, openai.cl100k_base().count
RANDOM = random.Random(5)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def make_random_text(characters: str, count: int = 4_000) -> str:
    return "".join(RANDOM.choices(characters, k=count))


def read_pages() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]


def test_documents_have_at_most_the_bound_and_not_much_less() -> None:
    for page in read_pages():
        for text in (page, json.dumps(page, ensure_ascii=False)):
            count = max(count_o200k(text), count_cl100k(text))
            assert count <= count_tokens_at_most(text) <= 2 * count


def test_source_code_has_at_most_the_bound() -> None:
    for path in sorted((ROOT / "workspace").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert max(count_o200k(text), count_cl100k(text)) <= count_tokens_at_most(text)


@loop_over(
    "text",
    [
        make_random_text(LETTERS),
        make_random_text(LETTERS + 5 * " "),
        make_random_text(LETTERS.upper()),
        make_random_text("0123456789"),
        make_random_text("0123456789abcdef"),
        make_random_text("".join(map(chr, range(32, 127)))),
        make_random_text("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~\\"),
        base64.b64encode(RANDOM.randbytes(3_000)).decode(),
        "a" * 4_000,
        "\\n" * 1_000,
        "| a | b |\n" * 300,
        "".join(f"## Heading {number}\n" for number in range(500)),
        make_random_text("".join(map(chr, range(0x4E00, 0x9FFF)))),
        make_random_text("".join(map(chr, range(0x1F300, 0x1F6FF)))),
        "👩‍👩‍👧‍👦🏳️‍🌈🚀" * 100,
        *(sentence * 5 for sentence in SENTENCES_BY_LANGUAGE.values()),
    ],
)
def test_text_has_at_most_the_bound(text: str) -> None:
    assert count_o200k(text) <= count_tokens_at_most(text)


@given(st.text(max_size=100))
def test_bound_is_at_most_the_number_of_bytes(text: str) -> None:
    assert count_tokens_at_most(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(st.text(max_size=60), st.text(max_size=60))
def test_bound_of_a_text_is_at_most_the_sum_of_its_parts(first: str, second: str) -> None:
    assert (
        count_tokens_at_most(first + second) <= count_tokens_at_most(first) + count_tokens_at_most(second) + 4
    )


@loop_over("text", ["", "\ud800", "\x00", "é"])
def test_short_text_has_a_bound(text: str) -> None:
    assert count_tokens_at_most(text) <= 3 * len(text)


# The definition of the bound, as an expression whose matches are the tokens: letters in frequent pairs with a
# space before them, a capital letter of a long run, two capital letters, two digits, line ends, spaces, equal
# marks of a rule, letters of other alphabets, a character of another script, and any other character.
FREQUENT_PAIR = "|".join(f"{first}(?=[{letters}])" for first, letters in _FOLLOWING_LETTERS.items())
TOKEN = re.compile(
    rf" ?[A-Z]?(?:{FREQUENT_PAIR}){{0,9}}[a-z]|(?<=[A-Z]{{4}})[A-Z]| ?[A-Z]{{1,2}}"
    r"|[0-9]{1,2}|[\r\n]{1,4}|[ \t]{1,16}|-{1,16}|={1,16}|\*{1,16}|#{1,16}|_{1,16}|\.{1,16}"
    r"|[\u0370-\u06ff]{1,2}|[^\x00-\x7f]|[^\w\s]|\S|\s"
)


def count_matches(text: str) -> int:
    """Return the bound by its definition: a character of a later script has two tokens, or three."""
    later_tokens = sum((character >= "\u0700") + (character >= "\U00010000") for character in text)
    return min(len(TOKEN.findall(text)) + later_tokens, len(text.encode("utf-8", "surrogatepass")))


@given(
    st.lists(
        st.one_of(
            st.text(max_size=8),
            st.text("abceinstABC \t", max_size=40),
            st.text("ABCDEFn ", max_size=12),
            st.text("-=*#_.01\r\n \t\u03b1\u0436\u4e00\U0001f680", max_size=40),
            st.sampled_from(["\ud800", " " * 17 + "a", "\t" * 17 + "A", "e" * 21, "The HTTPServer"]),
        ),
        max_size=6,
    ).map("".join)
)
def test_bound_is_the_number_of_matches(text: str) -> None:
    assert count_tokens_at_most(text) == count_matches(text)


def test_bound_of_pages_is_the_number_of_matches() -> None:
    for page in read_pages():
        assert count_tokens_at_most(page) == count_matches(page)
