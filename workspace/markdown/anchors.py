"""Anchors: explicit ids of headings, in the forms that site generators use.

## Endpoints {#endpoints}              braces (also `{#endpoints .class}`)
## Endpoints { #endpoints }            spaced, {: #endpoints } colon, {/* #endpoints */} comment
## Endpoints <#endpoints>              angle
## <a id="endpoints"></a>Endpoints     HTML, in the heading or on lines of its own above it

`attribute_lists` parses the forms in braces. A list without an id (`{.class}`) is neither an anchor nor text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.markdown.attribute_lists import AnchorForm, AttributeList, find_trailing_lists, is_escaped
from workspace.markdown.slugs import make_heading_slug

_ANGLE_ANCHOR = re.compile(r"<#(?P<name>[^\s<>\[\]]+)>")
_HTML_ANCHOR_PATTERN = r"""<a[ \t]+(?:id|name)[ \t]*=[ \t]*(?:"[^"\s\[\]]+"|'[^'\s\[\]]+')[ \t]*>[ \t]*</a>"""
_HTML_ANCHOR = re.compile(_HTML_ANCHOR_PATTERN, re.IGNORECASE)
# Fast path: one HTML anchor before a title that cannot contain another anchor.
_HTML_FIRST = re.compile(r"""(<a (?:id|name)="([^"'\s<>\[\]]+)"></a>)([^<`\\}]*)""")
# Fast path: one anchor in braces after a title that cannot contain another anchor.
_BRACES_LAST = re.compile(r"((?=\S)[^{}<`\\]*[^\s{}<`\\#$])([ \t]*\{#([^\s{}\[\]#]+)\})")
_HTML_ANCHOR_LINE = re.compile(rf"[ ]{{0,3}}(?:{_HTML_ANCHOR_PATTERN}[ \t]*)+$", re.IGNORECASE)
_HTML_NAME = re.compile(r"""=[ \t]*["']([^"']+)["']""")
# CommonMark §2.4 and §6.1: text after a backslash or in a code span is literal, not an anchor.
_LITERAL_OR_HTML = re.compile(
    rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|(?P<tag>{_HTML_ANCHOR_PATTERN})",
    re.IGNORECASE | re.DOTALL,
)
TASK_ID = re.compile(r"[ \t]+\{#(?P<id>[^\s{}\[\]#]+)\}$")
"""The id at the end of a task's title."""

_VALID_NAME = re.compile(r"[^\s{}<>\[\]\"'#]{1,1000}$")
# Python-Markdown, kramdown and Pandoc remove closing #s also before an attribute list. A single # may belong
# to the title (`C # {#c}`).
_MARKS_BEFORE_LIST = re.compile(r"(?:^|[ \t]+)#{2,}$")

# The search for tags between code spans is slow in a long line, and people write shorter headings.
_MAX_HEADING_LENGTH = 10_000
_NUMBER_SUFFIX = re.compile(r"-[0-9]{1,9}$")


class HeadingText(NamedTuple):
    """A heading's inline Markdown, split into its `title` and the anchors before and after the title.

    `name` is the explicit anchor, or None. `aliases` are the heading's other anchors. `suffix` includes
    attribute lists, with and without an id.
    """

    prefix: str
    title: str
    suffix: str
    name: str | None
    anchor_form: AnchorForm | None
    aliases: tuple[str, ...]

    def with_title(self, title: str) -> str:
        """Return the heading's inline Markdown with another title between the same anchors."""
        return f"{self.prefix}{_escape_closing_marks(title, is_last=not self.suffix)}{self.suffix}"


class _Tail(NamedTuple):
    """The end of a heading after its title: attribute lists, then perhaps an anchor in angle brackets.

    `end` is the end of the title. `derived_span` is the span of an anchor that an earlier version of Docyard
    wrote after an author's id, or None. That version read the attribute list as part of the title.
    """

    end: int
    name: str | None
    anchor_form: AnchorForm | None
    names: tuple[str, ...]
    derived_span: tuple[int, int] | None


def read_heading(source: str) -> HeadingText:
    """Split a heading into its title and its anchors.

    The name comes from braces or angle brackets, else from the last HTML anchor.
    """
    source = source.strip()
    if "<" not in source and not source.endswith("}"):
        return HeadingText("", source, "", None, None, ())
    if html_match := _HTML_FIRST.fullmatch(source):
        title = html_match[3].lstrip()
        gap = html_match[3][: len(html_match[3]) - len(title)]
        return HeadingText(html_match[1] + gap, title.rstrip(), "", html_match[2], AnchorForm.HTML, ())
    if braces_match := _BRACES_LAST.fullmatch(source):
        title, braces, name = braces_match.groups()
        return HeadingText("", title, braces, name, AnchorForm.BRACES, ())
    tail = _read_tail(source)
    prefix, title, html_suffix = split_html(source[: tail.end])
    name, form = tail.name, tail.anchor_form
    names = find_html_names(prefix + html_suffix)
    if name is None and names:
        name, form = names[-1], AnchorForm.HTML
    aliases = tuple(dict.fromkeys(alias for alias in (*tail.names, *names) if alias != name))
    if prefix:
        prefix += title[: len(title) - len(title.lstrip())]
    return HeadingText(prefix, title.strip(), html_suffix + source[tail.end :], name, form, aliases)


def is_plain_braces_heading(source: str) -> bool:
    """Return True if a heading is a title and `{#id}`, which every version of Docyard reads equally."""
    return _BRACES_LAST.fullmatch(source) is not None


def strip_attribute_lists(source: str) -> str:
    """Return a heading's inline Markdown without its trailing attribute lists and angle anchor."""
    return source[: _read_tail(source).end] if source.endswith(("}", ">")) else source


def find_derived_anchor(source: str) -> tuple[str, int, int] | None:
    """Return an anchor that an earlier version of Docyard derived from an attribute list, and its span.

    In `First steps { #first-steps } {#first-steps--first-steps-}` that version read the first list as text,
    and wrote the address derived from the text as a second anchor. The span includes the space before the
    anchor. Return None if there is no such anchor.
    """
    source = source.rstrip()
    if not source.endswith(("}", ">")):
        return None
    tail = _read_tail(source)
    if tail.derived_span is not None:
        return source[slice(*tail.derived_span)].strip(" \t{}<>#"), *tail.derived_span
    lists = find_trailing_lists(source)
    if "<" not in source or not any(item.names and not item.is_plain for item in lists):
        return None
    for match in _LITERAL_OR_HTML.finditer(source):
        name = match["tag"] and _HTML_NAME.search(match["tag"])
        if name and _is_derived(name[1], source[tail.end :]):
            return name[1], match.start(), match.end()
    return None


def find_name_spans(source: str) -> list[tuple[int, int]]:
    """Return the span [start, end) of each id in the attribute lists or angle brackets that end a heading."""
    angle_match = _match_angle_anchor(source)
    end = len(source[: angle_match.start()].rstrip(" \t")) if angle_match else len(source)
    spans = [(name.start, name.end) for item in find_trailing_lists(source[:end]) for name in item.names]
    return [*spans, angle_match.span("name")] if angle_match else spans


def _read_tail(source: str) -> _Tail:
    end = len(source)
    angle_match = _match_angle_anchor(source)
    if angle_match:
        end = len(source[: angle_match.start()].rstrip(" \t"))
    lists = find_trailing_lists(source[:end])
    if not lists:
        if angle_match is None:
            return _Tail(end, None, None, (), None)
        return _Tail(end, angle_match["name"], AnchorForm.ANGLE, (angle_match["name"],), None)
    lists_end = end
    end = len(source[: lists[0].start].rstrip(" \t"))
    if marks := _MARKS_BEFORE_LIST.search(source, 0, end):
        end = marks.start()
    names = [(name.name, item) for item in lists for name in item.names]
    last_anchor: tuple[str, AnchorForm] | None = (names[-1][0], names[-1][1].anchor_form) if names else None
    derived_span = None
    if angle_match:
        other_lists = lists
        last_anchor, last_span = (angle_match["name"], AnchorForm.ANGLE), (lists_end, len(source))
    else:
        other_lists = lists[:-1]
        last_span = (len(source[: lists[-1].start].rstrip(" \t")), lists_end)
    author_names = [
        (name.name, item.anchor_form) for item in other_lists if not item.is_plain for name in item.names
    ]
    may_be_generated = angle_match is not None or (lists[-1].is_plain and _is_only_id(source, lists[-1]))
    if (
        last_anchor
        and author_names
        and may_be_generated
        and _is_derived(last_anchor[0], source[lists[0].start : last_span[0]])
    ):
        derived_span, derived_name = last_span, last_anchor[0]
        last_anchor = author_names[-1]
        return _Tail(end, *last_anchor, (*(name for name, _ in names), derived_name), derived_span)
    all_names = [name for name, _ in names] + ([angle_match["name"]] if angle_match else [])
    return _Tail(end, last_anchor and last_anchor[0], last_anchor and last_anchor[1], tuple(all_names), None)


def _match_angle_anchor(source: str) -> re.Match[str] | None:
    start = source.rfind("<#")
    match = _ANGLE_ANCHOR.fullmatch(source, start) if start >= 0 else None
    return match if match and not is_escaped(source, start) else None


def _is_only_id(source: str, item: AttributeList) -> bool:
    """Return True for `{#id}`, as Docyard writes it."""
    return len(item.names) == 1 and source[item.start : item.end] == f"{{#{item.names[0].name}}}"


def _is_derived(name: str, lists: str) -> bool:
    """Return True if a name ends like the slug of a title that ends in these attribute lists."""
    # A renderer removes marks of emphasis from the title, but a slug retains `_`.
    slug_end = make_heading_slug(f" {lists.strip()}").replace("_", "")
    slug_ends = (slug_end, f"/{slug_end.removeprefix('-')}")
    short_name = name.replace("_", "")
    return short_name.endswith(slug_ends) or _NUMBER_SUFFIX.sub("", short_name).endswith(slug_ends)


def split_html(text: str) -> tuple[str, str, str]:
    """Split a text into the HTML anchors before it, the text, and the anchors after it.

    An anchor within the text is returned with the anchors before the text.
    """
    tags = []
    if len(text) <= _MAX_HEADING_LENGTH and _HTML_ANCHOR.search(text):
        tags = [match for match in _LITERAL_OR_HTML.finditer(text) if match["tag"]]
    if not tags:
        return "", text, ""
    leading_count = trailing_count = 0
    start, end = 0, len(text)
    for tag in tags:
        if text[start : tag.start()].strip():
            break
        start, leading_count = tag.end(), leading_count + 1
    for tag in reversed(tags[leading_count:]):
        if text[tag.end() : end].strip():
            break
        end, trailing_count = tag.start(), trailing_count + 1
    title, position, inner_tags = "", start, ""
    for tag in tags[leading_count : len(tags) - trailing_count]:
        title += text[position : tag.start()]
        inner_tags, position = inner_tags + tag.group(), tag.end()
    title += text[position:end]
    end -= len(title) - len(title.rstrip(" \t"))
    return text[:start] + inner_tags, title, text[end:]


def find_html_names(text: str) -> tuple[str, ...]:
    """Return the names of HTML anchors in a text, in order."""
    return tuple(name for tag in _HTML_ANCHOR.findall(text) for name in _HTML_NAME.findall(tag))


def is_anchor_line(line: str) -> bool:
    """Return True if a line contains only HTML anchors."""
    return _HTML_ANCHOR_LINE.match(line.rstrip()) is not None


def is_valid_name(name: str) -> bool:
    """Return True if a name can be written as an anchor in every form."""
    return _VALID_NAME.match(name) is not None


def plan_anchor_insertion(source: str, name: str, form: AnchorForm) -> tuple[str, str]:
    """Return the part of a heading that follows a new anchor, and the text of the anchor.

    A heading that ends in an attribute list gets the id in that list, because renderers read only one list.
    """
    if form is AnchorForm.HTML:
        return source, f'<a id="{name}"></a>'
    lists = find_trailing_lists(source) if source.endswith("}") else []
    if lists and lists[-1].anchor_form is not AnchorForm.COMMENT:
        return source[lists[-1].items_start :], f"#{name} "
    match form:
        case AnchorForm.ANGLE:
            anchor = f"<#{name}>"
        case AnchorForm.SPACED:
            anchor = f"{{ #{name} }}"
        case AnchorForm.COLON:
            anchor = f"{{: #{name} }}"
        case AnchorForm.COMMENT:
            anchor = f"{{/* #{name} */}}"
        case _:
            anchor = f"{{#{name}}}"
    return "", f" {anchor}"


def write_heading(title: str, name: str, form: AnchorForm) -> str:
    """Return a heading's inline Markdown with an anchor."""
    tail, anchor = plan_anchor_insertion(title, name, form)
    if form is AnchorForm.HTML:
        return anchor + _escape_closing_marks(title, is_last=True)
    if not tail:
        title = _escape_closing_marks(title, is_last=False)
    return f"{title[: len(title) - len(tail)]}{anchor}{tail}".lstrip(" ")


def _escape_closing_marks(title: str, *, is_last: bool) -> str:
    """Return a title with a backslash before #s that would close the heading (CommonMark §4.2).

    `is_last` is True if nothing follows the title in the heading.
    """
    return re.sub(r"(^|[ \t])(#+)$" if is_last else r"(^|[ \t])(#{2,})$", r"\1\\\2", title)
