"""The last gate by itself: whatever stands before it lets through, it lets out nothing that runs or loads."""

from __future__ import annotations

import pytest

from tests.workspace.rendering.judge import problems
from workspace.rendering.sanitizing import as_shown, as_written

WRONG = {
    "a script": "<script>1</script>",
    "a handler": '<p onclick="x">y</p>',
    "a style": '<p style="color:red">y</p>',
    "a frame": '<iframe src="/doc/a.md"></iframe>',
    "a form": '<form action="/logout"><input name="csrf" type="text"></form>',
    "a scheme": '<a href="javascript:1">x</a>',
    "data": '<a href="data:text/html,x">x</a>',
    "an address of another folder": '<a href="a.md" rel="noopener noreferrer nofollow">x</a>',
    "an address of another host": '<a href="//attacker.invalid">x</a>',
    "a backslash": '<a href="/\\attacker.invalid">x</a>',
    "an image of another host": '<img src="https://attacker.invalid/x.png">',
    "an image of an anchor": '<img src="#x">',
    "an image of data": '<img src="data:image/svg+xml,x">',
    "open": "<b><i>open",
    "a comment": "<!-- x -->",
}


@pytest.mark.parametrize("html", WRONG.values(), ids=WRONG)
def test_nothing_wrong_is_shown(html: str) -> None:
    assert problems(html)
    assert problems(as_shown(html)) == []


@pytest.mark.parametrize("html", ['<p class="toast">x</p>', '<p id="[find]">x</p>', '<p dir="x">x</p>'])
def test_names_of_the_page_itself_are_not_taken(html: str) -> None:
    assert as_written(html) == as_shown(html) == "<p>x</p>"


def test_what_is_well_stays() -> None:
    html = '<p id="a"><a href="/doc/a.md#b">x</a> <a href="#a">y</a> <img src="/raw/a.png" alt=""></p>'
    assert as_shown(html) == html
