"""The sanitizer removes all HTML that runs scripts or loads resources."""

from __future__ import annotations

import re

from tests.loops import loop_over
from tests.workspace.rendering.html_checker import find_html_problems
from workspace.rendering.sanitizer import sanitize

UNSAFE_HTML = {
    "a script": "<script>1</script>",
    "an event handler": '<p onclick="x">y</p>',
    "a style": '<p style="color:red">y</p>',
    "a frame": '<iframe src="/doc/a.md"></iframe>',
    "a form": '<form action="/logout"><input name="csrf" type="text"></form>',
    "a script URL": '<a href="javascript:1">x</a>',
    "a data URL": '<a href="data:text/html,x">x</a>',
    "a relative URL": '<a href="a.md" rel="noopener noreferrer nofollow">x</a>',
    "a URL of another host": '<a href="//attacker.invalid">x</a>',
    "a backslash": '<a href="/\\attacker.invalid">x</a>',
    "an image of another host": '<img src="https://attacker.invalid/x.png">',
    "an image of an anchor": '<img src="#x">',
    "an image with a data URL": '<img src="data:image/svg+xml,x">',
    "unclosed tags": "<b><i>open",
    "a comment": "<!-- x -->",
}


@loop_over("html", UNSAFE_HTML.values(), ids=UNSAFE_HTML)
def test_unsafe_html_is_removed(html: str) -> None:
    assert find_html_problems(html)
    assert find_html_problems(sanitize(html)) == []


@loop_over("html", ['<p class="toast">x</p>', '<p id="[find]">x</p>', '<p dir="x">x</p>'])
def test_reserved_and_invalid_attributes_are_removed(html: str) -> None:
    assert sanitize(html) == "<p>x</p>"


RESOLVED_URLS = {"/doc/a.md#b", "/raw/a.png"}


def test_only_resolved_urls_of_this_server_are_permitted() -> None:
    html = '<a href="/doc/a.md#b">x</a> <a href="#a">y</a> <img src="/raw/a.png" alt="">'
    assert set(re.findall('(?:href|src)="(.*?)"', sanitize(html, RESOLVED_URLS))) == {*RESOLVED_URLS, "#a"}
    assert re.findall('(?:href|src)="(.*?)"', sanitize(html)) == ["#a"]


def test_ids_are_unique() -> None:
    html = '<p id="a">x</p><p><b id="a">y</b></p>'
    assert sanitize(html) == '<p id="a">x</p><p><b>y</b></p>'
    assert sanitize(html, allows_ids=False) == "<p>x</p><p><b>y</b></p>"


def test_only_links_have_rel() -> None:
    html = '<a id="x"></a><a title="y" href="#x">y</a><a title="<a z=" aria-label=" w=">z</a>'
    tags = re.findall("<a[^>]*>", sanitize(html))
    assert ["rel=" in tag for tag in tags] == ["href=" in tag for tag in tags] == [False, True, False]


def test_formulas_are_permitted_with_the_math_option() -> None:
    html = '<math display="block"><mi href="javascript:1" id="a">x</mi></math>'
    assert sanitize(html, math=True) == '<math display="block"><mi>x</mi></math>'
    assert sanitize(html) == ""
