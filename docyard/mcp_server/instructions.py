"""The instructions in the server's handshake: how to use the served tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator

_READ_INTRODUCTION = "Markdown documents in a Git repository."
_WRITE_INTRODUCTION = (
    "Markdown specifications, checklists and reviews in a Git repository; each call that changes something "
    "makes one commit."
)
_WRITING_TOOLS = frozenset(
    (
        "edit_document",
        "complete_task",
        "restore_document",
        "create_proposal",
        "claim_task",
        "comment_document",
    )
)
_WRITE_ADVICE = (
    "A call with {} explains the tool; every error contains a working example, many answers a next_step."
)
_READ_ADVICE = "Every answer names the commit that was read, and most name the next step."


_SOURCES_INTRODUCTION = "Several documentations, each with a namespace."
_SOURCES_ADVICE = (
    "Cite namespace, address and commit, or the url if there is one. missing_words are in no searched "
    "document: then it is a gap, and no bad question."
)


def build_instructions(tools: Collection[str]) -> str:
    """Return a description of the documents, and the calls for reading and writing, tool by tool."""
    search_tool = next((name for name in tools if name.endswith("search_documentation")), None)
    if search_tool is not None:
        return " ".join((_SOURCES_INTRODUCTION, *_list_source_calls(search_tool), _SOURCES_ADVICE))
    if _WRITING_TOOLS.intersection(tools):
        return " ".join((_WRITE_INTRODUCTION, *_list_calls(tools), _WRITE_ADVICE))
    return " ".join((_READ_INTRODUCTION, *_list_calls(tools), _READ_ADVICE))


def _list_source_calls(search_tool: str) -> Iterator[str]:
    prefix = search_tool.removesuffix("search_documentation")
    yield (
        f"Find: {search_tool} {{query, namespace}} returns the best sections with their text; "
        f"{prefix}list_documentation_sources {{}} lists the namespaces."
    )
    yield (
        "Several questions in one call: operations: [{query, namespace}, ...]; each has a short "
        f"answer. {prefix}get_doc {{chunk_id, namespace, max_tokens}} reads on."
    )


def _list_calls(tools: Collection[str]) -> Iterator[str]:
    if "create_document" in tools:
        yield (
            "Write: create_document {doc_type, title, initial_content} ({doc_type} alone: long advice) → "
            "edit_document adds sections and tasks; its operations are all writes in one commit"
            f"{' → complete_task' if 'complete_task' in tools else ''}."
        )
    elif "complete_task" in tools:
        yield 'Tasks: complete_task {file, slug: "tasks[0]"} ticks one, reopen_task unticks it.'
    if "list_tasks" in tools:
        yield f"Plan: list_tasks {{}}{' → claim_task' if 'claim_task' in tools else ''}."
    if "search_docs" in tools:
        yield "Find: search_docs {query} → get_doc {chunk_id} of the subsection with the answer."
        if "search_documents" in tools:
            yield "Several searches: search_documents {operations: [{query}, ...]}."
    elif "search_documents" in tools:
        yield "Find: search_documents {query} → view_document {file, slug} of the subsection with the answer."
    elif "view_document" in tools:
        yield "Read: list_documents {} → view_document {file} → view_document {file, slug}."
    if "read_section" in tools:
        yield (
            "Read: list_sections {file_path} → read_section {file_path, section_heading} of the subsection "
            "with the answer; smart_read {file_path} summarizes a long file."
        )
    if "view_history" in tools:
        yield "History: view_history {file, slug} shows who changed what."
    if "create_proposal" in tools:
        opening = "a writing call with new_proposal {title, submit}"
        if "edit_document" not in tools:
            opening = "create_proposal {} explains"
        yield f"Propose: {opening}; update_proposal {{proposal}} submits and comments."
    elif "view_proposal" in tools:
        yield "Proposals: view_proposal {} lists them."
    if "list_comments" in tools:
        yield f"Comments: list_comments {{}}{' → comment_document' if 'comment_document' in tools else ''}."
