"""An upper bound of the tokens of a text, without a tokenizer.

Tokenizers have one token for a frequent word, and one for two letters of a random word. Both kinds consist of
letters, so the pairs of letters decide: a word is split at each pair that is rare in English. A text has at
most as many tokens as bytes, because each token is at least one byte. docs/reading.md states the measured
distance to real tokenizers.
"""

from __future__ import annotations

import re

# The 200 most frequent pairs of letters in English documentation: the letters that may follow each letter.
_FOLLOWING_LETTERS = {
    "a": "bcdgilmnprstu",
    "b": "aelruy",
    "c": "aehiklotu",
    "d": "adeios",
    "e": "acdeflmnpqrstvx",
    "f": "aefiort",
    "g": "ehiru",
    "h": "aeiotu",
    "i": "abcdefglmnoprstv",
    "j": "e",
    "k": "es",
    "l": "adeilostuy",
    "m": "aeimop",
    "n": "acdegiosty",
    "o": "cdfglmnoprstuvw",
    "p": "aeiloprstuy",
    "q": "u",
    "r": "acdegikmnorstuy",
    "s": "acehiopstu",
    "t": "aehiloprstuy",
    "u": "abeilmnprst",
    "v": "aei",
    "w": "aehio",
    "x": "t",
    "y": "dopt",
}
_FREQUENT_PAIR = "|".join(f"{first}(?=[{second}])" for first, second in _FOLLOWING_LETTERS.items())

# Each match is a token: letters in frequent pairs with a space before them, a capital letter of a long run,
# two capital letters, two digits, line ends, spaces, equal marks of a rule, letters of other alphabets, a
# character of another script, and any other character.
_PIECE = re.compile(
    rf" ?[A-Z]?(?:{_FREQUENT_PAIR}){{0,9}}[a-z]|(?<=[A-Z]{{4}})[A-Z]| ?[A-Z]{{1,2}}"
    r"|[0-9]{1,2}|[\r\n]{1,4}|[ \t]{1,16}|-{1,16}|={1,16}|\*{1,16}|#{1,16}|_{1,16}|\.{1,16}"
    r"|[\u0370-\u06ff]{1,2}|[^\x00-\x7f]|[^\w\s]|\S|\s"
)
_LATER_SCRIPT = re.compile("[\u0700-\U0010ffff]")
_SUPPLEMENTARY = re.compile("[\U00010000-\U0010ffff]")


def count_tokens_at_most(text: str) -> int:
    """Return an upper bound of the number of tokens of a text; docs/reading.md states its accuracy."""
    byte_count = len(text.encode("utf-8", "surrogatepass"))
    # A character of a later script counts twice, a supplementary one three times.
    count = len(_PIECE.findall(text))
    if byte_count > len(text):
        count += len(_LATER_SCRIPT.findall(text)) + len(_SUPPLEMENTARY.findall(text))
    return min(count, byte_count)
