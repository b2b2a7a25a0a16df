"""Formulas as MathML, by latex2mathml, which need not be installed. Only what is listed here gets out."""

from __future__ import annotations

import logging
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.markdown.pages import Formula

# More would take long to make; what is past it stays as it was written.
MAX_FORMULAS = 500
MAX_LENGTH = 2_000
MAX_IN_ALL = 100_000  # characters

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
# MathML Core §3, without what holds other markup or addresses.
_ELEMENTS = frozenset({
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded",
    "mphantom", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts",
    "mtable", "mtr", "mtd", "menclose",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "display", "displaystyle", "mathvariant", "scriptlevel", "form", "fence", "separator", "stretchy",
    "symmetric", "largeop", "movablelimits", "lspace", "rspace", "minsize", "maxsize", "linethickness",
    "accent", "accentunder", "width", "height", "depth", "columnalign", "rowspacing", "columnspacing",
    "notation",
})  # fmt: skip

_log = logging.getLogger(__name__)


def is_installed() -> bool:
    """Whether formulas can be shown as such."""
    from importlib.util import find_spec

    return find_spec("latex2mathml") is not None


def as_shown(formulas: Sequence[Formula]) -> list[tuple[str, str]]:
    """Each formula as MathML, and as it was written; what is no formula is the text that it is, escaped."""
    shown: list[tuple[str, str]] = []
    left = MAX_IN_ALL
    for position, (source, is_block) in enumerate(formulas):
        left -= len(source)
        mark = "$$" if is_block else "$"
        text = f"{mark}{source}{mark}"
        formula = _mathml(source, is_block) if position < MAX_FORMULAS and left >= 0 else None
        shown.append((formula or escape(text, quote=False), text))
    return shown


def _mathml(source: str, is_block: bool) -> str | None:
    if len(source) > MAX_LENGTH:
        return None
    try:
        from latex2mathml.converter import convert_to_element

        element = convert_to_element(source, display="block" if is_block else "inline")
    # Its errors have no common root, and a formula that it cannot read is text for the reader.
    except Exception as error:
        _log.debug("a formula stays as it is written: %s", type(error).__name__)
        return None
    return _written(element)


def _written(element: ElementTree.Element) -> str | None:
    """An element made again of the parts that are known; None if it holds another."""
    name = str(element.tag).removeprefix(_NAMESPACE)
    if name not in _ELEMENTS:
        return None
    attributes = "".join(
        f' {key}="{escape(value)}"' for key, value in element.attrib.items() if key in _ATTRIBUTES
    )
    parts: list[str] = [escape(element.text or "", quote=False)]
    for child in element:
        written = _written(child)
        if written is None:
            return None
        parts += (written, escape(child.tail or "", quote=False))
    return f"<{name}{attributes}>{''.join(parts)}</{name}>"
