"""The tools of a server of many sources: searches with citations, and walkthroughs.

context.py                          the context of a call
dispatcher.py                       the tools that the server offers, and the answer to a call
list_documentation_sources.py       the sources, with their sizes and times
results.py                          results within a budget of tokens
search_documentation.py             a search in one source or in all
"""

from __future__ import annotations

from tools.retrieval.list_documentation_sources import TOOL as LIST_DOCUMENTATION_SOURCES
from tools.retrieval.search_documentation import TOOL as SEARCH_DOCUMENTATION
from tools.tool import Tool

CONTEXTUAL_TOOL: Tool | None = None
WALKTHROUGH_TOOLS: tuple[Tool, ...] = ()
TOOLS = (SEARCH_DOCUMENTATION, LIST_DOCUMENTATION_SOURCES)
"""The tools in the order of a client's list."""
