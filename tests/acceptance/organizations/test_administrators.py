"""Two administrators who change an organization at the same time, by processes of `docyard admin`."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.organizations.servers import Site, wait_until
from tests.acceptance.server import run_docyard
from tests.databases import postgres  # noqa: F401


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    url = "sqlite:///server.sqlite"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").create_database()
    return Site(tmp_path, url)


def run_admin(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["admin", *arguments, "--config", str(site.config_file)]
    return run_docyard(command, site.folder / "home")


def run_at_once(site: Site, *commands: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """Run commands of several administrators at the same time."""
    with ThreadPoolExecutor(len(commands)) as executor:
        return list(executor.map(lambda command: run_admin(site, *command), commands))


def test_administrators_at_once_lose_no_change(site: Site) -> None:
    with site.serve() as server:
        names = [f"extra-{number}" for number in range(4)]
        done = run_at_once(site, *(("namespaces", "add", "acme", name, "--repo", "acme") for name in names))
        assert [process.returncode for process in done] == [0, 0, 0, 0], [each.stderr for each in done]
        done = run_at_once(
            site,
            ("namespaces", "add", "acme", "same", "--repo", "acme"),
            ("namespaces", "add", "acme", "same", "--repo", "acme"),
        )
        assert sorted(process.returncode == 0 for process in done) == [False, True]
        [refused] = [process for process in done if process.returncode != 0]
        assert "exists" in refused.stderr
        listed = json.loads(run_admin(site, "namespaces", "list", "acme", "--json").stdout)
        versions = {entry["name"]: entry["version"] for entry in listed["namespaces"]}
        assert set(versions) == {"docs", "same", *names}
        # Both have read the same version: only one change of it is made.
        done = run_at_once(
            site,
            *(
                ("namespaces", "set", "acme", "docs", "--description", text, "--expected", versions["docs"])
                for text in ("First.", "Second.")
            ),
        )
        assert sorted(process.returncode == 0 for process in done) == [False, True]
        assert all("Traceback" not in process.stderr for process in done)
        [winner] = [
            text for text, process in zip(("First.", "Second."), done, strict=True) if process.returncode == 0
        ]
        wait_until(lambda: winner in server.call("list_documentation_sources").body, "the change", 10)
        assert server.search().read_result()["sources"]
        assert server.read_log() == ""
