"""Every example of the two specifications (`tests/cases/seed_*.md`), called with the SDK's client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.scenarios import find_difference, read_scenario
from tests.acceptance.server import CLIENT_NAME, ProtocolMode, ToolResponse, serve_repository
from tests.repositories import EMAIL, NAME, Repo, create_bare_repository, create_repository

pytestmark = [pytest.mark.guarantee, pytest.mark.process]

WRITING_TOOLS = (
    "create_document",
    "edit_document",
    "remove_document",
    "complete_task",
    "reopen_task",
    "tag_document",
)
ScenarioSetting = tuple[str, bool, ProtocolMode]  # scenario name, True for a bare repository, protocol
SCENARIO_SETTINGS: tuple[ScenarioSetting, ...] = (
    ("seed_000", False, "auto"),
    ("seed_004", False, "auto"),
    ("seed_004", True, "legacy"),
    ("seed_004_workflow", False, "legacy"),
    ("seed_004_workflow", True, "auto"),
)


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """The responses to the calls of a scenario, and its repository; `first_commit` precedes the calls."""

    name: str
    repo: Repo
    first_commit: str
    responses: Mapping[str, ToolResponse]
    tools: Mapping[str, Any]


def format_setting(setting: ScenarioSetting) -> str:
    name, is_bare, protocol = setting
    return f"{name} {'bare' if is_bare else 'with work tree'} {protocol}"


@pytest.fixture(scope="module")
def run_scenario(
    tmp_path_factory: pytest.TempPathFactory, home: Path
) -> Callable[[ScenarioSetting], ScenarioResult]:
    """Return a function that runs a scenario once and caches the result."""

    @cache
    def run_once(setting: ScenarioSetting) -> ScenarioResult:
        name, is_bare, protocol = setting
        scenario = read_scenario(name)
        repo = (create_bare_repository if is_bare else create_repository)(
            tmp_path_factory.mktemp("scenario") / "docs", scenario.files
        )
        first_commit = repo.head()
        with serve_repository(repo.path, home, protocol=protocol) as server:
            responses = {call.title: server.call(call.tool, **call.arguments) for call in scenario.calls}
            return ScenarioResult(name, repo, first_commit, responses, server.list_tools())

    return run_once


@pytest.fixture(params=SCENARIO_SETTINGS, ids=format_setting)
def scenario_result(
    request: pytest.FixtureRequest, run_scenario: Callable[[ScenarioSetting], ScenarioResult]
) -> ScenarioResult:
    return run_scenario(request.param)


def test_example_returns_specified_answer(scenario_result: ScenarioResult) -> None:
    for call in read_scenario(scenario_result.name).calls:
        response = scenario_result.responses[call.title]
        assert response.is_error == call.must_fail, f"{call.title}: {response.text}"
        if call.expected_text is not None:
            assert response.text == call.expected_text, call.title
        if call.expected_data is not None:
            assert find_difference(call.expected_data, response.data) is None, call.title
        assert find_difference("<commit>", response.data["commit"]) is None, call.title
        if not call.must_fail:
            needs_next_step = (
                call.tool in WRITING_TOOLS
                or "usage" in response.data
                or [] in (response.data.get("hits"), response.data.get("matches"))
            )
            assert ("next_step" in response.data) == needs_next_step, call.title
            if needs_next_step:
                assert find_difference("<string>", response.data["next_step"]) is None, call.title


def test_each_changing_call_makes_one_commit(scenario_result: ScenarioResult) -> None:
    writing_tools = [
        call.tool
        for call in read_scenario(scenario_result.name).calls
        if call.tool in WRITING_TOOLS and not call.must_fail and set(call.arguments) - {"doc_type"}
    ]
    trailers = [f"%(trailers:key=Docyard-{name},valueonly,separator=)" for name in ("Tool", "Client")]
    log_format = "|".join(["%an <%ae>", "%cn", *trailers])
    log = scenario_result.repo.git(
        "log", "--reverse", f"--format={log_format}", f"{scenario_result.first_commit}..HEAD"
    ).splitlines()
    assert log == [f"{NAME} <{EMAIL}>|{NAME}|{tool}|{CLIENT_NAME}" for tool in writing_tools]


def test_repository_stays_clean(scenario_result: ScenarioResult) -> None:
    assert scenario_result.repo.fsck() == ""
    if not scenario_result.repo.path.joinpath("HEAD").exists():
        assert scenario_result.repo.status() == ""


def test_schemas_match_contract(scenario_result: ScenarioResult) -> None:
    search_schema, get_doc_schema = (
        scenario_result.tools[name]["inputSchema"] for name in ("search_docs", "get_doc")
    )
    assert search_schema["required"] == ["query"]
    assert search_schema["additionalProperties"] is get_doc_schema["additionalProperties"] is False
    assert get_doc_schema["required"] == ["chunk_id"]
    query = "The search query (e.g., 'how to paginate', 'RateLimitError')."
    limit = "Maximum number of results to return. Default is 10."
    cursor = (
        "Opaque pagination token returned from a previous search. Omit for the first page. "
        "Returns an error if invalid or malformed."
    )
    chunk = (
        "The exact ID of the chunk to retrieve, as returned by search_docs "
        "(e.g., 'guides/retries.md#backoff-strategy')."
    )
    context = (
        "Number of adjacent chunks to include before and after the target chunk. Default is 0. "
        "Use this to read the surrounding file context."
    )
    integer = {"type": "integer"}
    assert (
        search_schema["properties"]
        | {
            "query": {"type": "string", "description": query},
            "limit": {**integer, "description": limit, "minimum": 1, "maximum": 50, "default": 10},
            "cursor": {"type": "string", "description": cursor},
        }
        == search_schema["properties"]
    )
    assert get_doc_schema["properties"] == {
        "chunk_id": {"type": "string", "description": chunk},
        "context": {**integer, "description": context, "minimum": 0, "maximum": 5, "default": 0},
        # The fields below are extensions of the contract.
        "ref": search_schema["properties"]["ref"],
        "offset": {"type": "integer"},
        "max_tokens": {"type": "integer"},
        "min_commit": {"type": "string"},
    }
    if scenario_result.name == "seed_000":
        assert search_schema["properties"]["type"]["enum"] == ["api_spec", "runbook"]
        assert search_schema["properties"]["tags"]["enum"] == ["sdk"]
        description = (
            "Search the documentation of docs. Use this to find relevant documentation, guides, or API "
            "references."
        )
        assert scenario_result.tools["search_docs"]["description"] == description


SECTIONS_BY_TYPE = {
    "api_spec": ("endpoints", "examples", "tasks"),
    "process_checklist": ("prerequisites", "tasks", "verification"),
    "review_cleanup": ("findings", "tasks", "notes"),
}


def test_new_document_has_structure_of_its_type(tmp_path: Path, home: Path) -> None:
    repo = create_repository(tmp_path / "docs")
    with serve_repository(repo.path, home) as server:
        for doc_type, sections in SECTIONS_BY_TYPE.items():
            response = server.call("create_document", doc_type=doc_type, title=f"A {doc_type}", folder="new")
            text = (repo.path / response.data["path"]).read_text()
            slug = f"a-{doc_type}".lower()
            headings = [line for line in text.splitlines() if line.startswith("#")]
            expected = [f"## {section.title()} {{#{section}}}" for section in sections]
            assert headings == [f"# A {doc_type} {{#{slug}}}", *expected]
