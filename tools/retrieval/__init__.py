"""The tools of a server of many sources: searches with citations, and walkthroughs.

budgets.py                          budgets of tokens for answers
completion.py                       completion of questions, from headings and frequent words
context.py                          the context of a call
dispatcher.py                       the tools that the server offers, and the answer to a call
get_next_step.py                    the next step of a walkthrough
handles.py                          signed handles of walkthroughs
lifts.py                            the lifts of a contextual search
list_documentation_sources.py       the sources, with their sizes and times
list_walkthroughs.py                the walkthroughs of the sources
recorded_searches.py                the report of a search to the records of a server
related_steps.py                    the relation of sections to the walkthrough under way
report_problem.py                   sends a problem of a document to the owners of a source
results.py                          results within a budget of tokens
search_documentation.py             a search in one source or in all
search_documentation_contextual.py  a search whose scores are lifted by the caller's context
search_prompt.py                    the prompt that answers a question from the documentation
start_walkthrough.py                the first step of a walkthrough
steps.py                            steps in answers
walkthroughs.py                     ids of walkthroughs, and the walkthrough of a handle
"""

from __future__ import annotations

from tools.retrieval.get_next_step import TOOL as GET_NEXT_STEP
from tools.retrieval.list_documentation_sources import TOOL as LIST_DOCUMENTATION_SOURCES
from tools.retrieval.list_walkthroughs import TOOL as LIST_WALKTHROUGHS
from tools.retrieval.search_documentation import TOOL as SEARCH_DOCUMENTATION
from tools.retrieval.search_documentation_contextual import TOOL as CONTEXTUAL_TOOL
from tools.retrieval.start_walkthrough import TOOL as START_WALKTHROUGH

WALKTHROUGH_TOOLS = (LIST_WALKTHROUGHS, START_WALKTHROUGH, GET_NEXT_STEP)
"""The tools that a server offers also without sources."""

TOOLS = (SEARCH_DOCUMENTATION, LIST_DOCUMENTATION_SOURCES, CONTEXTUAL_TOOL, *WALKTHROUGH_TOOLS)
"""The tools in the order of a client's list. `CONTEXTUAL_TOOL` is offered only with its feature."""
