"""Set keys of front matter by splices, and parse the result again to verify it.

Every other key, comment and blank line keeps its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from workspace.frontmatter.lines import FrontMatterLayout, OwnLines
from workspace.frontmatter.reader import (
    InvalidFrontMatter,
    get_loader,
    have_equal_values_and_types,
    parse_front_matter,
)
from workspace.frontmatter.writer import add_comment, write_pair
from workspace.markdown.lines import LINE_END, detect_line_ending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import yaml

    from workspace.frontmatter.nested import TextSplice

REMOVAL: Final = object()
"""The value that removes a key in `set_keys`."""


class _Key(NamedTuple):
    """A top-level key with its lines and value; for a repeated key, of its last occurrence."""

    lines: OwnLines
    value: yaml.Node
    is_repeated: bool


def set_keys(source: str, values: Mapping[str, object], ending: str, *, rewrite_values: bool = False) -> str:
    """Return front matter with keys set, or removed if the value is REMOVAL. New keys are added at the end.

    In a list or mapping only the changed items are rewritten, unless `rewrite_values` is True. A comment
    after a value of one line is preserved.

    Raises InvalidFrontMatter if the source is not a block of `key: value` lines, if another key would change,
    or, without `rewrite_values`, if a changed key is repeated.
    """
    old_values = parse_front_matter(source)
    layout = FrontMatterLayout(source)
    keys = _find_keys(layout)
    splices: list[TextSplice] = []
    added_text = ""
    expected_values = dict(old_values)
    for key, value in values.items():
        old_key = keys.get(key)
        if old_key is not None and old_key.is_repeated and not rewrite_values:
            raise InvalidFrontMatter(
                f"the front matter has the key '{key}' more than once (line {old_key.lines.first_line + 2})",
                fix=f"Remove all but one of the lines of '{key}' by hand.",
                line=old_key.lines.first_line + 2,
            )
        expected_values.pop(key, None)
        if value is not REMOVAL:
            expected_values[key] = value
        if old_key is None:
            added_text += "" if value is REMOVAL else write_pair(key, value)
            continue
        nested_splices = None if rewrite_values else _diff_value(layout, old_values, key, value, old_key)
        splices += (
            [_rewrite_key(layout, key, value, old_key.lines)] if nested_splices is None else nested_splices
        )
    return _check_values(
        _apply_splices(source, splices, added_text, ending), expected_values, next(iter(values), "")
    )


def _diff_value(
    layout: FrontMatterLayout, old_values: Mapping[str, object], key: str, value: object, old_key: _Key
) -> list[TextSplice] | None:
    """Return the splices within a list or mapping, or None if the full key must be rewritten."""
    old_value = old_values[key]
    if not isinstance(old_value, (dict, list)) or type(old_value) is not type(value):
        return None
    from workspace.frontmatter.nested import NeedsRewrite, diff_nested

    try:
        splices = diff_nested(layout, old_key.value, old_value, value, old_key.lines.end_line)
        result = parse_front_matter(_apply_splices(layout.source, splices, "", "\n"))
    except (NeedsRewrite, InvalidFrontMatter):
        return None
    return splices if have_equal_values_and_types(dict(result), {**old_values, key: value}) else None


def _rewrite_key(layout: FrontMatterLayout, key: str, value: object, lines: OwnLines) -> TextSplice:
    """Return the splice that rewrites the lines of a key."""
    text = "" if value is REMOVAL else write_pair(key, value)
    return layout.starts[lines.first_line], layout.starts[lines.end_line], add_comment(text, lines.comment)


def _apply_splices(source: str, splices: Sequence[TextSplice], added_text: str, ending: str) -> str:
    """Return the source with splices applied, and with lines added at its end.

    LF in splices and added lines becomes `ending`.
    """
    parts: list[str] = []
    position = 0
    for start, end, text in sorted(splices):
        parts += (source[position:start], LINE_END.sub(lambda _: ending, text))
        position = end
    result = "".join(parts) + source[position:]
    if added_text and result and not result.endswith(("\n", "\r")):
        result += detect_line_ending(result.encode()).decode()
    return result + LINE_END.sub(lambda _: ending, added_text)


def _check_values(source: str, expected_values: Mapping[str, object], key: str) -> str:
    """Return front matter unchanged; raise InvalidFrontMatter if it does not have the expected values."""
    try:
        is_correct = have_equal_values_and_types(dict(parse_front_matter(source)), dict(expected_values))
    except InvalidFrontMatter:
        is_correct = False
    if not is_correct:
        raise InvalidFrontMatter(
            f"'{key}' cannot be replaced without changing other front matter",
            fix=f"Edit the block by hand: a key is repeated, or another value refers to '{key}'.",
        )
    return source


def _find_keys(layout: FrontMatterLayout) -> dict[str, _Key]:
    """Return the top-level keys. Raises InvalidFrontMatter for a list, a text, or a mapping in braces."""
    import yaml

    node = yaml.compose(layout.source, get_loader())
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise InvalidFrontMatter(
            "the front matter is not a block of `key: value` lines", fix="Write one key per line."
        )
    keys: dict[str, _Key] = {}
    start_lines = [key_node.start_mark.line for key_node, _ in node.value]
    for (key_node, value), next_line in zip(node.value, [*start_lines[1:], len(layout.lines)], strict=True):
        key = _format_key(key_node)
        start, end = key_node.start_mark, key_node.end_mark
        lines = layout.find_own_lines(start.line, start.index, end.index, value, next_line)
        keys[key] = _Key(lines, value, key in keys)
    return keys


def _format_key(node: yaml.Node) -> str:
    """Return a key as text, like `parse_front_matter`: `true` and `2024` become strings."""
    import yaml

    text = str(node.value)
    if node.tag == "tag:yaml.org,2002:str":
        return text
    try:
        return str(yaml.load(text, get_loader()))
    except (yaml.YAMLError, ValueError):
        return text
