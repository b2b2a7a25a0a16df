"""Read a text and write it as HTML for a page: CommonMark and what GitHub adds. It is not safe yet.

reading      one parser of markdown-it-py, within bounds
additions    alerts, tasks and headings, read from their blocks
autolinks    addresses that stand in a text without marks
wiki, math   `[[Page]]` and `$formulas$`, where they are turned on
html         the rules of the renderer
raw_html     raw HTML, as it is passed on
"""

from workspace.markdown.html.reader import WIKI_SCHEME, Features, Page, read_page
from workspace.markdown.html.writer import SHOWN, Context, Mark, Written, fragment_of, write_html

__all__ = [
    "SHOWN",
    "WIKI_SCHEME",
    "Context",
    "Features",
    "Mark",
    "Page",
    "Written",
    "fragment_of",
    "read_page",
    "write_html",
]
