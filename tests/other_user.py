"""A different user of the machine: a forked child without the rights of root."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import ConfigLevel

from index.storage.keys import _load_user_key

UNPRIVILEGED_UID = 65534


@contextmanager
def run_as_other_user(action: Callable[[], Any], home: Path) -> Iterator[Any]:
    """Run `action` as a user who trusts all repositories, and yield its result after a JSON round trip.

    The user's process runs, with its open files, until the block ends. The modules of `action` must be
    imported before, because the user may not be able to read the files of modules.
    """
    home.mkdir()
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    os.chown(home, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    result_reader, result_writer = os.pipe()
    end_reader, end_writer = os.pipe()
    child = os.fork()
    if not child:
        _run_child(action, home, result_writer, end_reader, (result_reader, end_writer))
    os.close(result_writer)
    os.close(end_reader)
    try:
        with open(result_reader) as stream:
            response = json.loads(stream.readline())
            assert "error" not in response, response["error"]
            yield response["result"]
    finally:
        os.close(end_writer)
        os.waitpid(child, 0)


def _run_child(
    action: Callable[[], Any],
    home: Path,
    result_writer: int,
    end_reader: int,
    unused_descriptors: tuple[int, int],
) -> None:
    try:
        for descriptor in unused_descriptors:
            os.close(descriptor)
        os.setgroups([])
        os.setgid(UNPRIVILEGED_UID)
        os.setuid(UNPRIVILEGED_UID)
        os.environ.update(
            HOME=str(home), XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state")
        )
        _load_user_key.cache_clear()
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(home)
        try:
            response = {"result": action()}
        except BaseException:
            response = {"error": traceback.format_exc()}
        os.write(result_writer, json.dumps(response).encode() + b"\n")
        os.read(end_reader, 1)
    finally:
        os._exit(0)
