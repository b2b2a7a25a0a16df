"""An upgrade from version 0.1.0: the present version opens a repository, an index and settings of 0.1.0."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from release.programs import ProgramError, build_variables, call_tools, run_program

ARCHIVE = "tests/compatibility/version-0.1.0.tar.xz"
_TOOLSETS = "documents,search,reading"
_MAX_HITS = 20


def try_upgrade(docyard: Path, source: Path, home: Path) -> str:
    """Serve the repository of 0.1.0: all addresses and searches must return what 0.1.0 returned.

    The index is rebuilt without a message, that of 0.1.0 is unchanged, and nothing is committed. Return a
    summary. Raises ProgramError.
    """
    with tarfile.open(source / ARCHIVE) as archive:
        archive.extractall(home, filter="data")
    repository, variables = home / "repository", build_variables(home / "home")
    data: dict[str, Any] = json.loads((home / "facts.json").read_bytes())
    addresses: dict[str, dict[str, str | None]] = data["addresses"]
    searches: dict[str, list[str]] = data["searches"]
    indexes = repository / ".git/docyard/index"
    [old_index] = indexes.iterdir()
    old_files = _read_files(old_index)

    results = call_tools(
        [str(docyard), "serve", "-C", str(repository), "--no-sync", "--toolsets", _TOOLSETS],
        variables,
        [
            *(("search_docs", {"query": query, "limit": _MAX_HITS}) for query in searches),
            *(("get_doc", {"chunk_id": address}) for address in addresses),
        ],
        home / "server.log",
    )
    hits, sections = results[: len(searches)], results[len(searches) :]
    # 0.1.0 derived some addresses from attribute lists of headings; they resolve to the present ones.
    present_address = {
        old: section["chunks"][0]["chunk_id"] for old, section in zip(addresses, sections, strict=True)
    }
    for (address, recorded), section in zip(addresses.items(), sections, strict=True):
        if (recorded["word"] or "") not in json.dumps(section, ensure_ascii=False):
            raise ProgramError(f"{address} of 0.1.0 is read without its text: {section}")
    for (query, old_hits), found in zip(searches.items(), hits, strict=True):
        expected = [present_address.get(old, old) for old in old_hits]
        present_hits = [hit["chunk_id"] for hit in found["hits"]]
        # Equal scores are in the order of addresses, so hits with present addresses may have another order.
        if present_hits != expected and (expected == old_hits or sorted(present_hits) != sorted(expected)):
            raise ProgramError(f"a search for {query!r} returns {present_hits}, not {expected}")

    new_indexes = sorted(path.name for path in indexes.iterdir() if path != old_index)
    if not new_indexes or _read_files(old_index) != old_files:
        raise ProgramError(f"the index of 0.1.0 was changed, or no new one was built: {new_indexes}")
    if messages := (home / "server.log").read_text(encoding="utf-8"):
        raise ProgramError(f"the server printed messages about the upgrade: {messages}")
    git = ("git", "-C", repository)
    head = run_program(*git, "rev-parse", "HEAD", variables=variables).stdout.strip()
    changes = run_program(*git, "status", "--porcelain", variables=variables).stdout
    if head != data["head"] or changes:
        raise ProgramError(f"the repository of 0.1.0 was changed: HEAD is {head}, {changes}")
    return (
        f"{len(addresses)} addresses and {len(searches)} searches of 0.1.0 return the same; index "
        f"{new_indexes[0]} was built next to {old_index.name} without a message"
    )


def _read_files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
