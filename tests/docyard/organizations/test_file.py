"""The file of organizations: mistakes, plans, and the round trip through the database."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docyard.database.database import Database
from docyard.database.tables import SERVERS
from docyard.organizations.administration import ChangeConflict
from docyard.organizations.audit import list_audit_entries, verify_audit_log
from docyard.organizations.authority import NotPermitted, Places
from docyard.organizations.file import (
    InvalidOrganizations,
    OrganizationsFile,
    format_organizations_file,
    parse_tables,
    read_organizations_file,
)
from docyard.organizations.objects import ObjectKey, ServerTable
from docyard.organizations.plan import describe_plan, format_plan
from tests.databases import *  # noqa: F403
from tests.docyard.organizations.organizations import (
    ACME,
    add_two_organizations,
    administer,
    namespace,
    operate,
    rule,
    server,
)

FILE = """\
[organizations.acme]
name = "Acme"

[organizations.acme.servers.docs]
namespaces = ["api", "guides"]
max_tokens = 900

[organizations.acme.namespaces.guides]
url = "https://github.com/acme/guides.git"
every = "5m"

[organizations.acme.namespaces.api]
repo = "/srv/acme/api.git"
ref = "main"

[[organizations.acme.rules]]
group = "*"
role = "reader"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "organizations.toml"


def read(path: Path, text: str) -> OrganizationsFile:
    path.write_text(text, encoding="utf-8")
    return read_organizations_file(path)


def test_plan_lists_changes_with_their_fields(database: Database, path: Path) -> None:
    operator = add_two_organizations(database)
    plan = operator.plan(read(path, FILE))
    assert list(format_plan(plan)) == [
        "change  server  acme/docs",
        "        max_tokens: (default) -> 900",
        "        namespaces: api -> api, guides",
        "change  namespace  acme/api",
        "        ref: (default) -> main",
        "add     namespace  acme/guides",
        "        every: 300",
        "        url: https://github.com/acme/guides.git",
        "add     rule  acme/*:",
        "        role: reader",
        "4 unchanged",
    ]
    data = describe_plan(plan)
    assert data["changes"][0]["fields"]["namespaces"] == [["api"], ["api", "guides"]]


def test_second_apply_is_empty(database: Database, path: Path) -> None:
    operator = add_two_organizations(database)
    file = read(path, FILE)
    assert len(operator.apply(file).changes) == 4
    assert operator.apply(file).changes == ()
    assert operator.plan(file).changes == ()
    with database.connect() as connection:
        assert verify_audit_log(connection).entry_count == 6 + 4
        assert list_audit_entries(connection)[3].object == "acme/docs (max_tokens, namespaces)"


def test_only_prune_removes(database: Database, path: Path) -> None:
    operator = add_two_organizations(database)
    operator.add(namespace("old"), {"repo": "/old"})
    operator.associate(server("docs"), "old")
    file = read(path, FILE)
    operator.apply(file)
    assert operator.find(server("docs"))["namespaces"] == ["api", "guides", "old"]
    assert ObjectKey("globex") in operator.read_state()
    operator.apply(file, prune=True)
    assert operator.read_state() == file.state
    assert operator.apply(read(path, ""), prune=True).unchanged_count == 0
    assert operator.read_state() == {}


def test_plan_of_an_older_state_is_a_conflict(database: Database, path: Path) -> None:
    operator = add_two_organizations(database)
    file = read(path, FILE)
    digest = operator.plan(file).digest
    operator.change(ObjectKey("globex"), {"name": "Other"})
    with pytest.raises(ChangeConflict):
        operator.apply(file, digest=digest)
    with pytest.raises(ChangeConflict):
        operator.apply(file, prune=True, digest=operator.plan(file).digest)
    assert namespace("guides") not in operator.read_state()
    assert operator.apply(file, digest=operator.plan(file).digest).changes


def test_each_field_of_a_server_is_stored(database: Database, path: Path) -> None:
    assert set(ServerTable.model_fields) - {"namespaces"} <= set(SERVERS.c.keys())
    operator = operate(database)
    fields = {
        "name": "Docs",
        "host": "docs.example.org:8443",
        "contextual_search": True,
        "tool_prefix": "docs_",
        "max_tokens": 900,
        "namespaces": ["api"],
    }
    assert fields.keys() == ServerTable.model_fields.keys()
    operator.add(ACME, {})
    operator.add(namespace("api"), {"repo": "/srv/api.git"})
    operator.add(server("docs"), fields)
    assert operator.find(server("docs")) == fields


def test_host_moves_from_one_server_to_another(database: Database, path: Path) -> None:
    operator = operate(database)
    text = '[organizations.acme.servers.{}]\nhost = "docs.example.org"\n[organizations.acme.servers.{}]\n'
    operator.apply(read(path, text.format("one", "two")))
    operator.apply(read(path, text.format("two", "one")))
    assert operator.find(server("two")) == {"host": "docs.example.org"}
    operator.apply(read(path, text.format("three", "one")), prune=True)
    assert operator.find(server("three")) == {"host": "docs.example.org"}


def test_administrator_applies_only_their_organization(database: Database, path: Path) -> None:
    add_two_organizations(database)
    admin = administer(database, Places(path.parent, url_hosts=("github.com",)))
    for slug in ("globex", "unknown"):
        with pytest.raises(NotPermitted):
            admin.apply(read(path, f"[organizations.{slug}]\nname = 'x'\n"))
    text = '[organizations.acme]\nname = "Acme"\n[organizations.acme.namespaces.new]\nurl = "https://github.com/acme/new"\n'
    assert len(admin.apply(read(path, text)).changes) == 1


def test_mistakes_are_reported_together_with_their_lines(path: Path) -> None:
    with pytest.raises(InvalidOrganizations) as raised:
        read(
            path,
            """\
[organizations.acme]
nam = "Acme"

[organizations.acme.servers.docs]
max_tokens = 10

[organizations.acme.namespaces.api]
repo = "/srv/api.git"
url = "https://github.com/acme/api"

[[organizations.acme.rules]]
group = "a"
role = "reader"

[[organizations.acme.rules]]
group = "b"
role = "owner"
""",
        )
    mistakes = raised.value.mistakes
    assert [(mistake.line, mistake.setting) for mistake in mistakes] == [
        (2, "organizations.acme.nam"),
        (5, "organizations.acme.servers.docs.max_tokens"),
        (7, "organizations.acme.namespaces.api"),
        (17, "organizations.acme.rules.1.role"),
    ]
    assert mistakes[0].fix == "Did you mean 'name'?"
    assert "organizations.toml:5: " in raised.value.message


def test_contradictions_are_reported_with_their_lines(database: Database, path: Path) -> None:
    operator = add_two_organizations(database)
    file = read(
        path,
        """\
[organizations.acme.servers.docs]
namespaces = ["apj"]
host = "docs.example.org"
[organizations.globex.servers.docs]
host = "docs.example.org"
[organizations.globex.namespaces.API]
repo = "/srv/api.git"
[[organizations.acme.rules]]
group = "*"
role = "admin"
""",
    )
    with pytest.raises(InvalidOrganizations) as raised:
        operator.plan(file)
    assert [mistake.line for mistake in raised.value.mistakes] == [2, 3, 5, 6, 8]
    assert raised.value.mistakes[0].fix == "Did you mean 'api'?"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\xff", 1),
        (b"[organizations", 1),
        (b"a" + b".a" * 30 + b" = 1", None),
        (b"#" * (1024 * 1024 + 1), None),
        (b"organizations = 3", 1),
        (b"[organizations.acme]\nservers = 3", 2),
        (b"[organizations.acme]\nrules = [3]", 2),
        (b'[organizations."A b"]', 1),
        (
            b'[[organizations.a.rules]]\ngroup="a"\nrole="none"\n[[organizations.a.rules]]\ngroup="a"\nrole="none"',
            5,
        ),
        (None, None),
    ],
)
def test_unusable_file_is_refused(path: Path, content: bytes | None, line: int | None) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidOrganizations) as raised:
        read_organizations_file(path)
    assert raised.value.mistakes[0].line == line
    assert raised.value.fix
    assert str(path.parent) not in raised.value.message


slugs = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,5}", fullmatch=True)
lines = st.text(max_size=12).filter(lambda text: " ".join(text.split()).isprintable())
paths = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@st.composite
def organizations(draw: st.DrawFn) -> dict[str, object]:
    """Return the tables of one organization without contradictions."""
    sources = st.one_of(
        st.fixed_dictionaries({"repo": paths}, optional={"description": lines, "ref": st.just("v1")}),
        st.fixed_dictionaries({"url": st.just("git@github.com:a/b.git")}, optional={"every": st.just("1h")}),
        st.fixed_dictionaries({"artifact": paths}, optional={"key": paths}),
    )
    namespaces = draw(st.dictionaries(names, sources, max_size=3))
    lower_names: dict[str, str] = {}
    for name in namespaces:
        lower_names.setdefault(name.lower(), name)
    namespaces = {name: namespaces[name] for name in lower_names.values()}
    servers = st.fixed_dictionaries(
        {"namespaces": st.lists(st.sampled_from(sorted(namespaces) or [""]), max_size=3)}
        if namespaces
        else {},
        optional={"name": lines, "contextual_search": st.booleans(), "max_tokens": st.integers(200, 9_000)},
    )
    rules = st.fixed_dictionaries(
        {
            "group": lines.map(lambda text: " ".join(text.split())).filter(
                lambda text: text not in ("", "*")
            ),
            "role": st.sampled_from(["none", "reader", "writer", "admin"]),
        },
        optional={"namespace_prefix": names},
    )
    return {
        "name": draw(lines),
        "servers": draw(st.dictionaries(slugs, servers, max_size=2)),
        "namespaces": namespaces,
        "rules": draw(
            st.lists(rules, max_size=3, unique_by=lambda item: (item["group"], item.get("namespace_prefix")))
        ),
    }


tables = st.fixed_dictionaries({"organizations": st.dictionaries(slugs, organizations(), max_size=2)})


@pytest.mark.property
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(tables)
def test_any_state_survives_the_database_and_the_file(
    database: Database, path: Path, content: dict[str, object]
) -> None:
    """Each example replaces the state that the example before has left."""
    operator = operate(database)
    file = OrganizationsFile(path, "", parse_tables(content))
    operator.apply(file, prune=True)
    assert operator.read_state() == file.state
    exported = read(path, format_organizations_file(operator.read_state()))
    assert exported.state == file.state
    assert operator.plan(exported, prune=True).changes == ()
    assert operator.apply(exported, prune=True).changes == ()
    with database.connect() as connection:
        assert verify_audit_log(connection).first_wrong_number is None


def test_exported_file_is_readable(database: Database) -> None:
    operator = add_two_organizations(database)
    operator.add(namespace("a.b"), {"repo": 'C:\\x "y"\x7f'})
    operator.add(rule("é:api"), {"role": "none"})
    text = format_organizations_file(operator.read_state())
    assert text.startswith('[organizations.acme]\nname = "Acme"\n\n[organizations.acme.servers.docs]\n')
    assert '[organizations.acme.namespaces."a.b"]\nrepo = "C:\\\\x \\"y\\"\\u007f"\n' in text
    assert '[[organizations.acme.rules]]\ngroup = "é"\nnamespace_prefix = "api"\nrole = "none"\n' in text
    assert tomllib.loads(text)["organizations"]["acme"]["name"] == operator.find(ACME)["name"]
