"""Skills through a client, in both protocol versions: prompts, resources, and notifications of changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged
from mcp_types import PromptListChangedNotification, ResourceListChangedNotification, TextContent

from tests.acceptance.clients import connect_to_server
from tests.acceptance.server import ProtocolMode, build_artifact
from tests.repositories import Repo, create_bare_repository, create_repository
from tests.stdio_client import HANDSHAKE, RawClient, build_serve_command, connect

pytestmark = pytest.mark.anyio

TIMEOUT_S = 60.0
RULE = '[[protect]]\ntypes = ["skill"]\n'
SETTINGS = "skills = true\n" + RULE
SKILL = "---\ntype: skill\ndescription: Deploys a service\n---\n\n# Deploy\n\nRun `deploy`.\n"
FILES = {"docyard.toml": SETTINGS, "z/deploy.md": SKILL, "a.md": "# A\n\nText.\n"}
BUILT_IN_NAMES = ["write_spec", "review_document", "answer_from_docs"]


async def list_prompt_names(client: Client) -> list[str]:
    return [prompt.name for prompt in (await client.list_prompts(cache_mode="bypass")).prompts]


@pytest.mark.parametrize("create", [create_repository, create_bare_repository])
async def test_skill_is_a_prompt_and_the_first_resource(
    tmp_path: Path, home: Path, protocol: ProtocolMode, create: Callable[..., Repo]
) -> None:
    repo = create(tmp_path / "docs", FILES)
    async with connect_to_server(home, protocol, ["-C", repo.path, "--no-fsync"]) as client:
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.prompts is not None
        assert capabilities.prompts.list_changed
        prompts = await client.list_prompts()
        assert [prompt.name for prompt in prompts.prompts] == [*BUILT_IN_NAMES, "deploy"]
        assert prompts.prompts[-1].title == "Deploy"
        assert prompts.prompts[-1].description == "Deploys a service"
        assert not prompts.prompts[-1].arguments
        result = await client.get_prompt("deploy")
        [message] = result.messages
        assert message.role == "user"
        assert isinstance(message.content, TextContent)
        assert message.content.text.endswith("# Deploy\n\nRun `deploy`.\n")
        assert f"doc:///z/deploy.md at commit {repo.head()}" in message.content.text
        assert "type: skill" not in message.content.text
        with pytest.raises(MCPError, match="unknown argument 'x'"):
            await client.get_prompt("deploy", {"x": "y"})
        resources = (await client.list_resources()).resources
        assert [resource.uri for resource in resources] == ["doc:///z/deploy.md", "doc:///a.md"]
        assert (resources[0].name, resources[0].description) == ("deploy", "Skill: Deploys a service")
        assert resources[0].annotations is not None
        assert resources[0].annotations.priority == 1.0
        assert resources[1].description is None


async def test_text_of_proposal_or_ref_is_never_a_prompt(
    tmp_path: Path, home: Path, protocol: ProtocolMode
) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    async with connect_to_server(home, protocol, ["-C", repo.path, "--no-fsync"]) as client:
        for arguments in (
            {
                "operation": "update_content",
                "file": "z/deploy.md",
                "slug": "_preamble",
                "content": "# Deploy\n\nFORGED\n",
                "base_commit": repo.head(),
            },
            {"operation": "set_metadata", "file": "a.md", "metadata": {"type": "skill"}},
        ):
            answer = await client.call_tool("edit_document", arguments)
            data = json.loads(answer.content[0].text)  # type: ignore[union-attr]
            assert data.get("proposal"), data
        assert await list_prompt_names(client) == [*BUILT_IN_NAMES, "deploy"]
        result = await client.get_prompt("deploy")
        assert "FORGED" not in result.model_dump_json()
        repo.commit({"docyard.toml": "skills = true\n"})
        assert await list_prompt_names(client) == BUILT_IN_NAMES
        with pytest.raises(MCPError, match="unknown prompt 'deploy'"):
            await client.get_prompt("deploy")


async def test_artifact_offers_no_skills(tmp_path: Path, home: Path, protocol: ProtocolMode) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    build_artifact(repo.path, home, tmp_path / "out")
    arguments = ["--index", tmp_path / "out", "--read-only"]
    async with connect_to_server(home, protocol, arguments) as client:
        assert await list_prompt_names(client) == BUILT_IN_NAMES[1:]
        resources = (await client.list_resources()).resources
        assert [resource.uri for resource in resources] == ["doc:///a.md", "doc:///z/deploy.md"]
        assert [resource.description for resource in resources] == [None, None]


async def test_changed_skills_are_announced(tmp_path: Path, home: Path, protocol: ProtocolMode) -> None:
    repo = create_repository(tmp_path / "docs", FILES)
    events: list[str] = []
    command = build_serve_command(repo.path)

    async def wait_for(*expected: str) -> None:
        with anyio.fail_after(TIMEOUT_S):
            while not set(expected) <= set(events):
                await anyio.sleep(0.05)

    async def receive(message: object) -> None:
        if isinstance(message, PromptListChangedNotification):
            events.append("prompts")
        if isinstance(message, ResourceListChangedNotification):
            events.append("resources")

    async def change_skills(client: Client) -> None:
        await client.list_prompts(cache_mode="bypass")
        await client.list_resources(cache_mode="bypass")
        # Another process commits: a person merges a proposal.
        repo.commit({"a.md": "---\ntype: skill\n---\n\n# A\n\nText.\n"})
        await client.call_tool("view_document", {"file": "a.md"})
        await wait_for("prompts", "resources")
        assert await list_prompt_names(client) == [*BUILT_IN_NAMES, "a", "deploy"]
        events.clear()
        repo.commit({"a.md": "# A\n\nText.\n"})
        await wait_for("prompts")

    async with connect(command, protocol, receive=receive) as client:
        if protocol == "legacy":
            await change_skills(client)
            return
        async with (
            client.listen(prompts_list_changed=True, resources_list_changed=True) as stream,
            anyio.create_task_group() as tasks,
        ):

            async def record_events() -> None:
                async for event in stream:
                    if event == PromptsListChanged():
                        events.append("prompts")
                    if event == ResourcesListChanged():
                        events.append("resources")

            tasks.start_soon(record_events)
            await change_skills(client)
            tasks.cancel_scope.cancel()


LISTS = ("prompts/list", "resources/list", "resources/templates/list", "tools/list")


def read_lists(repo: Repo) -> list[str]:
    """Return the responses of a server, as they are sent, to a handshake and to lists."""
    client = RawClient(build_serve_command(repo.path), handshake=False)
    client.write(HANDSHAKE[0])
    responses = [json.dumps(client.receive())]
    client.write(HANDSHAKE[1])
    responses += [json.dumps(client.request(number, method)) for number, method in enumerate(LISTS, 1)]
    client.write(b'{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{"name":"deploy"}}\n')
    responses.append(json.dumps(client.receive()))
    client.close()
    return responses


async def test_without_the_setting_a_skill_is_a_document_like_any_other(tmp_path: Path) -> None:
    with_skill = create_repository(tmp_path / "a" / "docs", {**FILES, "docyard.toml": RULE})
    other_type = SKILL.replace("type: skill", "type: skull")
    without_skill = create_repository(
        tmp_path / "b" / "docs",
        {**FILES, "docyard.toml": RULE.replace("skill", "skull"), "z/deploy.md": other_type},
    )
    responses = read_lists(with_skill)
    assert responses == [response.replace("skull", "skill") for response in read_lists(without_skill)]
    capabilities = json.loads(responses[0])["result"]["capabilities"]
    assert capabilities["prompts"] == {"listChanged": False}
    assert [prompt["name"] for prompt in json.loads(responses[1])["result"]["prompts"]] == BUILT_IN_NAMES
