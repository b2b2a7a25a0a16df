"""Exchanges in a child process: results and failures; no exchange continues after an error."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pygit2
import pytest

from tests import repositories
from workspace.git.remotes.exchange import (
    Exchange,
    HostNotTrusted,
    Peer,
    RemoteDenied,
    RemoteTooLarge,
    RemoteTooSlow,
    RemoteUnreachable,
)
from workspace.git.remotes.process import RemoteProcess
from workspace.git.remotes.url import parse_remote_url

PEER = Peer("origin", parse_remote_url("https://example.org/docs.git"))


@pytest.fixture
def process(tmp_path: Path) -> Iterator[RemoteProcess]:
    """Return a remote process for an empty repository."""
    remote_process = RemoteProcess(
        repositories.create_bare_repository(tmp_path / "docs.git").path, durable=False
    )
    yield remote_process
    remote_process.end()


def return_pid(repo: pygit2.Repository, peer: Peer, exchange: Exchange) -> int:
    return os.getpid()


def exit_process(repo: pygit2.Repository, peer: Peer, exchange: Exchange) -> None:
    os._exit(3)


def sleep_long(repo: pygit2.Repository, peer: Peer, exchange: Exchange) -> None:
    time.sleep(600)


def raise_error(repo: pygit2.Repository, peer: Peer, exchange: Exchange, *, error: Exception) -> None:
    raise error


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_process_is_reused_for_next_exchange(process: RemoteProcess) -> None:
    pid = process.run(PEER, return_pid)
    assert pid != os.getpid()
    assert process.run(PEER, return_pid) == pid
    process.end()
    assert not is_running(pid)


def test_process_is_not_reused_after_failure(process: RemoteProcess) -> None:
    pid = process.run(PEER, return_pid)
    with pytest.raises(RemoteUnreachable, match="gone away"):
        process.run(PEER, partial(raise_error, error=OSError("gone away")))
    assert not is_running(pid)
    assert process.run(PEER, return_pid) != pid


def test_ended_process_raises_remote_unreachable(process: RemoteProcess) -> None:
    with pytest.raises(RemoteUnreachable, match="has ended"):
        process.run(PEER, exit_process)
    assert process.run(PEER, return_pid)


def test_slow_process_is_killed(process: RemoteProcess) -> None:
    pid = process.run(PEER, return_pid)
    with pytest.raises(RemoteTooSlow):
        process.run(Peer("origin", PEER.address, seconds=0.01), sleep_long)
    assert not is_running(pid)
    assert process.run(PEER, return_pid) != pid


@pytest.mark.parametrize(
    "error",
    [
        RemoteTooLarge("origin", 1_000),
        RemoteDenied("origin", "why", "Do this."),
        HostNotTrusted("origin", PEER.address),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_passed_between_processes_unchanged(
    process: RemoteProcess, error: RemoteTooLarge | RemoteDenied | HostNotTrusted
) -> None:
    with pytest.raises(type(error)) as error_info:
        process.run(PEER, partial(raise_error, error=error))
    assert error_info.value.__dict__ == error.__dict__
    assert str(error_info.value) == str(error)
