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

NOBODY = 65534


@contextmanager
def another_user(act: Callable[[], Any], home: Path) -> Iterator[Any]:
    """Do something as a user who trusts all repositories, and give what came of it, as JSON has it.

    The user's process lives, with what it has opened, until the block ends. The modules that it needs are
    imported by then: the user may have no way to their files.
    """
    home.mkdir()
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    os.chown(home, NOBODY, NOBODY)
    told, tell = os.pipe()
    waited, end = os.pipe()
    child = os.fork()
    if not child:
        _live(act, home, tell, waited, (told, end))
    os.close(tell)
    os.close(waited)
    try:
        with open(told) as answers:
            found = json.loads(answers.readline())
            assert "error" not in found, found["error"]
            yield found["result"]
    finally:
        os.close(end)
        os.waitpid(child, 0)


def _live(act: Callable[[], Any], home: Path, tell: int, waited: int, others: tuple[int, int]) -> None:
    try:
        for each in others:
            os.close(each)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ.update(
            HOME=str(home), XDG_CACHE_HOME=str(home / "cache"), XDG_STATE_HOME=str(home / "state")
        )
        load_user_key.cache_clear()
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(home)
        try:
            found = {"result": act()}
        except BaseException:
            found = {"error": traceback.format_exc()}
        os.write(tell, json.dumps(found).encode() + b"\n")
        os.read(waited, 1)
    finally:
        os._exit(0)
