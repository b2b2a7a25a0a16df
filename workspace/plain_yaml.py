"""The part of YAML that nearly all front matter is written in, read without a YAML parser.

    title: "How to retry"             a key, and one value on its line: quoted or not
    tags: [network, "retries"]        a list on the line
    authors:                          or a list of values on the lines below
      - ada

It takes a tenth of the parser's time, which would else be the largest part of reading a short document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,99}):(?: +([^ ].*))? *")
_ITEM = re.compile(r"( *)- +(.+)")
_COMMENT = re.compile(r" *(?:#[ -~]*)?")
_QUOTED = re.compile(r"""(?:"[ !#-\[\]-~]*"|'[ -&(-~]*')""")
# YAML 1.1 §9.1.2: `: ` and ` #` end words without quotes, and most marks cannot begin them.
_WORDS = re.compile(r"[A-Za-z0-9_/(](?:[!-9;-~]++|:(?=[!-~])| (?!#))*")
_ENTRIES = re.compile(rf"{_QUOTED.pattern}|[A-Za-z0-9_/(](?: *[A-Za-z0-9_/.()+-])*")
_LIST = re.compile(rf"\[ *(?:(?:{_ENTRIES.pattern}) *(?:, *(?:{_ENTRIES.pattern}) *)*)?\] *")


class NotPlain(Exception):
    """Only the parser can read it."""


def read_plain(source: str, word: Callable[[str], object]) -> dict[str, object] | None:
    """The mapping that front matter holds; None where only the parser can read it.

    `word` gives the value of words without quotes, which YAML may take for a number or a date, or raises
    NotPlain.
    """
    try:
        return _mapping(source, word)
    except NotPlain:
        return None


def _mapping(source: str, word: Callable[[str], object]) -> dict[str, object]:
    found: dict[str, object] = {}
    key = indent = ""
    items: list[object] | None = None
    for line in source.replace("\r\n", "\n").split("\n"):
        if pair := _PAIR.fullmatch(line):
            key = str(word(pair[1]))
            # A list may follow a key without a value.
            found[key], items = (_value(pair[2], word), None) if pair[2] else (None, [])
        elif item := items is not None and _ITEM.fullmatch(line):
            if items and item[1] != indent:
                raise NotPlain
            indent = item[1]
            items.append(_scalar(item[2], word))
            found[key] = items
        elif not _COMMENT.fullmatch(line):
            raise NotPlain
    return found


def _value(text: str, word: Callable[[str], object]) -> object:
    if text[0] == "[" and _LIST.fullmatch(text):
        return [_scalar(entry, word) for entry in _ENTRIES.findall(text)]
    return _scalar(text, word)


def _scalar(text: str, word: Callable[[str], object]) -> object:
    text = text.rstrip(" ")
    if _WORDS.fullmatch(text):
        return word(text)
    if not _QUOTED.fullmatch(text):
        raise NotPlain
    return text[1:-1]
