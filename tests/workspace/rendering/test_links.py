"""The link renderer makes links only of web and mail URLs, before the sanitizer runs."""

from __future__ import annotations

from tests.loops import loop_over
from tests.workspace.rendering.page_urls import PlainUrls
from workspace.rendering.links import LinkRenderer, RenderedLink


def make_renderer() -> LinkRenderer:
    return LinkRenderer(None, "a.md", PlainUrls(), None, is_page=False)


@loop_over(
    "destination",
    [
        "javascript:1",
        "JaVaScRiPt:1",
        " java\tscript:1",
        "\x01data:text/html,x",
        "file:///etc/passwd",
        "https:",
    ],
)
def test_unsafe_destination_has_no_link(destination: str) -> None:
    assert (
        make_renderer().resolve_link(destination)
        == make_renderer().resolve_image(destination)
        == RenderedLink(None)
    )


@loop_over(
    ("destination", "href"),
    [
        ("https://a.example/x y", "https://a.example/x%20y"),
        ("//a.example", "https://a.example"),
        ("/\\a.example", "https://a.example"),
        ("mailto:ana@example.org", "mailto:ana@example.org"),
    ],
)
def test_external_link_has_the_external_class(destination: str, href: str) -> None:
    link = make_renderer().resolve_link(destination)
    assert (link.href, link.css_class) == (href, "external")
