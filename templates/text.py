"""Checks of the texts in a template: their size, and invisible characters.

A model reads guidance as an instruction, so a reviewer must be able to see all of it.
"""

from __future__ import annotations

import re

from templates.invalid import InvalidTemplate

# Control characters other than tab and newline, line separators, and characters that reorder or hide text.
# The joiners U+200C and U+200D are permitted: Persian and emoji need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)


def decode_text(data: bytes, field: str, limit: int) -> str:
    """Return the text of a UTF-8 file of at most `limit` bytes, with LF line ends.

    A byte order mark is removed. Raises InvalidTemplate.
    """
    if len(data) > limit:
        raise InvalidTemplate(field, f"the file has {len(data)} bytes; at most {limit} are allowed")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTemplate(field, f"byte {error.start} is not UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    check_visible(text, field)
    return text


def check_visible(text: str, field: str) -> None:
    """Raise InvalidTemplate if the text contains an invisible character."""
    match = _INVISIBLE.search(text)
    if match:
        raise InvalidTemplate(
            field, f"character {match.start() + 1} is U+{ord(match[0]):04X}, which is invisible"
        )
