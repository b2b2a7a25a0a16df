"""Another user of the machine: a forked child that gives up the rights of root."""

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

from index.storage.keys import load_user_key

UNPRIVILEGED_UID = 65534


@contextmanager
def run_as_other_user(act: Callable[[], Any], home: Path) -> Iterator[Any]:
    """Run `act` as a user who trusts all repositories, and yield its result after a JSON round trip.

    The user's process lives, with its open files, until the block ends. The modules that it needs must be
    imported before: the user may not be able to read their files.
    """
    home.mkdir()
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    os.chown(home, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    result_reader, result_writer = os.pipe()
    end_reader, end_writer = os.pipe()
    child = os.fork()
    if not child:
        _run_child(act, home, result_writer, end_reader, (result_reader, end_writer))
    os.close(result_writer)
    os.close(end_reader)
    try:
        with open(result_reader) as answers:
            found = json.loads(answers.readline())
            assert "error" not in found, found["error"]
            yield found["result"]
    finally:
        os.close(end_writer)
        os.waitpid(child, 0)


def _run_child(
    act: Callable[[], Any], home: Path, result_writer: int, end_reader: int, others: tuple[int, int]
) -> None:
    try:
        for each in others:
            os.close(each)
        os.setgroups([])
        os.setgid(UNPRIVILEGED_UID)
        os.setuid(UNPRIVILEGED_UID)
        os.environ.update(
            HOME=str(home), XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state")
        )
        load_user_key.cache_clear()
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(home)
        try:
            found = {"result": act()}
        except BaseException:
            found = {"error": traceback.format_exc()}
        os.write(result_writer, json.dumps(found).encode() + b"\n")
        os.read(end_reader, 1)
    finally:
        os._exit(0)
