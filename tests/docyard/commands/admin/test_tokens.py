"""`docyard admin tokens`: access tokens are created, listed and revoked, and the audit log names them."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from sqlalchemy import insert

from docyard.cli.main import main
from docyard.database.database import Database
from docyard.database.tables import ORGANIZATIONS
from docyard.identity.access_tokens import AccessTokens
from docyard.identity.verifier import Authenticated, TokenRefusal
from docyard.organizations.audit import list_audit_entries
from tests.databases import *  # noqa: F403

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def config(database: Database, database_url: str, tmp_path: Path) -> Path:
    with database.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id="org_acme", slug="acme"))
    file = tmp_path / "server.toml"
    file.write_text(f'[database]\nurl = "{database_url}"\n')
    return file


def run(config: Path, capsys: Capture, *arguments: str) -> str:
    assert main(["admin", "tokens", *arguments, "--config", str(config)]) == 0
    return capsys.readouterr().out


def test_token_is_created_listed_and_revoked(config: Path, database: Database, capsys: Capture) -> None:
    output = run(config, capsys, "add", "acme", "ci", "--group", "staff", "--scope", "docs:write", "--json")
    token = json.loads(output)
    assert (token["scopes"], token["groups"]) == (["docs:read", "docs:write"], ["staff"])
    result = anyio.run(AccessTokens(database).verify, token["secret"], "")
    assert isinstance(result, Authenticated)
    assert (result.principal.organization, result.principal.groups) == ("acme", {"staff"})
    run(config, capsys, "add", "-", "operator", "--expires", "90d")
    assert token["secret"] not in run(config, capsys, "list", "--json")
    assert run(config, capsys, "list", "acme") == "acme\tci\tdocs:read docs:write\tstaff\t\n"
    assert run(config, capsys, "list", "-").startswith("-\toperator\tdocs:read\t\t2")
    run(config, capsys, "revoke", "acme", "ci")
    assert "revoked" in run(config, capsys, "list", "acme")
    assert isinstance(anyio.run(AccessTokens(database).verify, token["secret"], ""), TokenRefusal)
    with database.connect() as connection:
        entries = [
            (entry.action, entry.organization, entry.object) for entry in list_audit_entries(connection)
        ]
    assert entries == [
        ("revoke_access_token", "acme", "ci"),
        ("add_access_token", None, "operator"),
        ("add_access_token", "acme", "ci"),
    ]


def test_wrong_name_is_reported(config: Path, capsys: Capture) -> None:
    for arguments in (["add", "none", "ci"], ["add", "acme", "A b"], ["revoke", "acme", "none"]):
        assert main(["admin", "tokens", *arguments, "--config", str(config)]) == 3
        assert "fix:" in capsys.readouterr().err
