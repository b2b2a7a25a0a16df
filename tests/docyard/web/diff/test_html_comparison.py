"""The comparison of two versions of HTML: marked blocks and words, in HTML that stays well-formed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docyard.web.diff import html_comparison
from docyard.web.diff.html_comparison import compare_html, split_blocks
from docyard.web.urls import PageUrls
from tests.browser.hostile_documents import make_hostile_documents
from tests.docyard.web.page_server import ParsedPage
from tests.loops import loop_over
from workspace.rendering.renderer import render_text

MARK = re.compile(r'<(ins|del) class="word">(.*?)</\1>', re.DOTALL)


def render(markdown: str) -> str:
    return render_text(markdown, urls=PageUrls(), breaks=False)


def list_marks(html: object) -> list[str]:
    """Return the HTML of the marked words."""
    return [match[1] for match in MARK.findall(str(html))]


def test_blocks_are_the_top_elements_of_html() -> None:
    html = '<h2>A</h2>\n<p>b <img src="/x" alt="&gt;"> <br>c</p>\n<hr>\n<ul>\n<li>d</li>\n</ul>\n'
    assert split_blocks(html) == [
        "<h2>A</h2>\n",
        '<p>b <img src="/x" alt="&gt;"> <br>c</p>\n',
        "<hr>\n",
        "<ul>\n<li>d</li>\n</ul>\n",
    ]
    assert split_blocks("") == []
    assert split_blocks("text") == ["text"]
    assert split_blocks("text <b>x</b> tail") == ["text <b>x</b> tail"]


def test_equal_and_missing_versions_are_not_marked() -> None:
    assert compare_html("<p>a</p>", "<p>a</p>").is_equal
    assert compare_html(None, "<p>a</p>") == (None, "<p>a</p>", False)
    assert compare_html("<p>a</p>", None) == ("<p>a</p>", None, False)
    old, new = '<p><a href="/doc/a?ref=1#b">x</a></p>', '<p><a href="/doc/a?ref=2#b">x</a></p>'
    assert compare_html(old, new, "1", "2").is_equal
    old, new, _ = compare_html("<p>a</p><p>b</p>", "<p>a</p>")
    assert str(new) == "<p>a</p>"
    assert str(old).count("blocks-removed") == 1


@loop_over(
    ("old", "new", "removed", "added"),
    [
        ("One old word.", "One new word.", ["old"], ["new"]),
        ("A *b* c d e f.", "A *x* c d e f.", ["b"], ["x"]),
        ("See a word of many.", "See a **word** of many.", ["word"], ["word"]),
        ("See [it](a.md) for more of this.", "See [it](https://b.example) for more of this.", ["it"], ["it"]),
        ("R&D <b> is here.", "R&lt;D <b> is here.", ["&amp;"], ["&lt;"]),
        ("- one thing\n- two things", "- one thing\n- two new things\n- three", [], ["new", "three"]),
        ("```\nx = 1\ny = 2\n```", "```\nx = 1\ny = 3\n```", ["2"], ["3"]),
    ],
    ids=["word", "emphasis", "formatting", "target", "entity", "item", "code"],
)
def test_words_that_differ_are_marked(old: str, new: str, removed: list[str], added: list[str]) -> None:
    versions = compare_html(render(old), render(new))
    assert (list_marks(versions.old), list_marks(versions.new)) == (removed, added)


def test_images_and_boxes_are_marked_as_a_whole() -> None:
    old = '<p><img src="/a" alt="A"> is an image.</p><li><input type="checkbox" disabled=""> A task.</li>'
    new = old.replace('"/a"', '"/b"').replace('disabled=""', 'disabled="" checked=""')
    assert list_marks(compare_html(old, new).new) == [
        '<img src="/b" alt="A">',
        '<input type="checkbox" disabled="" checked="">',
    ]


def test_rows_of_tables_are_matched_by_content() -> None:
    old = "| Call | Limit |\n|---|---|\n| track | 10 a second |\n| cancel | 5 |\n| report | 1 a minute |\n"
    new = old.replace("10", "20").replace("| cancel | 5 |\n", "").replace("1 a minute", "1 an hour")
    versions = compare_html(render(old), render(new))
    assert list_marks(versions.old) == ["10", "cancel", "5", "a minute"]
    assert list_marks(versions.new) == ["20", "an hour"]


def test_text_without_a_counterpart_has_no_marks_of_words() -> None:
    versions = compare_html(render("One.\n\nTwo."), render("One."))
    assert list_marks(versions.old) == list_marks(versions.new) == []
    assert "blocks-removed" in str(versions.old)


def test_same_heading_is_not_repeated() -> None:
    versions = compare_html("<h4>A</h4><p>One old word.</p>", "<h4>A</h4><p>One new word.</p>")
    assert "<h4>" not in str(versions.old) + str(versions.new)
    versions = compare_html("<h4>A</h4><p>One text.</p>", "<h4>B</h4><p>One text.</p>")
    assert "<h4>" in str(versions.old)


def test_colours_of_code_are_no_difference() -> None:
    old = '<pre><code class="language-py"><span class="code-keyword">if</span> x</code></pre>'
    assert compare_html(old, old.replace('<span class="code-keyword">if</span>', "if")).is_equal


def test_elements_of_a_document_are_not_marks() -> None:
    versions = compare_html(
        render("<ins class=word>a</ins> b c d."), render("<ins class=word>a</ins> b c e.")
    )
    assert list_marks(versions.new) == ["e"]


def test_diagrams_are_not_marked() -> None:
    old = '<pre class="mermaid"><code>graph\na--b</code></pre><p>One text of it.</p>'
    versions = compare_html(old, old.replace("a--b", "a--c").replace("One", "A"))
    assert list_marks(versions.new) == ["A"]


def test_long_texts_have_marked_blocks_without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_comparison, "MAX_MARKED_CHARS", 20)
    versions = compare_html(render("A long old text."), render("A long new text."))
    assert list_marks(versions.new) == []
    assert "blocks-added" in str(versions.new)


DOCUMENTS = [text for path, text in make_hostile_documents().items() if path != "hostile/all.md"]


def check_marks(html: str, marked_html: object) -> None:
    """Check that marked HTML is well-formed, and equals the HTML without its marks."""
    assert ParsedPage(str(marked_html)).nesting_errors == []
    text = MARK.sub(r"\2", str(marked_html))
    for _ in range(text.count('class="blocks-')):
        start = re.search(r'<div class="blocks-(?:added|removed)" role="group" aria-label="[^"]*">', text)
        assert start is not None
        text = text[: start.start()] + text[start.end() :]
    # The ends of the groups are not distinguished from those of other elements, and a heading may be missing.
    assert html.replace("</div>", "").endswith(text.replace("</div>", ""))


@given(st.sampled_from(DOCUMENTS), st.sampled_from(DOCUMENTS))
def test_marks_of_adversarial_texts_do_not_break_the_html(old: str, new: str) -> None:
    old_html, new_html = render(old), render(new)
    versions = compare_html(old_html, new_html)
    check_marks(old_html, versions.old)
    check_marks(new_html, versions.new)


@given(st.sampled_from(DOCUMENTS), st.data())
def test_marks_of_a_changed_adversarial_text_do_not_break_the_html(old: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(old)))
    old_html, new_html = render(old), render(f"{old[:offset]} unheardof {old[offset:]}")
    versions = compare_html(old_html, new_html)
    check_marks(old_html, versions.old)
    check_marks(new_html, versions.new)
