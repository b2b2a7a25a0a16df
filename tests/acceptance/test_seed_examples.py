"""Every example of the two specifications, through the SDK's client and a server process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import CLIENT, ProtocolVersion, Reply, serving
from tests.acceptance.stories import find_difference, read_story
from tests.repositories import EMAIL, NAME, Repo, create_bare_repository, create_repository

pytestmark = [pytest.mark.promise, pytest.mark.process]

WRITERS = (
    "create_document",
    "edit_document",
    "remove_document",
    "complete_task",
    "reopen_task",
    "tag_document",
)
Setting = tuple[str, bool, ProtocolVersion]
SETTINGS: tuple[Setting, ...] = (
    ("seed_000", False, "auto"),
    ("seed_004", False, "auto"),
    ("seed_004", True, "legacy"),
    ("seed_004_workflow", False, "legacy"),
    ("seed_004_workflow", True, "auto"),
)


@dataclass(frozen=True, slots=True)
class PlayedStory:
    """The responses of a story, and its repository. `first` is the commit before the calls."""

    name: str
    repo: Repo
    first: str
    replies: Mapping[str, Reply]
    tools: Mapping[str, Any]


def format_setting(setting: Setting) -> str:
    name, is_bare, protocol = setting
    return f"{name} {'create_bare_repository' if is_bare else 'create_repository'} {protocol}"


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Callable[[Setting], PlayedStory]:
    """Run a story once, and cache the result."""

    @cache
    def played(setting: Setting) -> PlayedStory:
        name, is_bare, protocol = setting
        story = read_story(name)
        repo = (create_bare_repository if is_bare else create_repository)(
            tmp_path_factory.mktemp("story") / "docs", story.files
        )
        first = repo.head()
        with serving(repo.path, home, protocol=protocol) as server:
            replies = {call.title: server.call(call.tool, **call.arguments) for call in story.calls}
            return PlayedStory(name, repo, first, replies, server.tools())

    return played


@pytest.fixture(params=SETTINGS, ids=format_setting)
def played(request: pytest.FixtureRequest, play: Callable[[Setting], PlayedStory]) -> PlayedStory:
    return play(request.param)


def test_example_returns_specified_answer(played: PlayedStory) -> None:
    for call in read_story(played.name).calls:
        reply = played.replies[call.title]
        assert reply.is_error == call.fails, f"{call.title}: {reply.text}"
        if call.text is not None:
            assert reply.text == call.text, call.title
        if call.data is not None:
            assert find_difference(call.data, reply.data) is None, call.title
        assert find_difference("<commit>", reply.data["commit"]) is None, call.title
        if not call.fails:
            assert find_difference("<string>", reply.data["next_step"]) is None, call.title


def test_each_changing_call_makes_one_commit(played: PlayedStory) -> None:
    writing_tools = [
        call.tool
        for call in read_story(played.name).calls
        if call.tool in WRITERS and not call.fails and set(call.arguments) - {"doc_type"}
    ]
    trailers = [f"%(trailers:key=Docyard-{name},valueonly,separator=)" for name in ("Tool", "Client")]
    log_format = "|".join(["%an <%ae>", "%cn", *trailers])
    log = played.repo.git("log", "--reverse", f"--format={log_format}", f"{played.first}..HEAD").splitlines()
    assert log == [f"{NAME} <{EMAIL}>|{NAME}|{tool}|{CLIENT}" for tool in writing_tools]


def test_repository_stays_clean(played: PlayedStory) -> None:
    assert played.repo.fsck() == ""
    if not played.repo.path.joinpath("HEAD").exists():
        assert played.repo.status() == ""


def test_schemas_match_contract(played: PlayedStory) -> None:
    search, get = (played.tools[name]["inputSchema"] for name in ("search_docs", "get_doc"))
    assert search["required"] == ["query"]
    assert search["additionalProperties"] is get["additionalProperties"] is False
    assert get["required"] == ["chunk_id"]
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
    number = {"type": "integer"}
    assert (
        search["properties"]
        | {
            "query": {"type": "string", "description": query},
            "limit": {**number, "description": limit, "minimum": 1, "maximum": 50, "default": 10},
            "cursor": {"type": "string", "description": cursor},
        }
        == search["properties"]
    )
    assert get["properties"] == {
        "chunk_id": {"type": "string", "description": chunk},
        "context": {**number, "description": context, "minimum": 0, "maximum": 5, "default": 0},
        "ref": search["properties"]["ref"],  # an extension of the contract
        "offset": {
            "type": "integer",
            "description": "Character to continue from",
            "minimum": 0,
        },  # an extension of the contract
    }
    if played.name == "seed_000":
        assert search["properties"]["type"]["enum"] == ["api_spec", "runbook"]
        assert search["properties"]["tags"]["enum"] == ["sdk"]
        description = (
            "Search the documentation of docs. Use this to find relevant documentation, guides, or API "
            "references."
        )
        assert played.tools["search_docs"]["description"] == description


STRUCTURES = {
    "api_spec": ("endpoints", "examples", "tasks"),
    "process_checklist": ("prerequisites", "tasks", "verification"),
    "review_cleanup": ("findings", "tasks", "notes"),
}


def test_new_document_has_structure_of_its_type(tmp_path: Path, home: Path) -> None:
    repo = create_repository(tmp_path / "docs")
    with serving(repo.path, home) as server:
        for name, sections in STRUCTURES.items():
            created = server.call("create_document", doc_type=name, title=f"A {name}", folder="new")
            text = (repo.path / created.data["path"]).read_text()
            slug = f"a-{name}".lower()
            headings = [line for line in text.splitlines() if line.startswith("#")]
            expected = [f"## {section.title()} {{#{section}}}" for section in sections]
            assert headings == [f"# A {name} {{#{slug}}}", *expected]
