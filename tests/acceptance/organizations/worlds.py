"""Two worlds for a comparison: in one, another organization has secret documents; in the other it never did.

Both worlds have the same organization `acme`, byte for byte. So each answer to a caller of acme must be the
same in both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from docyard.caller import READ_SCOPE
from docyard.hosting.service import OrganizationsService
from docyard.http.organizations_server import build_organizations_app
from docyard.http.settings import build_http_settings
from docyard.identity.access_tokens import AccessTokens
from docyard.settings.file import read_server_file
from tests.organizations import create_organization, mark_change
from tests.repositories import create_repository

PORT = 8000
BASE_URL = f"http://127.0.0.1:{PORT}"
ACME_HOST, GLOBEX_HOST = "docs.acme.example", "docs.globex.example"

ACME_FILES = {
    "guide.md": "# Guide {#guide}\n\n## Install {#install}\n\nRun the installer. See [use](use.md#use).\n",
    "use.md": "# Use {#use}\n\nUse the cursor of the page before.\n",
    "tour.md": "---\ntype: walkthrough\n---\n# Tour\n\nA tour.\n\n## First\n\nOne.\n\n## Second\n\nTwo.\n",
}
INTERNAL_FILES = {"salaries.md": "# Salaries {#salaries}\n\nThe quarkonium budget of the board.\n"}
SECRET_FILES = {
    "merger.md": (
        "# Merger {#merger}\n\n## Terms {#terms}\n\nThe xylophone clause of Hooli. Tags: zirconium.\n"
    ),
    "plan.md": (
        "---\ntype: walkthrough\n---\n# Takeover\n\nSecret.\n\n"
        "## Buy shares\n\nMany.\n\n## Announce\n\nLate.\n"
    ),
}


class World:
    """A running server of organizations, and the tokens of a member of each organization."""

    def __init__(self, client: TestClient, tokens: dict[str, str], service: OrganizationsService) -> None:
        self.client = client
        self.tokens = tokens
        self.service = service


def create_template(folder: Path) -> None:
    """Create the repositories that both worlds copy, so that their commits have the same ids."""
    create_repository(folder / "acme", ACME_FILES)
    create_repository(folder / "internal", INTERNAL_FILES)
    create_repository(folder / "secret", SECRET_FILES)


@contextmanager
def open_world(
    template: Path, folder: Path, *, has_secrets: bool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """Open a server; with `has_secrets`, acme has an internal namespace and globex has documents."""
    folder.mkdir()
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(folder.parent / "home" if name == "XDG_STATE_HOME" else folder / "home"))
    for name in ("acme", "internal", "secret"):
        if has_secrets or name == "acme":
            shutil.copytree(template / name, folder / name)
    config = folder / "server.toml"
    config.write_text('[database]\nurl = "sqlite:///server.sqlite"\n[telemetry]\nmetrics = true\n')
    service = OrganizationsService(read_server_file(config), folder)
    service.start()
    namespaces = {"docs": {"repo": "acme"}}
    servers = {"docs": ["docs"]}
    if has_secrets:
        namespaces["internal"] = {"repo": "internal"}
        servers |= {"board": ["internal"]}
        servers["docs"] = ["docs", "internal"]
    create_organization(
        service.database,
        "acme",
        namespaces,
        servers,
        [("staff", "", "reader"), ("staff", "internal", "none"), ("board", "", "reader")],
        {"docs": ACME_HOST},
    )
    tokens = AccessTokens(service.database)
    secrets = {"staff": tokens.add("acme", "ana", [READ_SCOPE], ["staff"])}
    if has_secrets:
        create_organization(
            service.database,
            "globex",
            {"docs": {"repo": "secret"}, "secret-plans": {"repo": "secret"}},
            {"docs": ["docs", "secret-plans"], "plans": ["secret-plans"]},
            [("staff", "", "reader")],
            {"docs": GLOBEX_HOST},
        )
        secrets["globex"] = tokens.add("globex", "gus", [READ_SCOPE], ["staff"])
        secrets["board"] = tokens.add("acme", "bea", [READ_SCOPE], ["board"])
    mark_change(service.database)
    service.hosting.reload()
    settings = build_http_settings(f"127.0.0.1:{PORT}", (ACME_HOST,), None, no_token=True, read_only=True)
    app = build_organizations_app(service, settings, PORT)
    try:
        with TestClient(app, base_url=BASE_URL, follow_redirects=False) as client:
            yield World(client, secrets, service)
    finally:
        service.close()
