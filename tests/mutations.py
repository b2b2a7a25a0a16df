"""Break each promise in one place of a copy, and name the first test of `make test` that fails.

    python -m tests.mutations [WORD…]    only those whose promise holds one of these words

A mutation is a text of the source that occurs once, and what takes its place. Where the text is not there any
more, the run fails: write the mutation again for the code as it is now.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 300
_FOLDERS = ("docyard", "tools", "index", "workspace", "templates", "tests", "docs")
_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md")


class Mutation(NamedTuple):
    """A promise, where it is kept, what of the code goes, what comes instead, and the tests to run."""

    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "lock of the writers",
        "workspace/publishing/locks.py",
        "        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "        pass\n",
        ("tests/workspace/test_publishing.py", "tests/workspace/test_recovery.py"),
    ),
    Mutation(
        "another program's lock is never removed",
        "workspace/publishing/locks.py",
        "            if self._is_ours():\n                self.path.unlink()\n",
        "            self.path.unlink()\n",
        ("tests/workspace/test_publishing.py", "tests/workspace/test_recovery.py"),
    ),
    Mutation(
        "journal of a publication",
        "workspace/publishing/publish.py",
        "            self._folder().record(journal)\n            self._lock(",
        "            self._lock(",
        ("tests/workspace/test_recovery.py", "tests/faults"),
    ),
    Mutation(
        "recovery after a crash",
        "workspace/publishing/publish.py",
        "            self.recovered = recover_locked(self._store)\n",
        "",
        ("tests/workspace/test_recovery.py", "tests/faults"),
    ),
    Mutation(
        "branch moves only from the base of the batch",
        "workspace/publishing/publish.py",
        "        if tip != batch.base:\n            raise BranchMoved(tip)\n",
        "",
        ("tests/workspace/test_publishing.py",),
    ),
    Mutation(
        "files of a person refuse the batch",
        "workspace/publishing/checkout.py",
        "        if found:\n            raise WorktreeConflict(found)\n",
        "",
        ("tests/workspace/test_publishing.py", "tests/workspace/test_refused_states.py"),
    ),
    Mutation(
        "finished files are on the disk before the commit",
        "workspace/publishing/files.py",
        "                stream.flush()\n                os.fsync(handle)\n",
        "                stream.flush()\n",
        ("tests/faults",),
    ),
    Mutation(
        "policy check of a direct write",
        "workspace/writing.py",
        "            check_direct(written.plan.snapshot, written.changes)\n",
        "            pass\n",
        ("tests/workspace/policy", "tests/tools/proposals", "tests/acceptance/test_gate.py"),
    ),
    Mutation(
        "policy check of a merge",
        "workspace/proposing/merging.py",
        "            raise MergeBlocked(proposal, judgement, (block.code, block.message))\n",
        "            pass\n",
        ("tests/workspace/proposing", "tests/tools/proposals"),
    ),
    Mutation(
        "seal of approvals",
        "workspace/policy/seals.py",
        "    return hmac.compare_digest(found[_NONCE:].encode(), expected.encode())\n",
        "    return True\n",
        ("tests/workspace/policy", "tests/workspace/proposing"),
    ),
    Mutation(
        "only the holders of tokens are people",
        "workspace/policy/people.py",
        "            if hmac.compare_digest(known.key, digest):\n                found = known.person\n",
        "            found = known.person\n",
        ("tests/workspace/policy",),
    ),
    Mutation(
        "nothing unread is overwritten",
        "workspace/proof.py",
        "            if unseen:\n                raise self._refusal(",
        "            if False:\n                raise self._refusal(",
        ("tests/workspace/test_sight.py", "tests/tools/test_overwriting.py"),
    ),
    Mutation(
        "an edit is parsed again and compared",
        "workspace/edits/edit.py",
        "    _check_structure(document, changed, splices, edit.renamed)\n",
        "",
        ("tests/workspace/test_introduction.py", "tests/workspace/test_rewrite_text.py"),
    ),
    Mutation(
        "a merge accounts for each line",
        "workspace/merging/documents.py",
        "return data if is_accounted(base, ours, theirs, document, conflicts.told) else None",
        "return data",
        ("tests/workspace/merging",),
    ),
    Mutation(
        "a repeated key is not done twice",
        "workspace/requests.py",
        "                    if found is not None:\n                        return found\n",
        "",
        ("tests/workspace/test_requests.py", "tests/workspace/test_retries.py"),
    ),
    Mutation(
        "no path leads into Git's folder",
        "workspace/paths.py",
        '        return "it leads into Git\'s own folder"\n',
        "        return None\n",
        ("tests/workspace/test_paths.py",),
    ),
    Mutation(
        "MAC of cursors",
        "index/cursors.py",
        "    if not (hmac.compare_digest(mac, _mac(key, body)) and exact):\n",
        "    if not exact:\n",
        ("tests/index/test_search.py", "tests/tools/test_bounded.py"),
    ),
    Mutation(
        "seal of the index",
        "index/integrity.py",
        "        if not hmac.compare_digest(seal.encode(), _seal(folder, values).encode()):\n",
        "        if not seal:\n",
        ("tests/index/test_damage.py", "tests/index/test_sharing.py", "tests/index/segments"),
    ),
    Mutation(
        "seal of artifacts",
        "index/artifacts/manifest.py",
        "seal is not None and hmac.compare_digest(seal.encode(), _seal(metadata, manifest, key).encode())",
        "seal is not None",
        ("tests/index/artifacts",),
    ),
    Mutation(
        "token of the HTTP server",
        "docyard/http/proving.py",
        "        if not self.is_open and hmac.compare_digest(self._token, _digest(secret)):\n",
        "        if not self.is_open:\n",
        ("tests/docyard/http/test_authenticating.py",),
    ),
    Mutation(
        "only own pages may ask the HTTP server",
        "docyard/http/admitting.py",
        "        if not self._admitted.has_host(hosts[0]):\n",
        "        if False:\n",
        ("tests/docyard/http/test_admitting.py",),
    ),
    Mutation(
        "forms are those of the session",
        "docyard/web/forms.py",
        "    if not hmac.compare_digest(sent, request.state.caller.csrf.encode()):\n",
        "    if False:\n",
        ("tests/docyard/web/documents/test_edit_page.py", "tests/docyard/web/proposals/test_acts.py"),
    ),
    Mutation(
        "HTML of a page is cleaned",
        "workspace/rendering/sanitizing.py",
        "    return cleaner.clean(html)\n",
        "    return html\n",
        ("tests/workspace/rendering",),
    ),
)


def main(words: list[str]) -> int:
    """Try the mutations, print what caught each, and return 1 if one was not caught."""
    chosen = [one for one in MUTATIONS if not words or any(word in one.promise for word in words)]
    assert chosen, f"no promise holds one of these words: {', '.join(words)}"
    for mutation in chosen:
        if (wrong := describe_mismatch(mutation)) is not None:
            sys.exit(wrong)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as made:
        copy = Path(made)
        for name in _FOLDERS:
            shutil.copytree(ROOT / name, copy / name)
        for name in _FILES:
            shutil.copy2(ROOT / name, copy / name)
        print("| taken out | caught by | seconds |\n|---|---|--:|", flush=True)
        for number, mutation in enumerate(chosen, 1):
            start = time.monotonic()
            caught = try_mutation(copy, mutation, number)
            missed += caught is None
            print(
                f"| {mutation.promise} | {caught or '**nothing**'} | {time.monotonic() - start:.0f} |",
                flush=True,
            )
    return 1 if missed else 0


def describe_mismatch(mutation: Mutation) -> str | None:
    """Return why a mutation does not fit the code as it is, or None."""
    if missing := [test for test in mutation.tests if not (ROOT / test).exists()]:
        return f"{mutation.promise}: there is no {missing[0]}"
    found = (ROOT / mutation.file).read_text("utf-8").count(mutation.old)
    return None if found == 1 else f"{mutation.promise}: the text is in {mutation.file} {found} times"


def try_mutation(copy: Path, mutation: Mutation, number: int) -> str | None:
    """Return the first test that fails under a mutation and passes without it, or None."""
    file = copy / mutation.file
    whole = file.read_text("utf-8")
    _write(file, whole.replace(mutation.old, mutation.new), 2 * number)
    try:
        code, printed = _run(copy, mutation.tests)
    finally:
        _write(file, whole, 2 * number + 1)
    failed = re.search(r"^FAILED (.+?)(?: - .*)?$", printed, re.MULTILINE)
    if code != 1 or failed is None:
        print(printed[-2_000:], file=sys.stderr)
        return None
    code, printed = _run(copy, [failed[1]])
    if code != 0:
        print(f"{failed[1]} fails without the mutation, too\n{printed[-2_000:]}", file=sys.stderr)
        return None
    return failed[1]


def _run(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests of `make test` in the copy until one fails; return the exit code and what was printed."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "400"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return -1, f"the tests took more than {TIMEOUT_S} seconds"
    return done.returncode, done.stdout


def _write(file: Path, text: str, moment: int) -> None:
    """Write a module with a time of its own, since Python knows what it has compiled by time and size."""
    file.write_text(text, "utf-8")
    os.utime(file, (moment, moment))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
