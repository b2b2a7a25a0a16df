"""The checker reports HTML that is not permitted on a page."""

from __future__ import annotations

from tests.loops import loop_over
from tests.workspace.rendering.html_checker import find_html_problems


@loop_over(
    "html",
    [
        "<script>1</script>",
        "<p onclick=x>y</p>",
        '<p style="color:red">y</p>',
        '<a href="javascript:1">x</a>',
        '<a href="//attacker.invalid">x</a>',
        '<a href="https://a.example">without rel</a>',
        '<img src="https://a.example/x.png">',
        "<svg></svg>",
        "<b>open",
        "closed</b>",
        "</article>",
        '<p id="a"></p><p id="a"></p>',
        "<!-- x -->",
        "<input type=text>",
    ],
)
def test_checker_reports_unsafe_or_invalid_html(html: str) -> None:
    assert find_html_problems(html)


def test_checker_accepts_safe_html() -> None:
    html = '<p id="a"><a href="/doc/a.md#b">x</a> <a href="#a">y</a> <img src="/raw/a.png" alt=""></p>'
    assert find_html_problems(html) == []
