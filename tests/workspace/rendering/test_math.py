"""Formulas: made by the library, let out by a list of our own, put between tags alone."""

from __future__ import annotations

import pytest

from workspace.markdown.pages import Formula
from workspace.rendering import math
from workspace.rendering.math import MAX_FORMULAS, MAX_LENGTH, as_shown
from workspace.rendering.rewriting import fill


def test_a_formula_is_mathml() -> None:
    ((shown, source),) = as_shown([Formula("a^2", is_block=False)])
    assert shown == '<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>'
    assert source == "$a^2$"


@pytest.mark.parametrize(
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
        "a" * (MAX_LENGTH + 1),
    ],
    ids=lambda source: source[:12],
)
def test_a_formula_holds_no_markup_of_its_author(source: str) -> None:
    ((shown, _),) = as_shown([Formula(source, is_block=True)])
    for mark in ("<img", "<script", "href", "style=", 'onclick="', "class="):
        assert mark not in shown.replace(source.replace("&", "&amp;").replace("<", "&lt;"), "")


def test_more_formulas_than_are_made_stay_text() -> None:
    shown = as_shown([Formula("x", is_block=False)] * (MAX_FORMULAS + 1))
    assert shown[MAX_FORMULAS - 1][0].startswith("<math")
    assert shown[MAX_FORMULAS][0] == "$x$"


def test_more_characters_than_are_made_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math, "MAX_IN_ALL", 7)
    shown = as_shown([Formula("a+b", is_block=False)] * 3)
    assert [one.startswith("<math") for one, _ in shown] == [True, True, False]


def test_a_formula_in_an_attribute_is_text() -> None:
    html = '<p title="f-0. x">f-0.</p>'
    assert fill(html, "f-", [("<math></math>", '$"$')]) == '<p title="$&quot;$ x"><math></math></p>'
