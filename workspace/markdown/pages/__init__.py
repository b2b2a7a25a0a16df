"""A text as HTML for a page: CommonMark and what GitHub adds to it. What comes out is not safe by itself.

reading      blocks, then inline Markdown, within bounds
additions    alerts, tasks and headings, told from their blocks
autolinks    addresses that stand in a text without marks
wiki, math   `[[Page]]` and `$formulas$`, where they are turned on
html         tokens written as HTML
raw_html     raw HTML, as it is passed on
"""

from workspace.markdown.pages.html import Formula, Mark, Written, fragment_of, write_html
from workspace.markdown.pages.reading import Features, read_page
from workspace.markdown.pages.wiki import WIKI_SCHEME

__all__ = ["WIKI_SCHEME", "Features", "Formula", "Mark", "Written", "fragment_of", "read_page", "write_html"]
