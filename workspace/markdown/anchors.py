"""Anchors: the explicit names that headings carry, in the forms that a reader may meet.

## Endpoints {#endpoints}              braces (also `{#endpoints .class}`)
## Endpoints { #endpoints }            spaced, {: #endpoints } colon, {/* #endpoints */} comment
## Endpoints <#endpoints>              angle
## <a id="endpoints"></a>Endpoints     HTML, in the heading or on a line of its own just above it

`attribute_lists` reads what stands in braces; a list without an id (`{.class}`) is no anchor and no text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.markdown.attribute_lists import AnchorForm, AttributeList, find_trailing_lists, is_escaped
from workspace.markdown.slugs import make_heading_slug

_ANGLE = re.compile(r"<#(?P<name>[^\s<>\[\]]+)>")
_TAG = r"""<a[ \t]+(?:id|name)[ \t]*=[ \t]*(?:"[^"\s\[\]]+"|'[^'\s\[\]]+')[ \t]*>[ \t]*</a>"""
_HTML = re.compile(_TAG, re.IGNORECASE)
# How nearly all HTML anchors in headings are written: one, before words in which nothing else could be one.
_HTML_FIRST = re.compile(r"""(<a (?:id|name)="([^"'\s<>\[\]]+)"></a>)([^<`\\}]*)""")
# How nearly all anchors in braces are written, behind words in which nothing else could be an anchor.
_BRACES_LAST = re.compile(r"((?=\S)[^{}<`\\]*[^\s{}<`\\#$])([ \t]*\{#([^\s{}\[\]#]+)\})")
_HTML_LINE = re.compile(rf"[ ]{{0,3}}(?:{_TAG}[ \t]*)+$", re.IGNORECASE)
_HTML_NAME = re.compile(r"""=[ \t]*["']([^"']+)["']""")
# CommonMark §2.4 and §6.1: what a backslash or a code span makes literal is no anchor.
_LITERAL_OR_HTML = re.compile(
    rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|(?P<tag>{_TAG})", re.IGNORECASE | re.DOTALL
)
_VALID_NAME = re.compile(r"[^\s{}<>\[\]\"'#]{1,1000}$")
# Python-Markdown, kramdown and Pandoc take closing #s off a heading also before an attribute list. A single
# one may belong to the words (`C # {#c}`).
_MARKS_BEFORE_LIST = re.compile(r"(?:^|[ \t]+)#{2,}$")

# A longer line is no heading that a person wrote; looking for tags between its code spans could take long.
_MAX_HEADING = 10_000
_NUMBER = re.compile(r"-[0-9]{1,9}$")


class HeadingText(NamedTuple):
    """A heading's inline Markdown taken apart: the `words`, and the anchors that stand before and after them.

    `name` is the explicit anchor (None if there is none), `aliases` are further names it answers to. The
    `suffix` includes attribute lists, with and without an id.
    """

    prefix: str
    words: str
    suffix: str
    name: str | None
    form: AnchorForm | None
    aliases: tuple[str, ...]

    def with_words(self, words: str) -> str:
        """Return the heading's inline Markdown with other words between the same anchors."""
        return f"{self.prefix}{_with_literal_marks(words, is_last=not self.suffix)}{self.suffix}"


class _Tail(NamedTuple):
    """The end of a heading after its words: attribute lists, then perhaps an anchor in angles.

    `end` is where the words end. `derived` is the span of an anchor that an earlier version wrote behind an
    author's id, because it took the attribute list for words; None without one.
    """

    end: int
    name: str | None
    form: AnchorForm | None
    names: tuple[str, ...]
    derived: tuple[int, int] | None


def read_heading(source: str) -> HeadingText:
    """Take a heading's anchors off its words. Braces or an angle name it, else its last HTML anchor."""
    source = source.strip()
    if "<" not in source and not source.endswith("}"):
        return HeadingText("", source, "", None, None, ())
    if first := _HTML_FIRST.fullmatch(source):
        words = first[3].lstrip()
        gap = first[3][: len(first[3]) - len(words)]
        return HeadingText(first[1] + gap, words.rstrip(), "", first[2], AnchorForm.HTML, ())
    if last := _BRACES_LAST.fullmatch(source):
        return HeadingText("", last[1], last[2], last[3], AnchorForm.BRACES, ())
    tail = _read_tail(source)
    prefix, words, html_suffix = split_html(source[: tail.end])
    name, form = tail.name, tail.form
    names = find_html_names(prefix + html_suffix)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(dict.fromkeys(alias for alias in (*tail.names, *names) if alias != name))
    if prefix:
        prefix += words[: len(words) - len(words.lstrip())]
    return HeadingText(prefix, words.strip(), html_suffix + source[tail.end :], name, form, aliases)


def is_usual(source: str) -> bool:
    """Return True if a heading's inline Markdown is words and `{#id}`, which every version read alike."""
    return _BRACES_LAST.fullmatch(source) is not None


def strip_attribute_lists(source: str) -> str:
    """Return a heading's inline Markdown without the attribute lists and the anchor in angles that end it."""
    return source[: _read_tail(source).end] if source.endswith(("}", ">")) else source


def find_derived_anchor(source: str) -> tuple[str, int, int] | None:
    """Return the anchor that an earlier version derived from an author's attribute list, and its span.

    `First steps { #first-steps } {#first-steps--first-steps-}`: the version took the list for words, and
    wrote the address that it derived from them as a second anchor. The span includes the space before it.
    """
    source = source.rstrip()
    if not source.endswith(("}", ">")):
        return None
    tail = _read_tail(source)
    if tail.derived is not None:
        return source[slice(*tail.derived)].strip(" \t{}<>#"), *tail.derived
    lists = find_trailing_lists(source)
    if "<" not in source or not any(one.names and not one.is_plain for one in lists):
        return None
    for found in _LITERAL_OR_HTML.finditer(source):
        name = found["tag"] and _HTML_NAME.search(found["tag"])
        if name and _is_derived(name[1], source[tail.end :]):
            return name[1], found.start(), found.end()
    return None


def find_name_spans(source: str) -> list[tuple[int, int]]:
    """Return the characters [start, end) of each id in the attribute lists or angles that end a heading."""
    angle = _angle(source)
    end = len(source[: angle.start()].rstrip(" \t")) if angle else len(source)
    spans = [(name.start, name.end) for one in find_trailing_lists(source[:end]) for name in one.names]
    return [*spans, angle.span("name")] if angle else spans


def _read_tail(source: str) -> _Tail:
    end = len(source)
    angle = _angle(source)
    if angle:
        end = len(source[: angle.start()].rstrip(" \t"))
    lists = find_trailing_lists(source[:end])
    if not lists:
        if angle is None:
            return _Tail(end, None, None, (), None)
        return _Tail(end, angle["name"], AnchorForm.ANGLE, (angle["name"],), None)
    before = end
    end = len(source[: lists[0].start].rstrip(" \t"))
    if marks := _MARKS_BEFORE_LIST.search(source, 0, end):
        end = marks.start()
    names = [(name.name, one) for one in lists for name in one.names]
    last: tuple[str, AnchorForm] | None = (names[-1][0], names[-1][1].form) if names else None
    derived = None
    if angle:
        own = lists
        last, span = (angle["name"], AnchorForm.ANGLE), (before, len(source))
    else:
        own = lists[:-1]
        span = (len(source[: lists[-1].start].rstrip(" \t")), before)
    authored = [(name.name, one.form) for one in own if not one.is_plain for name in one.names]
    is_written = angle is not None or (lists[-1].is_plain and _is_bare(source, lists[-1]))
    if last and authored and is_written and _is_derived(last[0], source[lists[0].start : span[0]]):
        derived, written = span, last[0]
        last = authored[-1]
        return _Tail(end, *last, (*(name for name, _ in names), written), derived)
    every = [name for name, _ in names] + ([angle["name"]] if angle else [])
    return _Tail(end, last and last[0], last and last[1], tuple(every), None)


def _angle(source: str) -> re.Match[str] | None:
    start = source.rfind("<#")
    found = _ANGLE.fullmatch(source, start) if start >= 0 else None
    return found if found and not is_escaped(source, start) else None


def _is_bare(source: str, one: AttributeList) -> bool:
    """Return True for `{#id}`, as Docyard writes it."""
    return len(one.names) == 1 and source[one.start : one.end] == f"{{#{one.names[0].name}}}"


def _is_derived(name: str, lists: str) -> bool:
    """Return True if a name ends as the slug of words that end in these attribute lists."""
    # A renderer takes marks of emphasis off the words, and a slug keeps `_`.
    ending = make_heading_slug(f" {lists.strip()}").replace("_", "")
    endings = (ending, f"/{ending.removeprefix('-')}")
    plain = name.replace("_", "")
    return plain.endswith(endings) or _NUMBER.sub("", plain).endswith(endings)


def split_html(text: str) -> tuple[str, str, str]:
    """Return the HTML anchors before a text, the text, and those after it; one within it counts as before."""
    tags = []
    if len(text) <= _MAX_HEADING and _HTML.search(text):
        tags = [found for found in _LITERAL_OR_HTML.finditer(text) if found["tag"]]
    if not tags:
        return "", text, ""
    leading = trailing = 0
    start, end = 0, len(text)
    for tag in tags:
        if text[start : tag.start()].strip():
            break
        start, leading = tag.end(), leading + 1
    for tag in reversed(tags[leading:]):
        if text[tag.end() : end].strip():
            break
        end, trailing = tag.start(), trailing + 1
    words, position, amid = "", start, ""
    for tag in tags[leading : len(tags) - trailing]:
        words += text[position : tag.start()]
        amid, position = amid + tag.group(), tag.end()
    words += text[position:end]
    end -= len(words) - len(words.rstrip(" \t"))
    return text[:start] + amid, words, text[end:]


def find_html_names(text: str) -> tuple[str, ...]:
    """Return the names of HTML anchors in a text, in order."""
    return tuple(name for tag in _HTML.findall(text) for name in _HTML_NAME.findall(tag))


def is_anchor_line(line: str) -> bool:
    """Return True if a line holds HTML anchors and nothing else."""
    return _HTML_LINE.match(line.rstrip()) is not None


def is_valid_name(name: str) -> bool:
    """Return True if a name can be written as an anchor in every form."""
    return _VALID_NAME.match(name) is not None


def plan_anchor_insertion(source: str, name: str, form: AnchorForm) -> tuple[str, str]:
    """Return the end of a heading's inline Markdown behind a new anchor, and the text that writes the anchor.

    A heading that ends in an attribute list gets the id in that list: renderers read one list alone.
    """
    if form is AnchorForm.HTML:
        return source, f'<a id="{name}"></a>'
    lists = find_trailing_lists(source) if source.endswith("}") else []
    if lists and lists[-1].form is not AnchorForm.COMMENT:
        return source[lists[-1].inner :], f"#{name} "
    match form:
        case AnchorForm.ANGLE:
            text = f"<#{name}>"
        case AnchorForm.SPACED:
            text = f"{{ #{name} }}"
        case AnchorForm.COLON:
            text = f"{{: #{name} }}"
        case AnchorForm.COMMENT:
            text = f"{{/* #{name} */}}"
        case _:
            text = f"{{#{name}}}"
    return "", f" {text}"


def write_heading(words: str, name: str, form: AnchorForm) -> str:
    """Return a heading's inline Markdown with its anchor."""
    behind, text = plan_anchor_insertion(words, name, form)
    if form is AnchorForm.HTML:
        return text + _with_literal_marks(words, is_last=True)
    if not behind:
        words = _with_literal_marks(words, is_last=False)
    return f"{words[: len(words) - len(behind)]}{text}{behind}".lstrip(" ")


def _with_literal_marks(words: str, *, is_last: bool) -> str:
    """Return words with a backslash before #s that would be read as closing ones (CommonMark §4.2)."""
    return re.sub(r"(^|[ \t])(#+)$" if is_last else r"(^|[ \t])(#{2,})$", r"\1\\\2", words)
