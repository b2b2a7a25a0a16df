"""What a person may choose in a host: a prompt is a module, and this lists them in their order.

answer_from_docs.py  answer_from_docs: an answer that stands in the documents, with the places where it …
prompt.py            what a prompt is, and how its arguments are read
review_document.py   review_document: findings on a document or section, each with the place that it …
write_spec.py        write_spec: a new specification, from the type's guidance to the last section
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.prompts.answer_from_docs import PROMPT as ANSWER_FROM_DOCS
from tools.prompts.review_document import PROMPT as REVIEW_DOCUMENT
from tools.prompts.write_spec import PROMPT as WRITE_SPEC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.prompts.prompt import Prompt
    from tools.tool import Context

FAMILY = (WRITE_SPEC, REVIEW_DOCUMENT, ANSWER_FROM_DOCS)


def prompts_for(context: Context) -> Mapping[str, Prompt]:
    """Return the prompts whose messages name only tools that the client has, by name."""
    return {prompt.name: prompt for prompt in FAMILY if prompt.is_offered(context)}
