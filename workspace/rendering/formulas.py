"""Formulas as MathML by latex2mathml: the boundary module of this optional library.

The time of a conversion and the length of its result are proportional to the length of the formula, so the
limits of lengths bound both. The MathML is not safe by itself: the sanitizer reads it with its page.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_FORMULAS = 500
"""The maximum number of formulas of a page."""

MAX_FORMULA_LENGTH = 2_000
"""The maximum number of characters of a formula."""

MAX_TOTAL_FORMULA_LENGTH = 50_000
"""The maximum number of characters of all formulas of a page, which take up to two seconds."""

MAX_FORMULA_DEPTH = 100
"""The maximum number of nested elements of a formula."""

_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+\*?)\}")
# latex2mathml writes the content of other environments without rows and columns.
_ENVIRONMENTS = frozenset({
    "matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array", "cases", "align",
    "align*", "split",
})  # fmt: skip
_EQUIVALENT_ENVIRONMENTS = {"aligned": "split", "dcases": "cases", "gathered": "matrix"}

_log = logging.getLogger(__name__)


def can_convert_formulas() -> bool:
    """Return True if formulas can be converted to MathML."""
    from importlib.util import find_spec

    return find_spec("latex2mathml") is not None


class FormulaConverter:
    """The conversion of the formulas of one page, within limits."""

    def __init__(self) -> None:
        self._count = self._length = 0

    def convert(self, source: str, *, is_block: bool) -> str | None:
        """Return a formula as MathML; None if it is invalid, or beyond a limit."""
        self._count += 1
        self._length += len(source)
        is_within_limits = (
            self._count <= MAX_FORMULAS
            and self._length <= MAX_TOTAL_FORMULA_LENGTH
            and len(source) <= MAX_FORMULA_LENGTH
        )
        return _convert_to_mathml(source, is_block) if is_within_limits else None


@lru_cache(maxsize=4 * MAX_FORMULAS)
def _convert_to_mathml(source: str, is_block: bool) -> str | None:
    from latex2mathml.converter import convert_to_element

    source = _ENVIRONMENT.sub(_replace_environment, source)
    if any(name not in _ENVIRONMENTS for _, name in _ENVIRONMENT.findall(source)):
        return None
    try:
        formula = convert_to_element(source, display="block" if is_block else "inline")
    # The errors have no common base class, and a formula that is nested too deeply raises RecursionError.
    except Exception as error:
        _log.debug("formula is shown as its source: %s", type(error).__name__)
        return None
    if _is_too_deep(formula):
        return None
    for element in formula.iter():
        # latex2mathml writes operators as entities.
        element.text = unescape(element.text or "")
        # An unknown command becomes an identifier.
        if element.tag == "mi" and element.text.startswith("\\"):
            return None
    return ElementTree.tostring(formula, encoding="unicode", short_empty_elements=False)


def _replace_environment(match: re.Match[str]) -> str:
    name = _EQUIVALENT_ENVIRONMENTS.get(match[2], match[2])
    return f"\\{match[1]}{{{name}}}"


def _is_too_deep(formula: Element) -> bool:
    level = [formula]
    for _ in range(MAX_FORMULA_DEPTH):
        level = [child for element in level for child in element]
        if not level:
            return False
    return True
