"""The fields of the tools in each version of their schemas. A version is never changed."""

# ruff: noqa: E501

from __future__ import annotations

FIELDS_BY_VERSION: dict[int, dict[str, str]] = {
    1: {
        "create_document": "base_commit doc_type dry_run folder idempotency_key initial_content message mode "
        "new_proposal operations path proposal return title",
        "edit_document": "after assignee base_commit before content count criteria doc_type dry_run file folder "
        "idempotency_key include_subsections initial_content message metadata mode new new_path "
        "new_proposal new_title note old operation operations parent_slug path proposal ref remove "
        "replace return slug tags title to_file to_slug to_title undo",
        "remove_document": "base_commit dry_run file idempotency_key message mode new_proposal operations path "
        "proposal return slug",
        "list_documents": "cursor expand fields has_open_tasks limit path paths_only ref tag type",
        "search_documents": "limit operations query ref",
        "view_document": "file include_subsections offset operations ref slug",
        "complete_task": "base_commit dry_run file idempotency_key message mode new_proposal note operations "
        "proposal return slug",
        "reopen_task": "base_commit dry_run file idempotency_key message mode new_proposal operations proposal "
        "return slug",
        "tag_document": "base_commit dry_run file idempotency_key message mode new_proposal operations proposal "
        "remove replace return tags",
        "search_docs": "cursor limit path query ref tags type",
        "get_doc": "chunk_id context offset ref",
        "smart_read": "budget file_path mode offset ref summary_style threshold",
        "read_section": "file_path offset ref section_heading",
        "list_sections": "cursor file_path limit ref",
        "search_table": "address max_rows offset query ref",
        "view_history": "blame cursor diff file limit ref slug",
        "restore_document": "base_commit dry_run file idempotency_key message mode new_proposal operations proposal ref "
        "return slug undo",
        "create_proposal": "description idempotency_key submit title",
        "view_proposal": "comment comments cursor file limit offset proposal reviews slug state",
        "update_proposal": "action commit description file idempotency_key proposal quote reply_to resolutions slug "
        "target_commit text title",
    },
    2: {
        "list_documents": "cursor expand fields has_open_tasks limit max_tokens path paths_only ref tag type",
        "search_documents": "cursor limit max_tokens operations query ref since",
        "view_document": "file include_subsections max_tokens offset operations ref slug",
        "search_docs": "cursor limit max_tokens path query ref since tags type",
        "get_doc": "chunk_id context max_tokens offset ref",
        "smart_read": "budget file_path max_tokens mode offset ref summary_style threshold",
        "read_section": "file_path max_tokens offset ref section_heading",
        "list_sections": "cursor file_path limit max_tokens ref",
        "search_table": "address max_rows max_tokens offset query ref",
        "view_history": "blame cursor diff file limit max_tokens ref slug",
        "view_proposal": "comment comments cursor file limit max_tokens offset proposal reviews slug state",
    },
    3: {"report_problem": "address idempotency_key problem suggestion"},
    4: {"search_docs": "cursor limit max_tokens path query ref search_type since tags type"},
    5: {
        "list_tasks": "blocked cursor limit max_tokens owner path ready ref type",
        "plan_task": "base_commit blocked depends_on dry_run file idempotency_key message mode new_proposal operations "
        "proposal remove return slug",
        "claim_task": "action dry_run file hours idempotency_key name secret slug",
        "list_comments": "comment cursor file limit max_tokens offset proposal ref resolved slug",
        "comment_document": "file idempotency_key quote reply_to slug text",
        "address_comments": "answers base_commit dry_run idempotency_key message new_proposal operations proposal",
        "view_drift": "commits cursor limit max_tokens path ref",
        "view_trace": "cursor id limit max_tokens missing ref",
    },
    6: {
        "search_docs": "cursor limit max_tokens min_commit path query ref search_type since tags type",
        "get_doc": "chunk_id context max_tokens min_commit offset ref",
    },
}
"""The fields of each tool that a version changed, with spaces between them."""
