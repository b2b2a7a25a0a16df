"""Resources through a real client, in both protocol versions: lists, reads, and notifications of changes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import TextResourceContents

from tests import preloaded
from tests.acceptance.clients import LIST, EventRecorder, connected, start_slow_lock_server, watching
from tests.acceptance.server import ProtocolVersion, user_environment
from tests.repositories import Repo, normal
from tests.stdio_client import line_of
from tools.resources.list import PAGE_SIZE, TEMPLATES

pytestmark = [
    pytest.mark.anyio,
    # The subscriptions of the handshake protocol are deprecated, but hosts still use them.
    pytest.mark.filterwarnings("ignore:resources/.* is removed"),
]

SETUP = "# Setup\n\nIntroduction.\n\n## Install\n\nSteps.\n\n### Linux\n\nWith apt.\n\n## Use\n\nRun it.\n"
FILES = {"guides/setup.md": SETUP, "a b/C# ü?.md": "# Sharp\n", "docs.txt": "No document.\n"}
DOCUMENT, INSTALL, USE = (
    "doc:///guides/setup.md",
    "doc:///guides/setup.md#install",
    "doc:///guides/setup.md#use",
)
QUIET = 0.4  # seconds without an unexpected message


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return normal(tmp_path / "docs", FILES)


def options(repo: Repo, *more: str) -> list[str | Path]:
    return ["-C", repo.path, "--no-fsync", *more]


def text_of(part: object) -> tuple[str, dict[str, Any]]:
    assert isinstance(part, TextResourceContents)
    return part.text, part.meta or {}


async def test_documents_are_listed_and_read_exactly_as_stored(
    repo: Repo, home: Path, protocol: ProtocolVersion
) -> None:
    async with connected(home, protocol, options(repo)) as client:
        capabilities = client.server_capabilities
        assert capabilities is not None
        assert capabilities.resources is not None
        assert capabilities.resources.subscribe
        assert capabilities.resources.list_changed
        listed = await client.list_resources()
        assert [(found.name, found.title, found.mime_type) for found in listed.resources] == [
            ("a b/C# ü?.md", "Sharp", "text/markdown"),
            ("guides/setup.md", "Setup", "text/markdown"),
        ]
        assert listed.next_cursor is None
        for found in listed.resources:
            [part] = (await client.read_resource(found.uri)).contents
            assert part.uri == found.uri
            assert part.mime_type == "text/markdown"
            text, meta = text_of(part)
            assert text == FILES[found.name]
            assert found.size == len(text.encode())
            assert meta == {"commit": repo.head(), "address": found.name}
        templates = await client.list_resource_templates()
        assert [found.uri_template for found in templates.resource_templates] == [
            each.uri for each in TEMPLATES
        ]


async def test_sections_refs_and_moved_addresses_are_readable(
    repo: Repo, home: Path, protocol: ProtocolVersion
) -> None:
    first = repo.head()
    async with connected(home, protocol, options(repo)) as client:
        [part] = (await client.read_resource(INSTALL)).contents
        assert text_of(part) == (
            "## Install\n\nSteps.\n\n### Linux\n\nWith apt.\n\n",
            {"commit": first, "address": "guides/setup.md#install"},
        )
        repo.git("mv", "guides/setup.md", "guides/start.md")
        moved = repo.commit({})
        [part] = (await client.read_resource(f"{DOCUMENT}?ref={first}#use")).contents
        assert text_of(part) == ("## Use\n\nRun it.\n", {"commit": first, "address": "guides/setup.md#use"})
        [part] = (await client.read_resource(USE)).contents
        text, meta = text_of(part)
        assert text == "## Use\n\nRun it.\n"
        assert meta["address"] == "guides/start.md#use"
        assert meta["moved_to"] == {"file": "guides/start.md", "slug": "use", "commit": moved}


async def test_long_lists_are_paged_and_long_documents_cut(
    tmp_path: Path, home: Path, protocol: ProtocolVersion
) -> None:
    files = {f"{number:03}.md": f"# {number}\n" for number in range(PAGE_SIZE + 5)}
    parts = "".join(f"## Part {number}\n\n{'word ' * 4000}\n\n" for number in range(10))
    repo = normal(tmp_path / "docs", {**files, "long.md": f"# Long\n\n{parts}"})
    async with connected(home, protocol, options(repo)) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert [found.name for found in (*first.resources, *second.resources)] == [*files, "long.md"]
        assert second.next_cursor is None
        source, note = (await client.read_resource("doc:///long.md")).contents
        text, meta = text_of(source)
        assert f"# Long\n\n{parts}".startswith(text)
        assert meta["truncated"] is True
        assert meta["rest"][0] in text_of(note)[0]
        assert note.mime_type == "text/plain"
        [rest] = (await client.read_resource(meta["rest"][0])).contents
        assert f"# Long\n\n{parts}"[len(text) :].startswith(text_of(rest)[0])
        repo.commit({"more.md": "# More\n"})
        with pytest.raises(MCPError, match="have changed since the cursor") as caught:
            await client.list_resources(cursor=first.next_cursor)
        assert caught.value.error.code == -32602


@pytest.mark.parametrize("artifact", [False, True], ids=["repository", "artifact"])
async def test_unreadable_uri_returns_error_with_fix(
    repo: Repo, home: Path, tmp_path: Path, protocol: ProtocolVersion, artifact: bool
) -> None:
    served = options(repo)
    if artifact:
        build(repo, home, tmp_path / "out")
        served = ["--index", tmp_path / "out", "--read-only"]
    async with connected(home, protocol, served) as client:
        for uri, nearest in (
            ("doc:///guides/setpu.md", [DOCUMENT]),
            ("doc:///guides/setup.md#instal", [INSTALL, f"{INSTALL}/linux"]),
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
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            error = caught.value.error
            assert error.code == -32602
            assert error.data["fix"]
            assert len(error.message) < 1200
            assert str(repo.path) not in f"{error.message}{error.data}"
            if nearest:
                assert error.data["nearest"] == nearest
        await client.read_resource(DOCUMENT)


async def test_changes_are_sent_to_subscribers(repo: Repo, home: Path, protocol: ProtocolVersion) -> None:
    recorder = EventRecorder()
    async with connected(home, protocol, options(repo), recorder) as client:
        async with watching(client, protocol, recorder, [DOCUMENT, INSTALL, USE]) as watched:
            assert watched == [DOCUMENT, INSTALL, USE]
            repo.commit({"guides/setup.md": SETUP.replace("apt", "dnf")})  # by another process
            await recorder.until(DOCUMENT, INSTALL)
            await client.call_tool("tag_document", {"file": "guides/setup.md", "tags": ["new"]})
            await recorder.until(DOCUMENT)
            await client.call_tool("create_document", {"doc_type": "document", "title": "New"})
            await recorder.until(LIST)
            repo.git("rm", "-q", "guides/setup.md")
            repo.commit({})
            await recorder.until(DOCUMENT, INSTALL, USE, LIST)
        repo.commit({"guides/setup.md": SETUP})
        await client.call_tool("list_documents", {})
        await anyio.sleep(QUIET)
        assert set(recorder.events) <= {LIST}


async def test_subscription_to_missing_resource_is_refused(
    repo: Repo, home: Path, protocol: ProtocolVersion
) -> None:
    recorder = EventRecorder()
    async with connected(home, protocol, options(repo, "--read-only"), recorder) as client:
        if protocol == "legacy":
            for uri in ("doc:///none.md", "file:///etc/passwd", f"{DOCUMENT}?ref=main"):
                with pytest.raises(MCPError) as caught:
                    await client.subscribe_resource(uri)
                assert caught.value.error.code == -32602
            await client.unsubscribe_resource("doc:///none.md")
            return
        uris = ["doc:///none.md", USE, "file:///etc/passwd"]
        async with watching(client, protocol, recorder, uris) as watched:
            assert watched == [USE]
            repo.commit({"guides/setup.md": SETUP.replace("Run", "Start")})
            await recorder.until(USE)


async def test_client_without_subscription_gets_no_notification(repo: Repo, home: Path) -> None:
    recorder = EventRecorder()
    async with connected(home, "legacy", options(repo), recorder) as client:
        await client.read_resource(DOCUMENT)
        repo.commit({"guides/setup.md": "# Other\n", "new.md": "# New\n"})
        await client.call_tool("list_documents", {})
        await anyio.sleep(QUIET)
        assert recorder.events == []


async def test_replaced_artifact_is_announced(
    repo: Repo, home: Path, tmp_path: Path, protocol: ProtocolVersion
) -> None:
    out = tmp_path / "out"
    first = repo.head()
    build(repo, home, out)
    recorder = EventRecorder()
    async with connected(home, protocol, ["--index", out, "--read-only"], recorder) as client:
        [part] = (await client.read_resource(INSTALL)).contents
        assert text_of(part)[1]["commit"] == first
        async with watching(client, protocol, recorder, [INSTALL, USE]):
            repo.commit({"guides/setup.md": SETUP.replace("Run", "Start"), "new.md": "# New\n"})
            build(repo, home, out)
            await recorder.until(USE, LIST)
            [part] = (await client.read_resource(USE)).contents
            assert text_of(part)[0] == "## Use\n\nStart it.\n"


def build(repo: Repo, home: Path, out: Path) -> None:
    command = [*preloaded.python_command(), "-m", "docyard", "build", str(repo.path), "--out", str(out)]
    done = subprocess.run(command, env=user_environment(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_document_of_invalid_bytes_is_refused(repo: Repo, home: Path) -> None:
    wire = start_slow_lock_server(repo.path, home / "wire")
    wrong: list[object] = ["doc:///\ud800.md", "\x00", "doc:///\x00", None, 5, ["doc:///a.md"], {}]
    for number, uri in enumerate(wrong):
        wire.write(line_of({"id": number, "method": "resources/read", "params": {"uri": uri}}))
        answer = wire.receive()
        assert answer["id"] == number
        assert answer["error"]["code"] in (-32602, -32600, -32700)
        assert str(repo.path) not in str(answer)
    wire.close_input()
    assert wire.wait_for_exit() == (0, "")


def test_server_ends_when_subscribed_client_disconnects(repo: Repo, home: Path) -> None:
    wire = start_slow_lock_server(repo.path, home / "watching")
    wire.write(line_of({"id": 1, "method": "resources/subscribe", "params": {"uri": DOCUMENT}}))
    assert wire.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    repo.commit({"guides/setup.md": "# Other\n"})
    message = wire.receive()
    assert (message["method"], message["params"]) == ("notifications/resources/updated", {"uri": DOCUMENT})
    wire.close_input()
    assert wire.wait_for_exit() == (0, "")
