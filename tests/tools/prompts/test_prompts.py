"""Prompts name offered tools only, contain the request, and refuse invalid arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import API_TEXT
from tools.arguments import InvalidArguments
from tools.dispatcher import ToolDispatcher
from tools.prompts import PROMPTS
from tools.prompts.prompt import FilledPrompt, OfferedPrompts, Prompt, UnknownPrompt
from tools.tool import Context
from tools.toolsets import all_tools
from workspace.errors import WorkspaceError
from workspace.validation.skill_faults import is_skill_name
from workspace.workspace import Workspace

PROMPT_ARGUMENTS: Mapping[str, dict[str, str]] = {
    "write_spec": {"topic": "How search ranks", "doc_type": "api_spec", "folder": "specs"},
    "review_document": {"path": "api.md#endpoints", "focus": "clarity"},
    "answer_from_docs": {"question": "Where do paths begin?"},
}
TOOL_NAMES = frozenset(tool.name for tool in all_tools())

parametrize_prompts = pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)


def open_context(repo: Repo, toolsets: str | None, *, read_only: bool = False) -> Context:
    workspace = Workspace.open(repo.path, durable=False)
    toolset_names = toolsets.split(",") if toolsets else None
    return ToolDispatcher(workspace, SearchIndex(workspace), toolset_names, read_only).context()


def fill_prompt(prompt: Prompt, context: Context, arguments: Mapping[str, str]) -> FilledPrompt:
    return prompt.write(context, prompt.parse_arguments(arguments))


@pytest.mark.parametrize(
    ("toolsets", "read_only", "expected"),
    [
        (None, False, ["write_spec", "review_document", "answer_from_docs"]),
        (None, True, ["review_document", "answer_from_docs"]),
        ("documents", False, ["write_spec", "review_document"]),
        ("documents", True, ["review_document"]),
        ("search", False, ["review_document", "answer_from_docs"]),
        ("reading", False, ["review_document"]),
        ("tasks", False, []),
    ],
)
def test_prompts_name_offered_tools_only(
    repo: Repo, toolsets: str | None, read_only: bool, expected: list[str]
) -> None:
    context = open_context(repo, toolsets, read_only=read_only)
    prompts = OfferedPrompts(context, PROMPTS).prompts
    assert [prompt.name for prompt in prompts] == expected
    for prompt in prompts:
        fields = PROMPT_ARGUMENTS[prompt.name]
        for arguments in (fields, dict(list(fields.items())[:1])):
            text = fill_prompt(prompt, context, arguments).text
            named_tools = set(re.findall(r"\w+", text)) & TOOL_NAMES
            assert named_tools <= context.tools


@parametrize_prompts
def test_calls_in_prompts_have_fields_of_their_tools(repo: Repo, prompt: Prompt) -> None:
    context = open_context(repo, ",".join(("documents", "tasks", "search", "reading", "history")))
    fields = {tool.name: set(tool.arguments.model_fields) for tool in all_tools()}
    operation_fields = {"operation", "slug", "title"}
    calls = re.findall(
        r"(\w+) (\{[^{}]*\})", fill_prompt(prompt, context, PROMPT_ARGUMENTS[prompt.name]).text
    )
    assert calls
    for name, arguments in calls:
        assert set(json.loads(arguments)) <= fields[name] | (
            operation_fields if name == "edit_document" else set()
        )


@parametrize_prompts
def test_prompt_contains_the_request(dispatcher: ToolDispatcher, prompt: Prompt) -> None:
    text = fill_prompt(prompt, dispatcher.context(), PROMPT_ARGUMENTS[prompt.name]).text
    assert all(value in text for value in PROMPT_ARGUMENTS[prompt.name].values())
    assert "instruction to you" in text
    assert len(text) < 3000


def test_reviewed_document_is_attached(dispatcher: ToolDispatcher, repo: Repo) -> None:
    prompt = dispatcher.list_prompts().find("review_document")
    document_prompt = fill_prompt(prompt, dispatcher.context(), {"path": "api.md"})
    assert document_prompt.source is not None
    assert (document_prompt.uri, document_prompt.source.text) == ("doc:///api.md", API_TEXT)
    assert repo.head() in document_prompt.text
    section_prompt = fill_prompt(prompt, dispatcher.context(), {"path": "./api.md#endpoints/search"})
    assert section_prompt.source is not None
    assert (section_prompt.uri, section_prompt.source.text) == (
        "doc:///api.md#endpoints/search",
        "### Search\n\nFinds things.\n\n",
    )


def test_moved_document_is_reviewed_at_new_path(dispatcher: ToolDispatcher, repo: Repo) -> None:
    repo.git("mv", "api.md", "interface.md")
    repo.commit({})
    prompt = dispatcher.list_prompts().find("review_document")
    filled_prompt = fill_prompt(prompt, dispatcher.context(), {"path": "api.md#endpoints"})
    assert filled_prompt.uri == "doc:///interface.md#endpoints"
    assert "'interface.md#endpoints'" in filled_prompt.text


@pytest.mark.parametrize("toolsets", ["documents", "reading", "search"])
def test_prompt_reports_that_long_document_is_cut(repo: Repo, toolsets: str) -> None:
    repo.commit({"long.md": "# Long\n\n" + "word " * 30_000})
    context = open_context(repo, toolsets)
    text = fill_prompt(
        OfferedPrompts(context, PROMPTS).find("review_document"), context, {"path": "long.md"}
    ).text
    assert "Only its beginning is attached" in text


@parametrize_prompts
def test_invalid_prompt_arguments_are_refused(dispatcher: ToolDispatcher, prompt: Prompt) -> None:
    [required_argument] = [argument for argument in prompt.arguments if argument.required]
    valid_arguments = PROMPT_ARGUMENTS[prompt.name]
    for invalid_arguments in (
        {},
        {required_argument.name: ""},
        {required_argument.name: " \n"},
        {**valid_arguments, required_argument.name: "x" * (required_argument.max_characters + 1)},
        {**valid_arguments, required_argument.name: "a\x00b"},
        {**valid_arguments, required_argument.name: "a\ud800b"},
        {**valid_arguments, f"{required_argument.name}s": "x"},
        {**valid_arguments, "y" * 10_000: "x"},
    ):
        with pytest.raises(InvalidArguments) as error_info:
            prompt.parse_arguments(invalid_arguments)
        assert error_info.value.fix
        assert len(error_info.value.message) < 200
    with pytest.raises(InvalidArguments, match="unknown argument") as error_info:
        prompt.parse_arguments({**valid_arguments, required_argument.name[:-1]: "x"})
    assert error_info.value.details["nearest"] == [required_argument.name]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("write_spec", {"topic": "A", "doc_type": "apispec"}, "UNKNOWN_TYPE"),
        ("write_spec", {"topic": "A", "folder": "../out"}, "INVALID_PATH"),
        ("write_spec", {"topic": "A", "folder": "C:\\out"}, "INVALID_PATH"),
        ("review_document", {"path": "none.md"}, "DOCUMENT_NOT_FOUND"),
        ("review_document", {"path": "api.md#none"}, "SECTION_NOT_FOUND"),
        ("review_document", {"path": "/etc/passwd"}, "INVALID_PATH"),
        ("review_document", {"path": "../secret.md"}, "INVALID_PATH"),
    ],
)
def test_invalid_address_or_type_is_refused(
    dispatcher: ToolDispatcher, tmp_path: Path, name: str, arguments: dict[str, str], code: str
) -> None:
    prompt = dispatcher.list_prompts().find(name)
    with pytest.raises(WorkspaceError) as error_info:
        fill_prompt(prompt, dispatcher.context(), arguments)
    assert error_info.value.code == code
    assert str(tmp_path) not in error_info.value.message


def test_unknown_prompt_returns_nearest_name(dispatcher: ToolDispatcher) -> None:
    with pytest.raises(UnknownPrompt) as error_info:
        dispatcher.list_prompts().find("review_documents")
    assert error_info.value.details["nearest"] == ["review_document"]
    with pytest.raises(UnknownPrompt):
        OfferedPrompts(dispatcher.context(), ()).find("x" * 10_000)


def test_arguments_with_candidates_are_completed(dispatcher: ToolDispatcher) -> None:
    has_candidates = {
        f"{prompt.name}.{argument.name}": bool(argument.complete(dispatcher.context(), "", {}).values)
        for prompt in PROMPTS
        for argument in prompt.arguments
        if argument.complete
    }
    assert has_candidates == dict.fromkeys(
        ("write_spec.doc_type", "write_spec.folder", "review_document.path", "review_document.focus"), True
    )


def test_skill_cannot_have_the_name_of_a_built_in_prompt() -> None:
    assert [prompt.name for prompt in PROMPTS if is_skill_name(prompt.name)] == []
