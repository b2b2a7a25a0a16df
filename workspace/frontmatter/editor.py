"""Set keys of front matter: what differs is spliced, and the result is read again.

Every other key, comment and blank line stays byte for byte.

Write values as YAML, quoted where YAML asks for it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workspace.frontmatter.lines import Layout, OwnLines
from workspace.frontmatter.reader import InvalidFrontMatter, are_same, loader, read
from workspace.markdown.lines import LINE_END, line_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml

    from workspace.frontmatter.nested import Splice

_WIDTH = 10**6


# Line ends that only YAML knows as such, and what cannot be seen; not the joiners of emoji and of Persian.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


# A line that would end the front matter, indented though it is.
_MARK = re.compile(r"\n[ ]*---|^[ ]*---[^\n]*\n")


def write_pair(key: object, value: object) -> str:
    """Return the lines of a key: below it a mapping or a list of structures, beside it a list of words."""
    return _dump({key: value})


def write_item(value: object) -> str:
    """Return the lines of an item of a list."""
    if not isinstance(value, (dict, list)) or not value or _is_flat(value):
        return f"- {write_inline(value)}\n"
    return f"- {indented(_dump(value), 2)}"


def write_inline(value: object, quotes: str | None = None) -> str:
    """Return a value on one line, as it can stand anywhere; `quotes` are those of the text before it."""
    # A list in brackets is the only place where YAML writes any value on one line.
    return _dump([value], is_flow=True, quotes=quotes if isinstance(value, str) else None)[1:-2]


def with_comment(text: str, comment: str) -> str:
    """Return the lines of a key or item, with a comment behind the first."""
    return text.replace("\n", f" {comment}\n", 1) if comment else text


def indented(text: str, columns: int) -> str:
    """Return lines of which all but the first are moved to the right."""
    return re.sub(r"\n(?=[^\n])", "\n" + " " * columns, text)


def _is_flat(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)


def _dump(value: object, *, is_flow: bool = False, quotes: str | None = None) -> str:
    import yaml

    return yaml.dump(
        value,
        Dumper=_dumper(),
        default_flow_style=is_flow,
        default_style=quotes,
        allow_unicode=True,
        width=_WIDTH,
        sort_keys=False,
    )


@cache
def _dumper() -> type[yaml.SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes each value out: one date that stands in two places is no anchor and alias."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_words(self, data: list[object]) -> yaml.Node:
            return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=_is_flat(data) or None)

        def represent_text(self, data: str) -> yaml.Node:
            style = None
            if _UNSEEN.search(data) or _MARK.search(data):
                style = '"'
            elif "\n" in data:
                style = "|" if data[:1].strip() and not self.default_flow_style else '"'
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Dumper.add_representer(list, Dumper.represent_words)
    Dumper.add_representer(str, Dumper.represent_text)
    return Dumper


REMOVED: Final = object()


"""In place of a value: the key goes."""


class _Key(NamedTuple):
    """A top-level key: its lines and value, which are the last where it stands there twice."""

    own: OwnLines
    value: yaml.Node
    is_repeated: bool


def set_keys(source: str, values: Mapping[str, object], ending: str, *, is_whole: bool = False) -> str:
    """Return front matter with keys set, or taken out where the value is REMOVED; new ones come at the end.

    Within a list or mapping only what differs is written anew, unless `is_whole`. A comment behind a value of
    one line stays.
    Raises InvalidFrontMatter where the source is not a block of `key: value` lines, where another key would
    change, and, unless `is_whole`, where a key that is to change stands there twice.
    """
    before = read(source)
    layout = Layout(source)
    keys = _keys(layout)
    splices: list[Splice] = []
    added = ""
    wanted = dict(before)
    for key, value in values.items():
        found = keys.get(key)
        if found is not None and found.is_repeated and not is_whole:
            raise InvalidFrontMatter(
                "a key that is to change stands in the front matter twice",
                fix="Leave one of the two by hand.",
                line=found.own.first + 2,
            )
        wanted.pop(key, None)
        if value is not REMOVED:
            wanted[key] = value
        if found is None:
            added += "" if value is REMOVED else write_pair(key, value)
            continue
        inside = None if is_whole else _inside(layout, before, key, value, found)
        splices += [_anew(layout, key, value, found.own)] if inside is None else inside
    return _checked(_spliced(source, splices, added, ending), wanted, next(iter(values), ""))


def _inside(
    layout: Layout, before: Mapping[str, object], key: str, value: object, found: _Key
) -> list[Splice] | None:
    """Return the splices within a list or mapping; None where its key is to be written anew."""
    known = before[key]
    if not isinstance(known, (dict, list)) or type(known) is not type(value):
        return None
    from workspace.frontmatter.nested import NotInPlace, nested_splices

    try:
        splices = nested_splices(layout, found.value, known, value, found.own.end)
        written = read(_spliced(layout.source, splices, "", "\n"))
    except (NotInPlace, InvalidFrontMatter):
        return None
    return splices if are_same(dict(written), {**before, key: value}) else None


def _anew(layout: Layout, key: str, value: object, own: OwnLines) -> Splice:
    """Return the splice of the lines of a key that is written anew."""
    text = "" if value is REMOVED else write_pair(key, value)
    return layout.starts[own.first], layout.starts[own.end], with_comment(text, own.comment)


def _spliced(source: str, splices: Sequence[Splice], added: str, ending: str) -> str:
    """Return the source with splices, whose lines end in LF, and with lines added at its end."""
    parts: list[str] = []
    position = 0
    for start, end, text in sorted(splices):
        parts += (source[position:start], LINE_END.sub(lambda _: ending, text))
        position = end
    written = "".join(parts) + source[position:]
    if added and written and not written.endswith(("\n", "\r")):
        written += line_ending(written.encode()).decode()
    return written + LINE_END.sub(lambda _: ending, added)


def _checked(written: str, wanted: Mapping[str, object], key: str) -> str:
    try:
        is_right = are_same(dict(read(written)), dict(wanted))
    except InvalidFrontMatter:
        is_right = False
    if not is_right:
        raise InvalidFrontMatter(
            f"'{key}' cannot be replaced without changing other front matter",
            fix="Edit the block by hand: a key stands there twice, or another value refers to this one.",
        )
    return written


def _keys(layout: Layout) -> dict[str, _Key]:
    """Find the top-level keys. Raises InvalidFrontMatter for a mapping in braces, or none."""
    import yaml

    node = yaml.compose(layout.source, loader())
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise InvalidFrontMatter(
            "the front matter is not a block of `key: value` lines", fix="Write one key a line."
        )
    found: dict[str, _Key] = {}
    starts = [name.start_mark.line for name, _ in node.value]
    for (name, value), following in zip(node.value, [*starts[1:], len(layout.lines)], strict=True):
        key = _name(name)
        start, end = name.start_mark, name.end_mark
        own = layout.own_lines(start.line, start.index, end.index, value, following)
        found[key] = _Key(own, value, key in found)
    return found


def _name(node: yaml.Node) -> str:
    """Return a key as `read` does: `true` and `2024` are text there."""
    import yaml

    words = str(node.value)
    if node.tag == "tag:yaml.org,2002:str":
        return words
    try:
        return str(yaml.load(words, loader()))
    except (yaml.YAMLError, ValueError):
        return words
