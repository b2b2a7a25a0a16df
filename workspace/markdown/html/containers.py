"""Containers of blocks that MkDocs and Docusaurus add to Markdown: admonitions, and tabs of content.

MkDocs has admonitions (`!!! note "Title"`), folded ones (`??? note`), unfolded ones (`???+ note`), and tabs
(`=== "Title"`). Their content is indented by four spaces, and consecutive tabs belong together.

Docusaurus has admonitions between a line `:::note[Title]` and a line of at least as many colons.

Admonitions are written like the alerts of GitHub. Tabs are written one below the other, each with its title;
a script of the page shows one at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from workspace.markdown.html.page import ContainerSyntax
from workspace.markdown.html.writer import ALERTS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock


_MAX_COLONS = 20  # further colons of a directive do not count
_INDENTATION = 4  # columns of the content of MkDocs' containers

# Each kind of admonition is shown in the style of an alert. Other kinds have the style of a note.
_STYLES = {
    **{kind: kind for kind in ALERTS},
    **dict.fromkeys(("hint", "success", "check", "done"), "tip"),
    **dict.fromkeys(("attention",), "warning"),
    **dict.fromkeys(("danger", "error", "bug", "failure", "fail", "missing"), "caution"),
}

_ADMONITION = re.compile(r"(!!!|\?\?\?\+?)[ \t]+([\w-]+(?:[ \t]+[\w-]+)*)(?:[ \t]+\"(.*)\")?[ \t]*", re.ASCII)
_TAB = re.compile(r"===[!+]*[ \t]+\"(.*)\"[ \t]*")
_DIRECTIVE = re.compile(
    r"(:{3,})[ \t]*(note|tip|info|warning|danger|caution|important|secondary|success)(?![\w-])(.*)"
)
_CLOSING_LINE = re.compile(r":{3,}")
_FENCE = re.compile(r"`{3,}|~{3,}")
_MARGIN = " \t>"  # at the start of a line, also in quotations


def add_container_rules(parser: MarkdownIt, syntax: ContainerSyntax) -> None:
    """Add the rules of a syntax to the block rules of a parser."""
    rule_options: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "table"]}
    if syntax is ContainerSyntax.MKDOCS:
        parser.block.ruler.before("code", "admonition", read_admonition, rule_options)
        parser.block.ruler.before("code", "tabs", read_tabs)
    elif syntax is ContainerSyntax.DOCUSAURUS:
        parser.block.ruler.before("code", "admonition", read_directive, rule_options)


def read_admonition(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read an admonition of MkDocs, as a rule of the block parser."""
    line = _read_line(state, start_line)
    match = _ADMONITION.fullmatch(line) if line.startswith(("!!!", "???")) else None
    if match is None or silent:
        return match is not None
    kind = match[2].split()[0].lower()
    title = kind.capitalize() if match[3] is None else match[3].strip()
    content_end = _find_content_end(state, start_line, end_line)
    is_details = match[1] != "!!!"
    _open_admonition(state, start_line, kind, title, is_details=is_details, is_unfolded=match[1] == "???+")
    _read_content(state, start_line + 1, content_end, _INDENTATION)
    state.push("admonition_close", "details" if is_details else "div", -1)
    state.line = content_end
    return True


def read_tabs(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read consecutive tabs of MkDocs, as a rule of the block parser."""
    match = _match_tab(state, start_line)
    if match is None or silent:
        return match is not None
    _push(state, "tabs_open", "div", start_line, {"class": "tabs"})
    line = start_line
    while match is not None:
        _push(state, "tab_open", "div", line, {"class": "tab"})
        _push_title(state, line, "p", "tab-title", match[1].strip() or "Tab")
        content_end = _find_content_end(state, line, end_line)
        _read_content(state, line + 1, content_end, _INDENTATION)
        state.push("tab_close", "div", -1)
        state.line = content_end
        line = _skip_empty_lines(state, content_end, end_line)
        match = _match_tab(state, line) if line < end_line else None
    state.push("tabs_close", "div", -1)
    return True


def read_directive(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Read an admonition of Docusaurus, as a rule of the block parser.

    One that is not closed is text.
    """
    line = _read_line(state, start_line)
    match = _DIRECTIVE.fullmatch(line) if line.startswith(":::") else None
    if match is None:
        return False
    closing_line = _find_closing_line(state, start_line, end_line, min(len(match[1]), _MAX_COLONS))
    if closing_line is None or silent:
        return closing_line is not None
    title = _read_directive_title(match[3].strip()) or match[2].capitalize()
    _open_admonition(state, start_line, match[2], title)
    _read_content(state, start_line + 1, closing_line, 0)
    state.push("admonition_close", "div", -1)
    state.line = closing_line + 1
    return True


def _read_directive_title(text: str) -> str:
    """Return the title in the text after a directive's name: `[Title]` or `Title`, before any attributes."""
    if text.endswith("}") and "{" in text:
        text = text[: text.rindex("{")].rstrip()
    return text[1:-1].strip() if text.startswith("[") and text.endswith("]") else text


def _read_line(state: StateBlock, line: int) -> str:
    """Return a line without white space around it; "" if it is indented as code, or less than its parent."""
    indentation = state.sCount[line] - state.blkIndent
    if not 0 <= indentation < _INDENTATION:
        return ""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _match_tab(state: StateBlock, line: int) -> re.Match[str] | None:
    text = _read_line(state, line)
    return _TAB.fullmatch(text) if text.startswith("===") else None


def _skip_empty_lines(state: StateBlock, line: int, end_line: int) -> int:
    while line < end_line and state.isEmpty(line):
        line += 1
    return line


def _find_content_end(state: StateBlock, start_line: int, end_line: int) -> int:
    """Return the line after the indented content of a container, without the empty lines at its end."""
    content_end = line = start_line + 1
    while line < end_line:
        if not state.isEmpty(line):
            if state.sCount[line] - state.blkIndent < _INDENTATION:
                break
            content_end = line + 1
        line += 1
    return content_end


def _find_closing_line(state: StateBlock, start_line: int, end_line: int, colon_count: int) -> int | None:
    """Return the first line after a directive that has only colons, and at least as many."""
    # Each text is searched once, because any number of lines may begin a directive.
    closing_lines: dict[int, list[int]] | None = state.env.get("closing_lines")
    if closing_lines is None:
        closing_lines = state.env["closing_lines"] = _list_closing_lines(state)
    candidates = [
        lines[position]
        for count, lines in closing_lines.items()
        if count >= colon_count and (position := bisect_right(lines, start_line)) < len(lines)
    ]
    closing_line = min(candidates, default=end_line)
    return closing_line if closing_line < end_line else None


def _list_closing_lines(state: StateBlock) -> dict[int, list[int]]:
    """Return the lines of colons outside of fences, by the number of colons, at most `_MAX_COLONS`."""
    closing_lines: dict[int, list[int]] = {}
    fence = ""
    for line, source in enumerate(state.src.split("\n")):
        text = source.strip(_MARGIN)
        if match := _FENCE.match(text):
            if not fence:
                fence = match[0]
            elif match[0].startswith(fence) and match[0] == text:
                fence = ""
        elif not fence and _CLOSING_LINE.fullmatch(text):
            closing_lines.setdefault(min(len(text), _MAX_COLONS), []).append(line)
    return closing_lines


def _open_admonition(
    state: StateBlock,
    line: int,
    kind: str,
    title: str,
    *,
    is_details: bool = False,
    is_unfolded: bool = False,
) -> None:
    style = _STYLES.get(kind, "note")
    attributes = {"class": f"alert alert-{style}"}
    if is_unfolded:
        attributes["open"] = ""
    _push(state, "admonition_open", "details" if is_details else "div", line, attributes)
    if title or is_details:
        _push_title(state, line, "summary" if is_details else "p", "alert-title", title or kind.capitalize())


def _push(state: StateBlock, name: str, tag: str, line: int, attributes: dict[str, str]) -> None:
    token = state.push(name, tag, 1)
    token.attrs = dict(attributes)
    token.map = [line, line + 1]
    token.block = True


def _push_title(state: StateBlock, line: int, tag: str, css_class: str, title: str) -> None:
    """Add a title, which may have inline Markdown."""
    _push(state, "title_open", tag, line, {"class": css_class})
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = title, [line, line + 1], []
    state.push("title_close", tag, -1)


def _read_content(state: StateBlock, start_line: int, end_line: int, indentation: int) -> None:
    """Read the blocks of a container."""
    old_state = state.parentType, state.lineMax, state.blkIndent
    # No paragraph of the content continues below it.
    state.parentType, state.lineMax, state.blkIndent = "root", end_line, state.blkIndent + indentation
    state.md.block.tokenize(state, start_line, end_line)
    state.parentType, state.lineMax, state.blkIndent = old_state
