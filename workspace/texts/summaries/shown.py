"""What a summary leaves out of the words that it keeps: markup that says nothing to a reader of text."""

from __future__ import annotations

import re

from workspace.texts.summaries.sentences import CODE_SPAN

_SPACE = re.compile(r"\s+")
_IMAGE = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)")
# Behind a word, brackets side by side are indexes more often than a link.
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)|(?<!\w)\[([^\[\]\n]*)\]\[[^\[\]\n]*\]")
_TAG = re.compile(
    r"</?(?:a|abbr|b|br|center|details|div|em|font|i|img|kbd|li|ol|p|span|strong|sub|summary|sup|"
    r"table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_SHORTCODE = re.compile(r"\{\{[<%]([^{}]*)[>%]\}\}")
_TEXT_OF = re.compile(r"\btext=\"([^\"]*)\"")
_ANCHOR = re.compile(r"\{#[^{}\s]*\}")
# A role of reStructuredText before what it is of.
_ROLE = re.compile(r"(?<![\w:`]):(?:[a-z]+:)?[a-z]+:(?=`)")
# What stands for a code span while markup is left out around it: a private character, rare in texts.
_MARK = "\ue000"
_PUT_ASIDE = re.compile(rf"`{_MARK}(\d+)`")


def as_shown(source: str) -> str:
    """Inline text on one line, without the destinations of links, images, comments, tags and anchors.

    Every word that a reader of the rendered text sees is kept as it is, and so are emphasis and code spans.
    Each pattern stops at the mark with which it begins, so the time is linear in the text.
    """
    if "`" not in source or _MARK in source:
        return _SPACE.sub(" ", _without_markup(source)).strip()
    spans: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        spans.append(found[0])
        return f"`{_MARK}{len(spans) - 1}`"

    marked = _without_markup(CODE_SPAN.sub(put_aside, source))
    shown = _PUT_ASIDE.sub(lambda found: spans[int(found[1])], marked)
    return _SPACE.sub(" ", shown).strip()


def _without_markup(text: str) -> str:
    if "<" in text:
        text = _TAG.sub(" ", _without_comments(text))
    if "](" in text or "][" in text:
        text = _LINK.sub(r"\1\2", _IMAGE.sub(" ", text))
    if "{" in text:
        text = _ANCHOR.sub("", _SHORTCODE.sub(_of_shortcode, text))
    if ":`" in text:
        text = _ROLE.sub("", text)
    return text


def _without_comments(text: str) -> str:
    """A text without its HTML comments; one that nothing closes is none."""
    pieces: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces.append(text[place:start])
        place = end + len("-->")
    return " ".join((*pieces, text[place:]))


def _of_shortcode(found: re.Match[str]) -> str:
    """The text that a shortcode of Hugo carries."""
    text = _TEXT_OF.search(found[1])
    return text[1] if text else " "
