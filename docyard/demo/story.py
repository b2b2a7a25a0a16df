"""What the agent calls, in order, and what each answer must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workspace.proposal_ids import id_for

Data = Mapping[str, Any]

DOCUMENT = "search-api.md"
_KEY = "demo-proposal"
PROPOSAL = id_for(_KEY)
"""The proposal of the story: its id follows from the idempotency key."""

PERSONS_SECTION = (
    "\n## Rate Limiting\n\n"
    "A leaky bucket of 20 requests stands before each key; over it the answer is 429 with Retry-After.\n"
)
"""What a person adds to the document by hand between two calls."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call: why it is made, and a condition on its data and text. `fails`: it is wrong on purpose."""

    purpose: str
    tool: str
    arguments: Data
    expected: Callable[[Data, str], bool]
    fails: bool = False


@dataclass(frozen=True, slots=True)
class PersonCommits:
    """A moment at which somebody changes the document by hand and commits it."""

    purpose: str


STORY: Sequence[Step | PersonCommits] = (
    Step(
        "Discover which documents there can be",
        "create_document",
        {},
        lambda data, _: {"api_spec", "process_checklist", "review_cleanup"} <= set(data["doc_types"]),
    ),
    Step(
        "Read how a specification is written",
        "create_document",
        {"doc_type": "api_spec"},
        lambda data, _: bool(data["instructions"]) and "## Endpoints" in data["structure"],
    ),
    Step(
        "A wrong call is answered with the way to do it right",
        "create_document",
        {"doc_type": "invalid_type"},
        lambda data, _: "api_spec" in data["valid_types"] and bool(data["usage"]),
        fails=True,
    ),
    Step(
        "Create it",
        "create_document",
        {
            "doc_type": "api_spec",
            "title": "Search API",
            "initial_content": "Full-text search over documents, ranked by relevance.",
        },
        lambda data, _: data["path"] == DOCUMENT and data["created"] is True,
    ),
    Step(
        "Write several things in one call, which is one commit",
        "edit_document",
        {
            "operations": [
                {"operation": "add_section", "file": DOCUMENT, "title": "Endpoints"},
                {
                    "operation": "add_section",
                    "file": DOCUMENT,
                    "title": "Search",
                    "parent_slug": "endpoints",
                    "content": "`POST /v1/search` takes a query and answers a page of hits.",
                },
                {
                    "operation": "add_section",
                    "file": DOCUMENT,
                    "title": "Requirements",
                    "parent_slug": "endpoints/search",
                    "content": "The latency is at most 200 ms at the 99th percentile.",
                },
                {
                    "operation": "add_task",
                    "file": DOCUMENT,
                    "slug": "tasks",
                    "title": "Define schemas",
                    "criteria": "OpenAPI 3.1 compatible",
                },
                {"operation": "add_task", "file": DOCUMENT, "slug": "tasks", "title": "Measure the latency"},
            ]
        },
        lambda data, _: all(result["success"] for result in data["batch_results"]),
    ),
    Step(
        "Look at the document",
        "view_document",
        {"file": DOCUMENT},
        lambda data, _: data["sections"]["tasks"]["total"] == 2,
    ),
    Step(
        "Complete a task",
        "complete_task",
        {"file": DOCUMENT, "slug": "tasks[0]", "note": "Schemas validated"},
        lambda data, _: data["completed"] is True,
    ),
    Step(
        "Tag it",
        "tag_document",
        {"file": DOCUMENT, "tags": ["backend", "search"]},
        lambda data, _: data["total_tags"] == 2,
    ),
    Step(
        "Find a document by its words",
        "search_documents",
        {"query": "latency requirements"},
        lambda data, _: any(match["slug"] == "endpoints/search/requirements" for match in data["matches"]),
    ),
    Step(
        "Read the section",
        "view_document",
        {"file": DOCUMENT, "slug": "endpoints/search/requirements"},
        lambda data, _: "200 ms" in data["content"],
    ),
    Step(
        "Search for a passage",
        "search_docs",
        {"query": "how fast must the search endpoint answer?", "limit": 3},
        lambda data, _: any(hit["filepath"] == DOCUMENT for hit in data["hits"]),
    ),
    Step(
        "Fetch the passage with its neighbours",
        "get_doc",
        {"chunk_id": f"{DOCUMENT}#endpoints/search/requirements", "context": 1},
        lambda _, text: "(Target) ---" in text and "(Context: -1) ---" in text,
    ),
    PersonCommits("A person adds a section by hand and commits it"),
    Step(
        "The next search finds the person's words",
        "search_docs",
        {"query": "leaky bucket"},
        lambda data, _: data["hits"][0]["chunk_id"] == f"{DOCUMENT}#rate-limiting",
    ),
    Step(
        "And the next edit stands beside them",
        "edit_document",
        {
            "operation": "add_task",
            "file": DOCUMENT,
            "slug": "tasks",
            "title": "Test the rate limit",
            "criteria": "The 21st request in a burst is refused",
        },
        lambda data, _: data["updated"] is True and data["task_index"] == 2,
    ),
    Step(
        "Before the person's commit, those words were not there",
        "search_docs",
        {"query": '"leaky bucket"', "ref": "HEAD~2"},
        lambda data, _: data["hits"] == [],
    ),
    Step(
        "See which commits changed a section",
        "view_history",
        {"file": DOCUMENT, "slug": "tasks", "limit": 2},
        lambda data, _: data["history"][0]["tool"] == "edit_document",
    ),
    Step(
        "Take the last commit back, as a new commit",
        "restore_document",
        {"undo": "HEAD"},
        lambda data, _: data["commit"] != data["undo"],
    ),
    Step(
        "Propose a change, on a branch of its own",
        "create_proposal",
        {
            "title": "Promise a shorter latency",
            "description": "The new index answers within 120 ms.",
            "idempotency_key": _KEY,
        },
        lambda data, _: data["proposal"] == PROPOSAL,
    ),
    Step(
        "Write to the proposal; the branch that is served stays as it is",
        "edit_document",
        {
            "operation": "replace_text",
            "file": DOCUMENT,
            "old": "200 ms",
            "new": "120 ms",
            "proposal": PROPOSAL,
        },
        lambda data, _: data["proposal"] == PROPOSAL and data["overlaps"] == [],
    ),
    Step(
        "Ask for a review",
        "update_proposal",
        {"proposal": PROPOSAL, "action": "submit"},
        lambda data, _: data["state"] == "open",
    ),
    Step(
        "See what a reviewer sees",
        "view_proposal",
        {"proposal": PROPOSAL},
        lambda data, text: data["missing"] == [] and "120 ms" in text,
    ),
    Step(
        "Merge it; where docyard.toml protects a document, a person has to",
        "update_proposal",
        {"proposal": PROPOSAL, "action": "merge"},
        lambda data, _: data["state"] == "merged",
    ),
)
