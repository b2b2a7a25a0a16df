"""Formulas are converted to MathML, and sanitized."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.document.document import Document
from workspace.markdown.html.page import MarkdownFeatures
from workspace.markdown.html.reader import read_page
from workspace.rendering import formulas
from workspace.rendering.formulas import (
    MAX_FORMULA_DEPTH,
    MAX_FORMULA_LENGTH,
    MAX_FORMULAS,
    FormulaConverter,
)
from workspace.rendering.renderer import render_text
from workspace.rendering.sanitizer import MATH_TAGS, sanitize


def convert_formula(source: str, *, is_block: bool = False) -> str | None:
    html = FormulaConverter().convert(source, is_block=is_block)
    return None if html is None else sanitize(html, math=True)


def render_line(text: str) -> str:
    """Return a text with formulas as HTML, without its paragraph."""
    html = render_text(text, urls=PlainUrls(), math=True)
    return html.strip().removeprefix("<p>").removesuffix("</p>")


def test_formula_is_rendered_as_mathml() -> None:
    assert (
        convert_formula("a^2")
        == '<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>'
    )


def test_operators_are_rendered_as_characters() -> None:
    assert "<mo>=</mo>" in str(convert_formula("a=b"))
    assert "<mo>&lt;</mo>" in str(convert_formula("a<b"))
    assert "<mo>∑</mo>" in str(convert_formula(r"\sum", is_block=True))


@loop_over(
    "text",
    [
        "It costs $5 and $10.",
        "It costs $5/$10, or US$5 and US$10.",
        "between $ 5 and $ 10",
        "$HOME/bin:$PATH and ${A}${B}",
        r"\$a^2\$ and a\$b",
        "$a\nb$",
        "$$",
        "$$$$",
        "a$b$c",
        "$a^2$b and $a^2$2",
    ],
)
def test_amounts_and_variables_stay_text(text: str) -> None:
    assert "<math" not in render_line(text)
    assert "<code" not in render_line(text)


@loop_over(
    "text",
    [
        "$a^2$",
        "($a$)",
        "So $a$, $b$; $2^n$.",
        "公式$x$是",
        "*$a$*",
        "$`a^2`$",
        "[x $a$](b.md)",
        r"\\$a$",
        "> $a$",
    ],
)
def test_formula_within_a_line_is_rendered(text: str) -> None:
    assert render_line(text).count('<math display="inline">') == len(re.findall(r"\$`?[^$]+`?\$", text))


def test_code_and_links_between_dollar_signs_are_rendered() -> None:
    assert "<code>x</code>" in render_line("costs $5 `x` (5$)")
    assert "<a " in render_line("[a $5](https://a.example) and [b 6$](https://b.example)")
    assert render_line("`$a$`") == "<code>$a$</code>"


@loop_over("text", [r"$\nosuchcommand$", r"$\frac$", r"$\left($", r"$`\frac`$", "$$\n\\frac\n$$"])
def test_invalid_formula_is_shown_as_code(text: str) -> None:
    assert render_text(text, urls=PlainUrls(), math=True) == f"<p><code>{text}</code></p>\n"


def test_invalid_fence_is_shown_as_code() -> None:
    html = render_text("```math\n\\frac\n```\n", urls=PlainUrls(), math=True)
    assert html == '<pre><code class="language-math">\\frac\n</code></pre>\n'


@loop_over(
    "source",
    [
        r"\text{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\mathrm{</math><script>alert(1)</script>}",
        r"\style{color:red}{x}",
        r"\class{mention}{y}",
        r"\color{red\" onclick=\"x}{y}",
        r"\colorbox{url(//attacker.invalid)}{y}",
        "{" * 900,
        r"\frac",
        r"\left(",
        "&lt;script&gt;",
        "a" * (MAX_FORMULA_LENGTH + 1),
    ],
    ids=lambda source: source[:12],
)
def test_formula_contains_no_markup_of_its_source(source: str) -> None:
    html = convert_formula(source, is_block=True) or ""
    for mark in ("<img", "<script", "href", "style=", 'onclick="', "class=", "color", "background"):
        assert mark not in html.replace(source.replace("&", "&amp;").replace("<", "&lt;"), "")


@loop_over(
    "source",
    [
        r"a\hspace{-20em}b",
        r"\hspace{1000em}",
        r"\rule{999em}{999em}",
        r"\moveleft 3em x",
        r"\llap{x}",
        r"\kern-9em a",
    ],
)
def test_lengths_that_could_cover_other_text_are_removed(source: str) -> None:
    html = str(convert_formula(source))
    assert html.startswith("<math")
    assert re.findall(r'(?:width|height|depth|[lr]space)="(?:-[2-9]|-?[0-9]{3}|-1width)', html) == []


def test_rows_of_an_environment_are_rendered() -> None:
    html = str(convert_formula(r"\begin{aligned} a &= b \\ &= c \end{aligned}", is_block=True))
    assert html.count("<mtr>") == 2
    assert "&amp;" not in html
    assert convert_formula(r"\begin{multline} a \\ b \end{multline}") is None


def test_small_spaces_are_rendered() -> None:
    assert '<mspace width="0.167em">' in str(convert_formula(r"a\,b"))


def test_formula_that_is_nested_too_deeply_is_shown_as_its_source() -> None:
    depth = MAX_FORMULA_DEPTH // 4
    assert convert_formula(r"\sqrt{" * depth + "x" + "}" * depth) is not None
    assert convert_formula(r"\sqrt{" * MAX_FORMULA_DEPTH + "x" + "}" * MAX_FORMULA_DEPTH) is None
    assert convert_formula(r"\cases" * 300 + "x") is None


def test_formulas_above_the_limit_are_shown_as_their_source() -> None:
    converter = FormulaConverter()
    results = [converter.convert("x", is_block=False) for _ in range(MAX_FORMULAS + 1)]
    assert str(results[MAX_FORMULAS - 1]).startswith("<math")
    assert results[MAX_FORMULAS] is None


def test_formulas_above_the_total_length_are_shown_as_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "MAX_TOTAL_FORMULA_LENGTH", 7)
    converter = FormulaConverter()
    results = [converter.convert("a+b", is_block=False) for _ in range(3)]
    assert [result is not None for result in results] == [True, True, False]


FORMULA_PIECES = [
    r"\frac", r"\sqrt", r"\left(", r"\right)", r"\begin{matrix}", r"\end{matrix}", r"\text{", r"\href{",
    r"\class{", r"\style{", r"\color{", r"\verb|", r"\hspace{", r"\mathbf{", r"\xrightarrow", r"\\", "{", "}",
    "^", "_", "&", "'", "<", ">", '"', "<script>", "<img src=x onerror=alert(1)>", "javascript:1", "onclick=",
    "a", "1", " ", "-20em", "</math>", "]]>", "<!--", "%", "é", "\x00",
]  # fmt: skip


@settings(max_examples=scale_examples(300))
@given(st.lists(st.sampled_from(FORMULA_PIECES), max_size=16).map("".join))
def test_mixed_formula_has_only_permitted_elements(source: str) -> None:
    html = convert_formula(source, is_block=True) or ""
    assert set(re.findall(r"<([a-zA-Z-]+)", html)) <= MATH_TAGS
    text = re.sub(r">[^<]*<", "><", html)
    assert re.findall(r"\b(?:href|style|class|id|src|on[a-z]+|xlink)[a-z:]*=", text) == []


# Texts in which a block rule of formulas would change the headings, lists, links and tasks of a document.
DOCUMENT_PIECES = [
    "$", "$$", "$$\n", "\n$$\n", "`", "```math\n", "```\n", "# A\n", "## B {#b}\n", "=\n", "---\n",
    "- [ ] t\n", "- x\n", "> ", "| a |\n|---|\n", "[l](x.md)", "[[W]]", "a", "5", " ", "\n", "\n\n", "\\",
    "    ", "^[n]", "<b>", "\\frac",
]  # fmt: skip


@settings(max_examples=scale_examples(300))
@given(st.lists(st.sampled_from(DOCUMENT_PIECES), max_size=20).map("".join))
def test_formulas_do_not_change_the_blocks_of_a_page(text: str) -> None:
    # In CommonMark, an underline below the lines of a table makes them a heading; a page shows a table.
    assume(not re.search(r"\|---\|\n(?:.+\n)*[ >]*(?:=|---)\n", text))
    document = Document.parse(text.encode())
    page_text = document.text(document.front_matter_end, len(document.data))
    plain_page, math_page = (read_page(page_text, MarkdownFeatures(math=math)) for math in (False, True))
    assert [(token.type, token.map, token.content) for token in plain_page.tokens] == [
        (token.type, token.map, token.content) for token in math_page.tokens
    ]
    # The lines of the page's headings are those of the document's sections.
    lines = [section.line - 1 for section in document.sections if section.heading]
    assert lines == [
        document.front_matter_lines + token.map[0]
        for token in math_page.tokens
        if token.type == "heading_open" and not token.level and token.map
    ]
