"""Resources through a client, in both protocol versions: lists, reads, and notifications of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from tests.acceptance.clients import (
    RESOURCE_LIST,
    EventRecorder,
    connect_to_server,
    start_long_lock_wait_server,
    watch_resources,
)
from tests.acceptance.server import ProtocolMode, build_artifact
from tests.repositories import Repo, create_repository
from tests.stdio_client import encode_line
from tools.resources.list import PAGE_SIZE, TEMPLATES

pytestmark = [
    pytest.mark.anyio,
    # Hosts still use the subscriptions of the handshake protocol, although they are deprecated.
    pytest.mark.filterwarnings("ignore:resources/.* is removed"),
]

SETUP_TEXT = (
    "# Setup\n\nIntroduction.\n\n## Install\n\nSteps.\n\n### Linux\n\nWith apt.\n\n## Use\n\nRun it.\n"
)
FILES = {"guides/setup.md": SETUP_TEXT, "a b/C# ü?.md": "# Sharp\n", "docs.txt": "No document.\n"}
DOCUMENT_URI, INSTALL_URI, USE_URI = (
    "doc:///guides/setup.md",
    "doc:///guides/setup.md#install",
    "doc:///guides/setup.md#use",
)
SILENCE_S = 0.4  # seconds in which no notification may arrive


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


def build_options(repo: Repo, *extra: str) -> list[str | Path]:
    return ["-C", repo.path, "--no-fsync", *extra]


def get_text_and_meta(part: object) -> tuple[str, dict[str, Any]]:
    assert isinstance(part, TextResourceContents)
    return part.text, part.meta or {}


async def test_documents_are_listed_and_read_exactly_as_stored(
    repo: Repo, home: Path, protocol: ProtocolMode
) -> None:
    async with connect_to_server(home, protocol, build_options(repo)) as client:
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe
        assert capabilities.resources.list_changed
        result = await client.list_resources()
        assert [(resource.name, resource.title, resource.mime_type) for resource in result.resources] == [
            ("a b/C# ü?.md", "Sharp", "text/markdown"),
            ("guides/setup.md", "Setup", "text/markdown"),
        ]
        assert result.next_cursor is None
        for resource in result.resources:
            [part] = (await client.read_resource(resource.uri)).contents
            assert part.uri == resource.uri
            assert part.mime_type == "text/markdown"
            text, meta = get_text_and_meta(part)
            assert text == FILES[resource.name]
            assert resource.size == len(text.encode())
            assert meta == {"commit": repo.head(), "address": resource.name}
        templates = await client.list_resource_templates()
        assert [template.uri_template for template in templates.resource_templates] == [
            template.uri for template in TEMPLATES
        ]


async def test_sections_refs_and_moved_addresses_are_readable(
    repo: Repo, home: Path, protocol: ProtocolMode
) -> None:
    first_commit = repo.head()
    async with connect_to_server(home, protocol, build_options(repo)) as client:
        [part] = (await client.read_resource(INSTALL_URI)).contents
        assert get_text_and_meta(part) == (
            "## Install\n\nSteps.\n\n### Linux\n\nWith apt.\n\n",
            {"commit": first_commit, "address": "guides/setup.md#install"},
        )
        repo.git("mv", "guides/setup.md", "guides/start.md")
        move_commit = repo.commit({})
        [part] = (await client.read_resource(f"{DOCUMENT_URI}?ref={first_commit}#use")).contents
        assert get_text_and_meta(part) == (
            "## Use\n\nRun it.\n",
            {"commit": first_commit, "address": "guides/setup.md#use"},
        )
        [part] = (await client.read_resource(USE_URI)).contents
        text, meta = get_text_and_meta(part)
        assert text == "## Use\n\nRun it.\n"
        assert meta["address"] == "guides/start.md#use"
        assert meta["moved_to"] == {"file": "guides/start.md", "slug": "use", "commit": move_commit}


async def test_long_lists_are_paged_and_long_documents_truncated(
    tmp_path: Path, home: Path, protocol: ProtocolMode
) -> None:
    files = {f"{number:03}.md": f"# {number}\n" for number in range(PAGE_SIZE + 5)}
    section_texts = "".join(f"## Part {number}\n\n{'word ' * 4000}\n\n" for number in range(10))
    repo = create_repository(tmp_path / "docs", {**files, "long.md": f"# Long\n\n{section_texts}"})
    async with connect_to_server(home, protocol, build_options(repo)) as client:
        first_page = await client.list_resources()
        second_page = await client.list_resources(cursor=first_page.next_cursor)
        assert [resource.name for resource in (*first_page.resources, *second_page.resources)] == [
            *files,
            "long.md",
        ]
        assert second_page.next_cursor is None
        source, note = (await client.read_resource("doc:///long.md")).contents
        text, meta = get_text_and_meta(source)
        assert f"# Long\n\n{section_texts}".startswith(text)
        assert meta["truncated"] is True
        assert meta["rest"][0] in get_text_and_meta(note)[0]
        assert note.mime_type == "text/plain"
        [next_part] = (await client.read_resource(meta["rest"][0])).contents
        assert f"# Long\n\n{section_texts}"[len(text) :].startswith(get_text_and_meta(next_part)[0])
        repo.commit({"more.md": "# More\n"})
        with pytest.raises(MCPError, match="have changed since the cursor") as error_info:
            await client.list_resources(cursor=first_page.next_cursor)
        assert error_info.value.error.code == -32602


@pytest.mark.parametrize("is_artifact", [False, True], ids=["repository", "artifact"])
async def test_unreadable_uri_returns_error_with_fix(
    repo: Repo, home: Path, tmp_path: Path, protocol: ProtocolMode, is_artifact: bool
) -> None:
    arguments = build_options(repo)
    if is_artifact:
        build_artifact(repo.path, home, tmp_path / "out")
        arguments = ["--index", tmp_path / "out", "--read-only"]
    async with connect_to_server(home, protocol, arguments) as client:
        for uri, nearest in (
            ("doc:///guides/setpu.md", [DOCUMENT_URI]),
            ("doc:///guides/setup.md#instal", [INSTALL_URI, f"{INSTALL_URI}/linux"]),
            ("doc:///docs.txt", None),
            ("doc:////etc/passwd", None),
            ("doc:///../../etc/passwd", None),
            ("doc:///..%2f..%2fetc%2fpasswd", None),
            ("doc:///.git/config", None),
            (f"doc:///{repo.path}/guides/setup.md", None),
            ("file:///etc/passwd", None),
            ("doc:///%00", None),
            ("doc:///%ed%a0%80", None),
            ("doc:///" + "a" * 10_000, None),
            ("doc:///" + "#" * 5_000, None),
            ("", None),
        ):
            with pytest.raises(MCPError) as error_info:
                await client.read_resource(uri)
            error = error_info.value.error
            assert error.code == -32602
            assert error.data["fix"]
            assert len(error.message) < 1200
            assert str(repo.path) not in f"{error.message}{error.data}"
            if nearest:
                assert error.data["nearest"] == nearest
        await client.read_resource(DOCUMENT_URI)


async def test_subscribers_are_notified_of_changes(repo: Repo, home: Path, protocol: ProtocolMode) -> None:
    recorder = EventRecorder()
    async with connect_to_server(home, protocol, build_options(repo), recorder) as client:
        async with watch_resources(
            client, protocol, recorder, [DOCUMENT_URI, INSTALL_URI, USE_URI]
        ) as accepted_uris:
            assert accepted_uris == [DOCUMENT_URI, INSTALL_URI, USE_URI]
            repo.commit({"guides/setup.md": SETUP_TEXT.replace("apt", "dnf")})  # by another process
            await recorder.wait_for_events(DOCUMENT_URI, INSTALL_URI)
            await client.call_tool("tag_document", {"file": "guides/setup.md", "tags": ["new"]})
            await recorder.wait_for_events(DOCUMENT_URI)
            await client.call_tool("create_document", {"doc_type": "document", "title": "New"})
            await recorder.wait_for_events(RESOURCE_LIST)
            repo.git("rm", "-q", "guides/setup.md")
            repo.commit({})
            await recorder.wait_for_events(DOCUMENT_URI, INSTALL_URI, USE_URI, RESOURCE_LIST)
        repo.commit({"guides/setup.md": SETUP_TEXT})
        await client.call_tool("list_documents", {})
        await anyio.sleep(SILENCE_S)
        assert set(recorder.events) <= {RESOURCE_LIST}


async def test_subscription_to_missing_resource_is_refused(
    repo: Repo, home: Path, protocol: ProtocolMode
) -> None:
    recorder = EventRecorder()
    async with connect_to_server(home, protocol, build_options(repo, "--read-only"), recorder) as client:
        if protocol == "legacy":
            for uri in ("doc:///none.md", "file:///etc/passwd", f"{DOCUMENT_URI}?ref=main"):
                with pytest.raises(MCPError) as error_info:
                    await client.subscribe_resource(uri)
                assert error_info.value.error.code == -32602
            await client.unsubscribe_resource("doc:///none.md")
            return
        uris = ["doc:///none.md", USE_URI, "file:///etc/passwd"]
        async with watch_resources(client, protocol, recorder, uris) as accepted_uris:
            assert accepted_uris == [USE_URI]
            repo.commit({"guides/setup.md": SETUP_TEXT.replace("Run", "Start")})
            await recorder.wait_for_events(USE_URI)


async def test_client_without_subscription_gets_no_notification(repo: Repo, home: Path) -> None:
    recorder = EventRecorder()
    async with connect_to_server(home, "legacy", build_options(repo), recorder) as client:
        await client.read_resource(DOCUMENT_URI)
        repo.commit({"guides/setup.md": "# Other\n", "new.md": "# New\n"})
        await client.call_tool("list_documents", {})
        await anyio.sleep(SILENCE_S)
        assert recorder.events == []


async def test_subscribers_are_notified_when_artifact_is_replaced(
    repo: Repo, home: Path, tmp_path: Path, protocol: ProtocolMode
) -> None:
    artifact = tmp_path / "out"
    first_commit = repo.head()
    build_artifact(repo.path, home, artifact)
    recorder = EventRecorder()
    async with connect_to_server(home, protocol, ["--index", artifact, "--read-only"], recorder) as client:
        [part] = (await client.read_resource(INSTALL_URI)).contents
        assert get_text_and_meta(part)[1]["commit"] == first_commit
        async with watch_resources(client, protocol, recorder, [INSTALL_URI, USE_URI]):
            repo.commit({"guides/setup.md": SETUP_TEXT.replace("Run", "Start"), "new.md": "# New\n"})
            build_artifact(repo.path, home, artifact)
            await recorder.wait_for_events(USE_URI, RESOURCE_LIST)
            [part] = (await client.read_resource(USE_URI)).contents
            assert get_text_and_meta(part)[0] == "## Use\n\nStart it.\n"


def test_malformed_resource_uri_returns_error(repo: Repo, home: Path) -> None:
    client = start_long_lock_wait_server(repo.path, home / "raw")
    invalid_uris: list[object] = ["doc:///\ud800.md", "\x00", "doc:///\x00", None, 5, ["doc:///a.md"], {}]
    for number, uri in enumerate(invalid_uris):
        client.write(encode_line({"id": number, "method": "resources/read", "params": {"uri": uri}}))
        response = client.receive()
        assert response["id"] == number
        assert response["error"]["code"] in (-32602, -32600, -32700)
        assert str(repo.path) not in str(response)
    client.close_input()
    assert client.wait_for_exit() == (0, "")


def test_server_exits_when_subscribed_client_disconnects(repo: Repo, home: Path) -> None:
    client = start_long_lock_wait_server(repo.path, home / "watching")
    client.write(encode_line({"id": 1, "method": "resources/subscribe", "params": {"uri": DOCUMENT_URI}}))
    assert client.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    repo.commit({"guides/setup.md": "# Other\n"})
    message = client.receive()
    assert (message["method"], message["params"]) == (
        "notifications/resources/updated",
        {"uri": DOCUMENT_URI},
    )
    client.close_input()
    assert client.wait_for_exit() == (0, "")
