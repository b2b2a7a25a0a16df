"""Code has a class for each token; code without tokens, or with slow ones, stays as it is."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import pytest

from tests.browser.hostile_documents import make_attack_texts
from tests.loops import loop_over
from tests.workspace.rendering.html_checker import find_html_problems
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.rendering import code_colours
from workspace.rendering.code_colours import CODE_CLASSES, MAX_CODE_LENGTH, CodeColours
from workspace.rendering.renderer import render_text
from workspace.rendering.tokens import TOKEN_KINDS, list_tokens

STYLES = Path(__file__).parents[3] / "docyard/web/static/base.css"
WAIT_S = 60.0
PYTHON = "def f(a: str) -> int:\n    # <b> & c\n    return 1\n"


def make_block(language: str, code: str) -> str:
    return f'<pre><code class="language-{language}">{escape(code, quote=False)}</code></pre>'


@pytest.fixture(scope="module")
def colours() -> Iterator[CodeColours]:
    """Yield colours with a running process."""
    with_process = CodeColours()
    with_process.add_colours(make_block("json", "{}"), max_wait_s=WAIT_S)
    yield with_process
    with_process.close()


def test_tokens_have_kinds_and_cover_the_code() -> None:
    tokens = list_tokens("python", PYTHON)
    assert TOKEN_KINDS[tokens[0][0]] == "keyword"
    assert sum(length for _, length in tokens) == len(PYTHON)
    assert {"keyword", "function", "builtin", "comment", "number"} <= {
        TOKEN_KINDS[kind] for kind, _ in tokens
    }


@loop_over("language", ["no-such-language", "text", "", "../x"])
def test_unknown_language_has_no_tokens(language: str) -> None:
    assert list_tokens(language, "x = 1\n") == []


@loop_over("language", ["python", "html", "js", "c", "diff", "json", "bash", "sql", "yaml", "php", "erb"])
def test_tokens_of_odd_code_cover_it_or_are_missing(language: str) -> None:
    for code in ("\x00\ufeff\u202e<é𝄞\r\n\t", "<?php <script> `${", "", "\n\n", "'" * 500, "\ud800"):
        tokens = list_tokens(language, code)
        assert not tokens or sum(length for _, length in tokens) == len(code)


@pytest.mark.process
def test_code_has_classes_and_the_same_text(colours: CodeColours) -> None:
    html = f"<p>x</p>{make_block('python', PYTHON)}<p>y</p>"
    result = colours.add_colours(html, max_wait_s=WAIT_S)
    assert result.is_complete
    assert '<span class="code-keyword">def</span> <span class="code-function">f</span>' in result.html
    assert '<span class="code-comment"># &lt;b&gt; &amp; c</span>' in result.html
    assert unescape(re.sub(r"<[^>]+>", "", result.html)) == f"x{PYTHON}y"
    assert colours.add_colours(html, max_wait_s=0).html == result.html  # cached


@pytest.mark.process
def test_late_code_has_colours_on_the_next_page(colours: CodeColours) -> None:
    html = make_block("python", "late = 1\n")
    result = colours.add_colours(html, max_wait_s=0)
    assert result == (html, False)
    deadline = time.monotonic() + WAIT_S
    while colours.is_busy and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "code-number" in colours.add_colours(html, max_wait_s=0).html


@pytest.mark.process
def test_slow_code_has_no_colours_and_the_process_starts_again(
    colours: CodeColours, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(code_colours, "BLOCK_TIMEOUT_S", 0.0)
        html = make_block("python", "a = [" + "1, " * 10_000 + "]\n")
        result = colours.add_colours(html, max_wait_s=WAIT_S)
    assert result == (html, True)
    assert "code-number" in colours.add_colours(make_block("python", "b = 2\n"), max_wait_s=WAIT_S).html


def test_html_without_code_that_can_have_colours_is_unchanged() -> None:
    colours = CodeColours()
    for html in (
        "<p>x</p>",
        make_block("text", "x"),
        make_block("mermaid", "graph"),
        make_block("python", "x" * (MAX_CODE_LENGTH + 1)),
        '<pre><code class="language-python">a <b>b</b></code></pre>',
    ):
        assert colours.add_colours(html) == (html, True)
    assert not colours.is_busy


def test_closed_colours_change_nothing() -> None:
    colours = CodeColours()
    colours.close()
    assert colours.add_colours(make_block("python", PYTHON)) == (make_block("python", PYTHON), False)


@pytest.mark.process
def test_adversarial_code_is_safe(colours: CodeColours) -> None:
    for language in ("html", "javascript", "markdown", "php"):
        for text in make_attack_texts():
            html = render_text(f"~~~~{language}\n{text}\n~~~~\n\n{text}", urls=PlainUrls())
            result = colours.add_colours(html, max_wait_s=WAIT_S).html
            assert find_html_problems(result) == [], text
            assert re.sub(r'<span class="code-[a-z]+">|</span>', "", result) == re.sub(
                r'<span class="code-[a-z]+">|</span>', "", html
            )


def read_luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2, "relative luminance")."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_of_code_have_enough_contrast() -> None:
    styles = STYLES.read_text("utf-8")
    assert all(f".{css_class}" in styles for css_class in CODE_CLASSES[1:])
    themes = re.findall(r"--paper:.*?\}", styles, re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        values = dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6});", theme))
        names = [name for name in values if name.startswith("--code-")]
        assert len(names) == 6
        for name in [*names, "--quiet"]:
            for background in ("--soft", "--sheet"):
                lightness = sorted((read_luminance(values[name]), read_luminance(values[background])))
                assert (lightness[1] + 0.05) / (lightness[0] + 0.05) >= 4.5, (name, background)
