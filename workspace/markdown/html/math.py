"""Read formulas: `$x$` within a line of text, `$$x$$` for one by itself.

The rules of `mdit_py_plugins.dollarmath` find no formula at the beginning of a text that ends in a digit, run
on into other list items, and take time that grows with the square of their number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

# A dollar beside a space or before a digit is money.
_FORMULA = re.compile(
    r"\$\$((?:[^$\\]|\\[\s\S]){1,2000})\$\$"
    r"|\$(?![\s$])((?:[^$\\\n]|\\.){1,1000})(?<!\s)\$(?![0-9$])"
)


def read_math(state: StateInline, silent: bool) -> bool:
    """Read a formula, as a rule of the inline parser."""
    if state.src[state.pos] != "$":
        return False
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.content = found[1] or found[2]
        token.markup = "$$" if found[1] else "$"
    state.pos = found.end()
    return True
