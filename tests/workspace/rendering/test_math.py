"""Formulas are converted to MathML, and sanitized."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.rendering import sanitizer
from workspace.rendering.sanitizer import MAX_FORMULA_LENGTH, MAX_FORMULAS, FormulaConverter, sanitize


def render_formula(source: str, *, is_block: bool = False) -> str:
    return sanitize(FormulaConverter().convert(source, is_block=is_block), math=True)


def test_formula_is_rendered_as_mathml() -> None:
    assert (
        render_formula("a^2")
        == '<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>'
    )


def test_operators_are_rendered_as_characters() -> None:
    assert "<mo>=</mo>" in render_formula("a=b")
    assert "<mo>&lt;</mo>" in render_formula("a<b")
    assert "<mo>∑</mo>" in render_formula(r"\sum", is_block=True)


@loop_over(
    "source",
    [
        r"\text{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\mathrm{</math><script>alert(1)</script>}",
        r"\style{color:red}{x}",
        r"\class{x}{y}",
        r"\color{red\" onclick=\"x}{y}",
        "{" * 900,
        r"\frac",
        r"\left(",
        "&lt;script&gt;",
        "a" * (MAX_FORMULA_LENGTH + 1),
    ],
    ids=lambda source: source[:12],
)
def test_formula_contains_no_markup_of_its_source(source: str) -> None:
    html = render_formula(source, is_block=True)
    for mark in ("<img", "<script", "href", "style=", 'onclick="', "class="):
        assert mark not in html.replace(source.replace("&", "&amp;").replace("<", "&lt;"), "")


def test_formulas_above_the_limit_stay_text() -> None:
    formulas = FormulaConverter()
    texts = [formulas.convert("x", is_block=False) for _ in range(MAX_FORMULAS + 1)]
    assert texts[MAX_FORMULAS - 1].startswith("<math")
    assert texts[MAX_FORMULAS] == "$x$"


def test_formulas_above_the_total_length_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "MAX_TOTAL_FORMULA_LENGTH", 7)
    formulas = FormulaConverter()
    texts = [formulas.convert("a+b", is_block=False) for _ in range(3)]
    assert [text.startswith("<math") for text in texts] == [True, True, False]
