"""A remote that refuses, is slow, asks for a password or vanishes, as commands and servers tell of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.test_sync import Server, until
from tests.workspace.sync.conftest import Site, site
from tests.workspace.sync.proxy import Proxy
from tests.workspace.sync.servers import TOKEN

pytestmark = pytest.mark.process

Capture = pytest.CaptureFixture[str]

SETTINGS = '[remote]\npush = "commit"\n'


@pytest.fixture
def made(tmp_path: Path, home: Path) -> Iterator[Site]:
    """A clone with a commit that its remote lacks; the remote is served by git's own daemon."""
    with site("git", tmp_path, home) as made:
        made.here.commit({"docyard.toml": SETTINGS})
        yield made


@pytest.fixture
def proxy(made: Site) -> Iterator[Proxy]:
    """What stands between the two."""
    assert made.port is not None
    with Proxy(made.port) as proxy:
        made.point_to(proxy.port)
        yield proxy


def says(capsys: Capture, made: Site, code: int) -> str:
    """What `docyard sync` prints, and that it holds no secret and no path of this machine."""
    capsys.readouterr()
    assert main(["sync", "-C", str(made.here.path)]) == code
    captured = capsys.readouterr()
    told = captured.out + captured.err
    assert str(made.folder) not in told
    assert TOKEN not in told
    return told


def unpushed(made: Site) -> int | None:
    """How many commits a server says that the remote lacks."""
    server = Server(made.here)
    told = server.call("list_documents").get("unpushed")
    server.syncing.close()
    server.index.close()
    assert told is None or told["since"]
    return None if told is None else int(told["commits"])


def served(made: Site, reason: str, mend: Callable[[], object]) -> None:
    """A server goes on, says in each answer what is wrong, and is in step as soon as that is over."""
    server = Server(made.here)
    server.syncing._retry_s = 0.05
    server.syncing.start()
    until(lambda: "sync" in server.call("list_documents"))
    told = server.note("Written meanwhile")
    assert told["sync"]["state"] == "failed"
    assert reason in told["sync"]["error"]
    assert told["unpushed"]["commits"] >= 2
    mend()
    until(lambda: not {"sync", "unpushed"} & set(server.call("list_documents")))
    assert made.tip() == made.here.head()
    server.syncing.close()
    server.index.close()


def test_a_remote_that_rejects_the_push(made: Site, capsys: Capture) -> None:
    hook = made.there.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'ask Bo first' >&2\nexit 1\n")
    hook.chmod(0o755)
    before = made.tip()
    told = says(capsys, made, 3)
    assert "ask Bo first" in told
    assert made.tip() == before
    assert unpushed(made) == 1
    served(made, "ask Bo first", hook.unlink)


def test_a_remote_that_answers_slowly(made: Site, proxy: Proxy, capsys: Capture) -> None:
    made.here.commit({"docyard.toml": f"{SETTINGS}answer_seconds = 1\nseconds = 2\n"})
    proxy.cut(0, silent=True)
    told = says(capsys, made, 3)
    assert "timed out" in told
    assert "Nothing is lost." in told
    assert unpushed(made) == 2
    proxy.cut(None)
    made.here.commit({"docyard.toml": SETTINGS})  # what has to go through may take its time
    assert "Pushed 3 commits" in says(capsys, made, 0)


def test_a_remote_that_vanishes_in_the_middle(made: Site, proxy: Proxy, capsys: Capture) -> None:
    proxy.cut(150)
    told = says(capsys, made, 3)
    assert "origin" in told
    assert unpushed(made) == 1
    served(made, "origin", lambda: proxy.cut(None))
    assert made.there.fsck() == made.here.fsck() == ""


def test_a_remote_that_asks_for_a_password(
    tmp_path: Path, home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_ASKPASS", "/bin/false")
    with site("http", tmp_path, home) as made:
        made.here.commit({"docyard.toml": SETTINGS})
        told = says(capsys, made, 3)
        assert "DOCYARD_REMOTE_TOKEN" in told
        monkeypatch.setenv("DOCYARD_REMOTE_TOKEN", "wrong-7c1f")
        told = says(capsys, made, 3)
        assert "wrong-7c1f" not in told
        assert unpushed(made) == 1
        monkeypatch.setenv("DOCYARD_REMOTE_TOKEN", TOKEN)
        assert "Pushed 1 commit" in says(capsys, made, 0)
        assert unpushed(made) is None
        assert made.tip() == made.here.head()
