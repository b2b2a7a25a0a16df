"""Set keys of front matter: what differs is spliced, and the result is read again.

Every other key, comment and blank line stays byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from workspace.frontmatter.lines import FrontMatterLayout, OwnLines
from workspace.frontmatter.reader import InvalidFrontMatter, are_same, get_loader, read
from workspace.frontmatter.writer import add_comment, write_pair
from workspace.markdown.lines import LINE_END, detect_line_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml

    from workspace.frontmatter.nested import Splice

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
    layout = FrontMatterLayout(source)
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
        splices += [_rewrite(layout, key, value, found.own)] if inside is None else inside
    return _check(_apply_splices(source, splices, added, ending), wanted, next(iter(values), ""))


def _inside(
    layout: FrontMatterLayout, before: Mapping[str, object], key: str, value: object, found: _Key
) -> list[Splice] | None:
    """Return the splices within a list or mapping; None where its key is to be written anew."""
    known = before[key]
    if not isinstance(known, (dict, list)) or type(known) is not type(value):
        return None
    from workspace.frontmatter.nested import NotInPlace, diff_nested

    try:
        splices = diff_nested(layout, found.value, known, value, found.own.end)
        written = read(_apply_splices(layout.source, splices, "", "\n"))
    except (NotInPlace, InvalidFrontMatter):
        return None
    return splices if are_same(dict(written), {**before, key: value}) else None


def _rewrite(layout: FrontMatterLayout, key: str, value: object, own: OwnLines) -> Splice:
    """Return the splice of the lines of a key that is written anew."""
    text = "" if value is REMOVED else write_pair(key, value)
    return layout.starts[own.first], layout.starts[own.end], add_comment(text, own.comment)


def _apply_splices(source: str, splices: Sequence[Splice], added: str, ending: str) -> str:
    """Return the source with splices, whose lines end in LF, and with lines added at its end."""
    parts: list[str] = []
    position = 0
    for start, end, text in sorted(splices):
        parts += (source[position:start], LINE_END.sub(lambda _: ending, text))
        position = end
    written = "".join(parts) + source[position:]
    if added and written and not written.endswith(("\n", "\r")):
        written += detect_line_ending(written.encode()).decode()
    return written + LINE_END.sub(lambda _: ending, added)


def _check(written: str, wanted: Mapping[str, object], key: str) -> str:
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


def _keys(layout: FrontMatterLayout) -> dict[str, _Key]:
    """Find the top-level keys. Raises InvalidFrontMatter for a mapping in braces, or none."""
    import yaml

    node = yaml.compose(layout.source, get_loader())
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
        return str(yaml.load(words, get_loader()))
    except (yaml.YAMLError, ValueError):
        return words
