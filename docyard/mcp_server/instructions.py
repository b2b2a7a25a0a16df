"""The instructions in the server's handshake: how to use the served tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator

_READS = "Markdown documents in a Git repository."
_WRITES = (
    "Markdown specifications, checklists and reviews in a Git repository; each call that changes something "
    "is one commit."
)
_WRITERS = frozenset(("edit_document", "complete_task", "restore_document", "create_proposal"))
_AFTER_WRITING = (
    "A call with {} or a wrong one answers how to do it right; every answer ends with a next_step."
)
_AFTER_READING = "Every answer names the commit it was read at, and most name the next step."


def build_instructions(tools: Collection[str]) -> str:
    """Return a description of the documents, and the calls for reading and writing, tool by tool."""
    if _WRITERS.intersection(tools):
        return " ".join((_WRITES, *_ways(tools), _AFTER_WRITING))
    return " ".join((_READS, *_ways(tools), _AFTER_READING))


def _ways(tools: Collection[str]) -> Iterator[str]:
    if "create_document" in tools:
        yield (
            "Write: create_document {} lists types → {doc_type} gives instructions → {doc_type, title} "
            "creates → edit_document adds sections and tasks (several in one call through operations)"
            f"{' → complete_task' if 'complete_task' in tools else ''}."
        )
    elif "complete_task" in tools:
        yield 'Tasks: complete_task {file, slug: "tasks[0]"} ticks one, reopen_task takes that back.'
    if "search_docs" in tools:
        yield "Find: search_docs {query} → get_doc {chunk_id} of the subsection with the answer."
    elif "search_documents" in tools:
        yield "Find: search_documents {query} → view_document {file, slug} of the subsection with the answer."
    elif "view_document" in tools:
        yield "Read: list_documents {} → view_document {file} → view_document {file, slug}."
    if "read_section" in tools:
        yield (
            "Read: list_sections {file_path} → read_section {file_path, section_heading} of the subsection "
            "with the answer; smart_read {file_path} sums up a long file."
        )
    if "view_history" in tools:
        yield "Past: view_history {file, slug} shows who changed what."
    if "create_proposal" in tools:
        yield "Propose: create_proposal {} explains, update_proposal {proposal} submits and comments."
    elif "view_proposal" in tools:
        yield "Proposals: view_proposal {} lists them."
