"""MCP prompts that a user selects in a host: the built-in ones, one module each, and those of skills.

answer_from_docs.py  answer_from_docs: answers a question from the documents, with addresses
prompt.py            prompts as data, and the parser of their arguments
review_document.py   review_document: reviews a document or section, with addresses
skills.py            prompts of skills: reviewed documents with instructions for a model
write_spec.py        write_spec: writes a new specification from the guidance of its type
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.prompts.answer_from_docs import PROMPT as ANSWER_FROM_DOCS
from tools.prompts.review_document import PROMPT as REVIEW_DOCUMENT
from tools.prompts.write_spec import PROMPT as WRITE_SPEC

if TYPE_CHECKING:
    from tools.prompts.prompt import Prompt
    from tools.tool import Context

PROMPTS: tuple[Prompt[Context], ...] = (WRITE_SPEC, REVIEW_DOCUMENT, ANSWER_FROM_DOCS)
"""The built-in prompts, in the order of a client's list."""
