"""Read what GitHub adds to blocks: alerts, task lists; and headings without their anchors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.markdown.anchors import read_heading
from workspace.markdown.attribute_lists import read_line

if TYPE_CHECKING:
    from markdown_it.token import Token

ALERTS = {
    "note": "Note",
    "tip": "Tip",
    "important": "Important",
    "warning": "Warning",
    "caution": "Caution",
}
"""The kinds of alerts, and their titles."""

_ALERT = re.compile(r"\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|\Z)", re.IGNORECASE)
# The task list extension of GitHub Flavored Markdown 0.29 §5.3; as `workspace.tasks` reads it.
_BOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def add_to_blocks(tokens: list[Token]) -> None:
    """Mark alerts and tasks, and take their marks and the anchors of headings off the text.

    In its `meta` a quotation that is an alert has `alert`, a list item that is a task `done`. The library's
    own rules for both read what follows the mark as blocks: a page would have headings without addresses.
    """
    lists: list[Token] = []
    for position, token in enumerate(tokens):
        match token.type:
            case "heading_open":
                inline = tokens[position + 1]
                inline.content = read_heading(inline.content).words
                _hide_lists_below(tokens, position)
            case "blockquote_open" if not token.level:
                _read_alert(tokens, position)
            case "bullet_list_open" | "ordered_list_open":
                lists.append(token)
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open":
                if _read_task(tokens, position) and lists:
                    lists[-1].attrSet("class", "task-list")
            case "th_open" | "td_open":
                _align(token)


def _hide_lists_below(tokens: list[Token], position: int) -> None:
    """Take the attribute lists of kramdown off the paragraph that begins on the line below a heading."""
    heading, paragraph = tokens[position], tokens[position + 3 : position + 6]
    if not paragraph or paragraph[0].type != "paragraph_open" or not heading.map or not paragraph[0].map:
        return
    if paragraph[0].map[0] != heading.map[1]:
        return
    lines = paragraph[1].content.split("\n")
    while lines and read_line(lines[0]):
        lines.pop(0)
    paragraph[1].content = "\n".join(lines)
    paragraph[0].hidden = paragraph[2].hidden = not lines


def _read_alert(tokens: list[Token], position: int) -> None:
    if tokens[position + 1].type != "paragraph_open":
        return
    inline = tokens[position + 2]
    found = _ALERT.match(inline.content)
    if found is None:
        return
    rest = inline.content[found.end() :]
    # A mark alone is text, as GitHub has it.
    if not rest and tokens[position + 4].type == "blockquote_close":
        return
    inline.content = rest
    if not rest:
        tokens[position + 1].hidden = tokens[position + 3].hidden = True
    quotation, kind = tokens[position], found[1].lower()
    quotation.meta["alert"] = kind
    quotation.attrSet("class", f"alert alert-{kind}")
    end = next(token for token in tokens[position:] if token.type == "blockquote_close" and not token.level)
    quotation.tag = end.tag = "div"


def _read_task(tokens: list[Token], position: int) -> bool:
    if tokens[position + 1].type != "paragraph_open":
        return False
    inline = tokens[position + 2]
    found = _BOX.match(inline.content)
    if found is None:
        return False
    inline.content = inline.content[found.end() :]
    tokens[position].meta["done"] = found[1] != " "
    tokens[position].attrSet("class", "task-list-item")
    return True


def _align(token: Token) -> None:
    """Say how a cell is aligned without a style, which no page allows."""
    style = str(token.attrs.pop("style", ""))
    if style:
        token.attrSet("align", style.removeprefix("text-align:"))
