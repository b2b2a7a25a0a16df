"""Write formulas as MathML, by latex2mathml, which need not be installed. It is sanitized with the page."""

from __future__ import annotations

import logging
from functools import lru_cache
from html import escape, unescape
from xml.etree import ElementTree

# More would take long to make; what is past it stays as it was written.
MAX_FORMULAS = 500
MAX_LENGTH = 2_000
MAX_IN_ALL = 100_000  # characters

_log = logging.getLogger(__name__)


def is_installed() -> bool:
    """Return True if formulas can be shown as such."""
    from importlib.util import find_spec

    return find_spec("latex2mathml") is not None


class Formulas:
    """Write the formulas of one page, as many as may be."""

    def __init__(self) -> None:
        self._count = self._length = 0

    def write(self, source: str, *, is_block: bool) -> str:
        """Return a formula as MathML; what is no formula is the text that it is, escaped."""
        self._count += 1
        self._length += len(source)
        fits = self._count <= MAX_FORMULAS and self._length <= MAX_IN_ALL and len(source) <= MAX_LENGTH
        mark = "$$" if is_block else "$"
        return (_mathml(source, is_block) if fits else None) or escape(f"{mark}{source}{mark}")


@lru_cache(maxsize=4 * MAX_FORMULAS)
def _mathml(source: str, is_block: bool) -> str | None:
    try:
        from latex2mathml.converter import convert_to_element

        formula = convert_to_element(source, display="block" if is_block else "inline")
    # Its errors have no common root, and a formula that it cannot read is text for the reader.
    except Exception as error:
        _log.debug("a formula stays as it is written: %s", type(error).__name__)
        return None
    for element in formula.iter():
        # Operators are entities in these texts.
        element.text = unescape(element.text or "")
    return ElementTree.tostring(formula, encoding="unicode", short_empty_elements=False)
