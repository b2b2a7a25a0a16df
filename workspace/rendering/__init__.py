"""Rendering: Markdown of anybody as HTML that is safe to show.

values                  what is asked for and what is given
rendering               a document, a section, a few words
marks                   how headings are found
rewriting, destinations links and images as the page has them
sanitizing              the allow-list, which everything passes once and last
math                    formulas
raw                     a file as it is
"""

from workspace.rendering.links import Entry, Options, Rendered, Urls
from workspace.rendering.raw import Raw, raw
from workspace.rendering.renderer import render, render_section, render_text

__all__ = ["Entry", "Options", "Raw", "Rendered", "Urls", "raw", "render", "render_section", "render_text"]
