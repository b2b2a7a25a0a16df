"""What a text in a template may hold: a bounded number of characters, all of them visible.

Guidance is read by a model as an instruction, so a reviewer must be able to see all of it.
"""

from __future__ import annotations

import re

from templates.invalid import InvalidTemplate

# Control characters other than tab and newline, line separators, and what reorders or hides the text of a
# line. The joiners U+200C and U+200D are left out: Persian and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)


def decode(data: bytes, field: str, limit: int) -> str:
    """Return the text of a file: UTF-8, a byte order mark dropped, LF line ends, at most `limit` bytes."""
    if len(data) > limit:
        raise InvalidTemplate(field, f"the file has {len(data)} bytes; at most {limit} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTemplate(field, f"byte {error.start} is not UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    check_visible(text, field)
    return text


def check_visible(text: str, field: str) -> None:
    """Raise InvalidTemplate if the text holds a character that a reader would not see."""
    found = _HIDDEN.search(text)
    if found:
        raise InvalidTemplate(
            field, f"character {found.start() + 1} is U+{ord(found[0]):04X}, which a reader cannot see"
        )
