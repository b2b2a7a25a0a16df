"""Labelled questions to the contextual search: with their context, the right section moves up."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from index.sources.sources import Sources
from tests.repositories import Repo
from tools.retrieval.dispatcher import SourcesDispatcher

pytestmark = pytest.mark.smoke

TOPICS = (
    "upload",
    "download",
    "billing",
    "webhook",
    "session",
    "export",
    "import",
    "search",
    "login",
    "report",
)
ERRORS = (
    ("TooLargeError: 30 MB", "TooLargeError"),
    ("requests.exceptions.ReadTimeout: timed out", "ReadTimeout"),
    ("HTTP 402 Payment Required", "402"),
    ("error[E0277]: the trait bound", "E0277"),
    ("ERR_TOKEN_EXPIRED", "ERR_TOKEN_EXPIRED"),
    ("java.lang.IllegalStateException: closed", "IllegalStateException"),
    ("ENOSPC: no space left on device", "ENOSPC"),
    ("C2065: undeclared identifier", "C2065"),
    ("InvalidCredentials: bad password", "InvalidCredentials"),
    ("renderer queue exhausted", "the renderer queue was exhausted"),
)
FILES = (
    ("src/a.py", "Python"),
    ("web/a.ts", "TypeScript"),
    ("lib/a.rs", "Rust"),
    ("app/a.rb", "Ruby"),
    ("App.java", "Java"),
    ("Dockerfile", "Docker"),
    ("main.tf", "Terraform"),
    ("x/Main.kt", "Kotlin"),
    ("a.swift", "Swift"),
    ("tool.ps1", "PowerShell"),
)
SECTION = "# {title}\n\nSet up the {topic} client and its options{detail}.\n"
FILLER = " for each tenant"

CallTool = Callable[..., dict[str, Any]]


def build_documents() -> dict[str, str]:
    """Return four documents for each topic: a general one, and one for an error, a technology and a step.

    The general document is the shortest, so it is the best without a context.
    """
    documents: dict[str, str] = {}
    steps: list[str] = []
    for topic, (_, error), (_, technology) in zip(TOPICS, ERRORS, FILES, strict=True):
        documents |= {
            f"{topic}/a.md": SECTION.format(title="General", topic=topic, detail=""),
            f"{topic}/error.md": SECTION.format(title="Problem", topic=topic, detail=f", see {error}"),
            f"{topic}/technology.md": SECTION.format(title="Code", topic=topic, detail=f" in {technology}"),
            f"{topic}/step.md": SECTION.format(title="Task", topic=topic, detail=FILLER),
        }
        steps.append(f"## Do the {topic}\n\nRead [this](../{topic}/step.md).\n")
    documents["walk/all.md"] = "---\ntype: walkthrough\n---\n# All tasks\n\n" + "\n".join(steps)
    return documents


@pytest.fixture
def call(
    repositories: tuple[Repo, Repo], build_sources: Callable[[str], Sources]
) -> Callable[..., dict[str, Any]]:
    repositories[1].commit(build_documents())
    text = '[sources.guides]\nrepo = "guides"\n[features]\ncontextual_search = true\n'
    dispatcher = SourcesDispatcher(build_sources(text))

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer = dispatcher.call(tool, arguments, client="test")
        assert not answer.is_error, answer.data
        return answer.data

    return call


def find_rank(data: dict[str, Any], document: str) -> int:
    """Return the position of a document among the results."""
    return [result["document"] for result in data["sources"]].index(document)


def test_right_result_of_thirty_questions_moves_up(call: CallTool) -> None:
    handle = call("start_walkthrough", walkthrough="walk/all.md")["handle"]
    for topic, (message, _), (file, _) in zip(TOPICS, ERRORS, FILES, strict=True):
        question = {"query": f"set up the {topic} client options", "max_results": 20}
        plain_results = call("search_documentation_contextual", **question)
        cases: dict[str, dict[str, Any]] = {
            "error": {"context": {"error_message": message}},
            "technology": {"context": {"current_file": file}},
            "step": {"handle": handle},
        }
        for name, arguments in cases.items():
            document = f"{topic}/{name}.md"
            lifted_results = call("search_documentation_contextual", **question, **arguments)
            assert find_rank(lifted_results, document) < find_rank(plain_results, document), (
                document,
                arguments,
            )
        handle = call("get_next_step", handle=handle)["handle"]


def test_two_hundred_questions_without_context_have_the_plain_list(
    call: Callable[..., dict[str, Any]],
) -> None:
    words = ("set", "client", "options", "general", "tenant", "python", "see", *TOPICS)
    questions = list(itertools.islice(itertools.permutations(words, 3), 0, None, 17))[:200]
    assert len(questions) == 200
    for question in questions:
        arguments = {"query": " ".join(question), "max_results": 10}
        plain_results = call("search_documentation", **arguments)["sources"]
        results = call("search_documentation_contextual", **arguments, context={})["sources"]
        assert results == [{**result, "lifted_by": []} for result in plain_results], question
