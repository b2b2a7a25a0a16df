"""The tasks in the hits of search_docs and search_documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.pages import shorten_title
from workspace.document.addresses import format_task_address
from workspace.errors import LimitExceeded

if TYPE_CHECKING:
    from index.matches import Matcher
    from index.service import Hit
    from tools.tool import Data
    from workspace.document.tasks import Task

MAX_FOUND_TASKS = 10
_MAX_PARSED_BYTES = 65_536
_CHECKBOX = re.compile(rb"\[[ xX]\][ \t]")


def describe_found_tasks(hit: Hit, matcher: Matcher) -> Data:
    """Return `tasks`, the addresses and titles of the tasks in a hit; nothing for a hit without tasks.

    The `slug` of a task is the one that complete_task takes; a completed task has `done`.
    """
    key = hit.address.removeprefix(f"{hit.filepath}#")
    tasks: list[Data] = [
        {
            "slug": format_task_address(key, task),
            "title": shorten_title(task.title),
            **({"done": True} if task.is_done else {}),
        }
        for task in find_tasks(hit.text, matcher)
    ]
    return {"tasks": tasks} if tasks else {}


def find_tasks(section_text: bytes, matcher: Matcher) -> tuple[Task, ...]:
    """Return the tasks of a section whose titles contain a term of the query; without such a task, all tasks.

    `section_text` is the Markdown of the section without its heading. Tasks after its first 64 KiB are not
    read, and at most `MAX_FOUND_TASKS` tasks are returned, in the order of the section.
    """
    if not _CHECKBOX.search(section_text, 0, _MAX_PARSED_BYTES):
        return ()
    from index.matches import SearchableText
    from workspace.document.document import Document

    if len(section_text) > _MAX_PARSED_BYTES:
        section_text = section_text[: section_text.rfind(b"\n", 0, _MAX_PARSED_BYTES) + 1]
    try:
        # A section that begins with `---` would be read as front matter without the empty line.
        tasks = Document.parse(b"\n" + section_text).all_tasks
    except LimitExceeded:
        return ()
    tasks_with_term = tuple(task for task in tasks if matcher.find_words(SearchableText(task.title))[0])
    return (tasks_with_term or tasks)[:MAX_FOUND_TASKS]
