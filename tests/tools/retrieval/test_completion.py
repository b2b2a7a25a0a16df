"""Completion of questions, and the prompt of a server of sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.sources.sources import NamespaceNotFound
from tests.documentation_sources import TWO_SOURCES, open_test_sources, write_sources_file
from tests.repositories import Repo
from tools.arguments import InvalidArguments
from tools.prompts.prompt import OfferedPrompts, UnknownPrompt
from tools.retrieval.context import RetrievalContext
from tools.retrieval.dispatcher import SourcesDispatcher

ONE_SOURCE = '[sources.guides]\nrepo = "guides"\n'


def list_prompts(folder: Path, text: str = TWO_SOURCES) -> OfferedPrompts[RetrievalContext]:
    return SourcesDispatcher(open_test_sources(write_sources_file(folder, text))).list_prompts()


def complete(
    folder: Path, typed_text: str, namespace: str | None = None, text: str = TWO_SOURCES
) -> list[str]:
    arguments = {} if namespace is None else {"namespace": namespace}
    prompts = list_prompts(folder, text)
    return list(prompts.complete("search_documentation", "query", typed_text, arguments).values)


def test_question_is_completed_from_headings_and_frequent_words(
    tmp_path: Path, repositories: tuple[Repo, Repo]
) -> None:
    repositories[1].commit(
        {"zoo.md": "# Zoo\n\n## Retention of zebras\n\nRetained: retained. Retries are retried.\n"}
    )
    values = complete(tmp_path, "ret", "tutorials")
    assert set(values[:2]) == {"Retrying", "Retention of zebras"}
    assert values.index("retained") < values.index("retried")
    assert complete(tmp_path, "zebra reta", "tutorials") == ["zebra retained"]


def test_question_is_completed_only_from_its_namespace(
    tmp_path: Path, repositories: tuple[Repo, Repo]
) -> None:
    assert complete(tmp_path, "curs", "api-reference") == ["Cursors", "cursor"], "case is ignored"
    assert complete(tmp_path, "curs", "tutorials") == []
    assert complete(tmp_path, "secre", "api-reference") == [], "the word is outside the folder of the source"
    assert complete(tmp_path, "instal", text=ONE_SOURCE)[0] == "Install"
    assert set(complete(tmp_path, "retr")) >= {"Retrying", "retry"}, "all sources without a namespace"


@pytest.mark.parametrize(
    ("typed_text", "namespace"),
    [
        ("", "tutorials"),
        ("retry ", "tutorials"),
        ("retr", "unknown"),
        ("\x00", "tutorials"),
        ("x" * 10_000, "tutorials"),
        ("title:(", "tutorials"),
    ],
)
def test_text_without_completion_has_no_candidates(
    tmp_path: Path, repositories: tuple[Repo, Repo], typed_text: str, namespace: str | None
) -> None:
    assert complete(tmp_path, typed_text, namespace) == []


def test_unavailable_source_has_no_candidates(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    repositories[1].path.rename(tmp_path / "away")
    assert complete(tmp_path, "retr", "tutorials") == []


def test_namespace_is_completed(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    candidates = list_prompts(tmp_path).complete("search_documentation", "namespace", "t", {})
    assert candidates.values[0] == "tutorials"


def test_prompt_names_the_tools_of_the_server(tmp_path: Path, repositories: tuple[Repo, Repo]) -> None:
    text = f'{TWO_SOURCES}\n[features]\ntool_prefix = "docs_"\n'
    prompts = list_prompts(tmp_path, text)
    _, filled = prompts.fill("search_documentation", {"query": "how to page"})
    assert 'docs_search_documentation {"query": "how to page", "namespace": "*"}' in filled.text
    assert 'docs_get_doc {"chunk_id": "…", "namespace": "…"}' in filled.text
    _, filled = prompts.fill("search_documentation", {"query": "page", "namespace": "tutorials"})
    assert 'docs_get_doc {"chunk_id": "…", "namespace": "tutorials"}' in filled.text
    with pytest.raises(NamespaceNotFound):
        prompts.fill("search_documentation", {"query": "page", "namespace": "tutorial"})
    with pytest.raises(InvalidArguments):
        prompts.fill("search_documentation", {"namespace": "tutorials"})


def test_server_without_sources_has_no_prompt(tmp_path: Path) -> None:
    prompts = list_prompts(tmp_path, "")
    assert prompts.prompts == ()
    with pytest.raises(UnknownPrompt):
        prompts.find("search_documentation")
