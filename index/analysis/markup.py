"""What Markdown shows to programs and not to readers, and so is not searched."""

from __future__ import annotations

import re

# An unclosed comment runs to the end, and what may repeat keeps what it took (`++`) or ends at what begins
# the next: all of these stay linear on hostile text.
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(rb"</?(?:a|img)\b[^<>]*>|<#[^\s<>]+>")
_TARGET = re.compile(
    rb"""\]\((?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)"""
)
_DEFINITION = re.compile(rb"^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
_ANCHOR = re.compile(rb"\{:?[ \t]*+#[^\s{}]++[^{}\n]*+\}")
_ENTITY = re.compile(rb"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


def readable(text: bytes) -> bytes:
    """Give Markdown without comments, addresses of links, anchors and entities.

    Most texts hold none of them: an expression is tried only where the bytes that it begins with occur. One
    byte is looked for first, because that is many times quicker than two.
    """
    if b"<" in text:
        if b"<!--" in text:
            text = _COMMENT.sub(b" ", text)
        text = _TAG.sub(b" ", text)
    if b"]" in text:
        if b"](" in text:
            text = _TARGET.sub(b" ", text)
        if b"]:" in text:
            text = _DEFINITION.sub(b" ", text)
    if b"{" in text and b"#" in text:
        text = _ANCHOR.sub(b" ", text)
    if b"&" in text:
        text = _ENTITY.sub(b" ", text)
    return text
