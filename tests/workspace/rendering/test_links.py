"""Destinations before the sanitizer: only those of the web become links."""

from __future__ import annotations

from tests.loops import loop_over
from tests.workspace.rendering.addresses import PlainUrls
from workspace.rendering.links import LinkRenderer, RenderedLink


def make_renderer() -> LinkRenderer:
    return LinkRenderer(None, "a.md", PlainUrls(), None, is_page=False)


@loop_over(
    "written",
    [
        "javascript:1",
        "JaVaScRiPt:1",
        " java\tscript:1",
        "\x01data:text/html,x",
        "file:///etc/passwd",
        "https:",
    ],
)
def test_unsafe_destination_has_no_link(written: str) -> None:
    assert make_renderer().link(written) == make_renderer().image(written) == RenderedLink(None)


@loop_over(
    ("written", "href"),
    [
        ("https://a.example/x y", "https://a.example/x%20y"),
        ("//a.example", "https://a.example"),
        ("/\\a.example", "https://a.example"),
        ("mailto:ana@example.org", "mailto:ana@example.org"),
    ],
)
def test_external_link_has_the_external_class(written: str, href: str) -> None:
    found = make_renderer().link(written)
    assert (found.href, found.kind) == (href, "external")
