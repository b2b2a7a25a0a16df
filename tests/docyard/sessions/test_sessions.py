"""Sessions in memory and in databases: what all kinds promise, and what workers and nodes share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import anyio
import anyio.lowlevel
import psycopg
import pytest
from sqlalchemy import func, select, update

from docyard.caller import READ_SCOPE, Principal
from docyard.database.database import Database, open_database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.schema import upgrade_schema
from docyard.database.tables import SESSIONS
from docyard.identity.verifier import Authenticated, digest_token_key
from docyard.sessions.database import DatabaseSessions
from docyard.sessions.engine import _INSERTION_LOCK, EngineSessions
from docyard.sessions.memory import MemorySessions
from docyard.sessions.sessions import MAX_IDLE_S, MAX_SESSION_S, Session, Sessions, digest_value
from docyard.sessions.storage import CACHE_S, MAX_READS, StoredSession
from index.postgres.options import create_engine_options
from index.storage.keys import _load_user_key
from tests.databases import *  # noqa: F403
from tests.pgbouncer import find_pgbouncer, run_pgbouncer
from tests.postgres_server import PostgresServer, run_postgres
from workspace.policy.tokens import Person

pytestmark = pytest.mark.anyio

OWNER = Authenticated(
    Principal(
        "user:https://id.example#42", "Ana", "acme", frozenset({"staff", "é"}), frozenset({READ_SCOPE})
    ),
    None,
    b"\x00\xff",
    2_000_000_000.5,
)
Create = Callable[..., Sessions]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.process),
        pytest.param("engine", marks=pytest.mark.process),
    ]
)
def create(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Any:
    """Return a function that creates sessions of one kind."""
    if request.param == "memory":
        yield lambda **options: MemorySessions(clock, **options)
        return
    url = f"sqlite:///{tmp_path}/server.sqlite"
    if request.param != "sqlite":
        url = request.getfixturevalue("postgres").create_database()
    if request.param == "engine":
        yield lambda **options: open_node(url, clock, **options)
        return
    database = open_database(url, tmp_path)
    upgrade_schema(database)
    yield lambda **options: DatabaseSessions(database, clock, **options)
    database.close()


def open_node(url: str, clock: Clock, repository: str = "a1b2c3d4e5f6", **options: Any) -> EngineSessions:
    """Return the sessions of a node, with connections and a cache of its own."""
    engine = create_engine_options(url)
    assert engine.database is not None
    return EngineSessions(engine.database, repository, clock, signing_keys=engine.signing_keys, **options)


async def find(sessions: Sessions, value: str) -> Session:
    session = await sessions.find(value)
    assert session is not None
    return session


async def test_session_has_the_identity_that_started_it(create: Create) -> None:
    sessions = create()
    session = await find(sessions, await sessions.start(OWNER))
    assert session.owner == OWNER


async def test_session_ends_when_idle_or_too_old(create: Create, clock: Clock) -> None:
    sessions = create()
    start_time = clock.now
    value = await sessions.start(OWNER)
    while clock.now - start_time <= MAX_SESSION_S:
        assert await sessions.find(value) is not None
        clock.now += MAX_IDLE_S
    clock.now = start_time + MAX_SESSION_S + CACHE_S  # shortly after its last use
    assert await sessions.find(value) is None
    idle_session = await sessions.start(OWNER)
    clock.now += MAX_IDLE_S + 1
    assert await sessions.find(idle_session) is None


async def test_ended_or_unknown_session_is_not_found(create: Create) -> None:
    sessions = create()
    value, other_value = await sessions.start(OWNER), await sessions.start(OWNER)
    await find(sessions, value)
    await sessions.end(value)
    for invalid_value in (value, "", "x", "é", "\0", "\udcff", value[:-1]):
        assert await sessions.find(invalid_value) is None
        await sessions.end(invalid_value)
    assert await sessions.find(other_value) is not None


async def test_oldest_session_ends_if_there_are_too_many(create: Create, clock: Clock) -> None:
    sessions = create(max_sessions=3)
    values = []
    for _ in range(5):
        values.append(await sessions.start(OWNER))
        clock.now += 1
    assert [await sessions.find(value) is not None for value in values] == [False, False, True, True, True]


async def test_used_session_stays_longer_than_an_unused_one(create: Create, clock: Clock) -> None:
    sessions = create(max_sessions=2)
    used_value = await sessions.start(OWNER)
    clock.now += 1
    unused_value = await sessions.start(OWNER)
    clock.now += 3_600
    await find(sessions, used_value)
    await sessions.start(OWNER)
    assert await sessions.find(unused_value) is None
    assert await sessions.find(used_value) is not None


async def test_csrf_tokens_differ_by_session(create: Create) -> None:
    sessions = create()
    tokens = {(await find(sessions, await sessions.start(OWNER))).csrf for _ in range(2)}
    assert [len(token) for token in tokens] == [64, 64]
    assert sessions.compute_csrf_token(b"x") == sessions.compute_csrf_token(b"x") not in tokens


async def test_csrf_tokens_differ_by_server(tmp_path: Path) -> None:
    names = ("one.sqlite", "two.sqlite")
    servers: list[Sessions] = [
        DatabaseSessions(open_database(f"sqlite:///{name}", tmp_path)) for name in names
    ]
    tokens = {server.compute_csrf_token(b"x") for server in (*servers, MemorySessions(), MemorySessions())}
    assert len(tokens) == 4


async def test_principal_cannot_end_the_sessions_of_others(database: Database, clock: Clock) -> None:
    sessions = DatabaseSessions(database, clock, max_sessions=4, max_own_sessions=2)
    other = OWNER._replace(principal=OWNER.principal._replace(key="user:https://id.example#43"))
    other_value, values = await sessions.start(other), []
    for _ in range(5):
        clock.now += 1
        values.append(await sessions.start(OWNER))
    assert [await sessions.find(value) is not None for value in values] == [False, False, False, True, True]
    assert await sessions.find(other_value) is not None


async def test_workers_with_one_database_share_sessions_and_csrf_tokens(
    database: Database, clock: Clock
) -> None:
    first_worker, second_worker = DatabaseSessions(database, clock), DatabaseSessions(database, clock)
    value = await first_worker.start(OWNER)
    session = await find(second_worker, value)
    assert session == await find(first_worker, value)
    assert second_worker.compute_csrf_token(b"sign-in") == first_worker.compute_csrf_token(b"sign-in")
    await first_worker.end(value)
    assert await first_worker.find(value) is None
    assert await second_worker.find(value) == session  # from its cache
    clock.now += CACHE_S
    assert await second_worker.find(value) is None
    assert CACHE_S <= 5


@pytest.mark.process
@pytest.mark.guarantee
async def test_session_and_form_of_one_node_are_valid_on_another(
    postgres: PostgresServer,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = postgres.create_database()
    database = open_database(url, tmp_path)
    upgrade_schema(database)
    nodes: list[DatabaseSessions] = []
    for name in ("first", "second"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))
        _load_user_key.cache_clear()
        keys = create_engine_options(url).signing_keys
        nodes.append(DatabaseSessions(database, clock, signing_keys=keys))
    first, second = nodes
    session = await find(second, await first.start(OWNER))
    assert session.csrf
    assert first.compute_csrf_token(b"sign-in") == second.compute_csrf_token(b"sign-in")
    assert first.compute_csrf_token(b"x") != DatabaseSessions(database, clock).compute_csrf_token(b"x")
    _load_user_key.cache_clear()
    database.close()


async def test_value_of_a_cookie_and_seal_keys_are_not_stored(database: Database) -> None:
    sessions = DatabaseSessions(database)
    value = await sessions.start(OWNER)
    with database.connect() as connection:
        row = connection.execute(select(SESSIONS)).one()
    assert value not in repr(row)
    with pytest.raises(ValueError, match="sealed"):
        await sessions.start(OWNER._replace(person=Person("ana", "Ana", "ana@example.org")))


async def test_expired_sessions_are_deleted_at_the_next_start(database: Database, clock: Clock) -> None:
    sessions = DatabaseSessions(database, clock)
    for _ in range(3):
        await sessions.start(OWNER)
    clock.now += MAX_IDLE_S + 1
    await sessions.start(OWNER)
    with database.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(SESSIONS)) == 1


async def test_clock_that_is_set_back_ends_no_session(database: Database, clock: Clock) -> None:
    sessions = DatabaseSessions(database, clock)
    value = await sessions.start(OWNER)
    await find(sessions, value)
    clock.now -= 3_600
    with database.begin() as connection:
        connection.execute(update(SESSIONS).values(principal_name="Bea"))
    assert (await find(sessions, value)).owner.principal.name == "Bea"  # the cache is not used for an hour


async def test_known_session_survives_an_outage_for_the_time_of_the_cache(
    tmp_path: Path, clock: Clock
) -> None:
    folder = tmp_path / "database"
    folder.mkdir()
    database = open_database("sqlite:///server.sqlite", folder)
    upgrade_schema(database)
    sessions = DatabaseSessions(database, clock)
    value, other_value = await sessions.start(OWNER), await sessions.start(OWNER)
    await find(sessions, value)
    database.close()
    folder.rename(tmp_path / "moved")
    await find(sessions, value)
    for use in (sessions.find, sessions.end):
        with pytest.raises(DatabaseUnavailable):
            await use(other_value)
    with pytest.raises(DatabaseUnavailable):
        await sessions.start(OWNER)
    clock.now += CACHE_S
    with pytest.raises(DatabaseUnavailable):
        await sessions.find(value)
    (tmp_path / "moved").rename(folder)
    await find(sessions, value)
    database.close()


PERSON = Person("ana", "Ana Lí", "ana@example.org")
PERSON_OWNER = OWNER._replace(principal=OWNER.principal._replace(key="token:ana"), person=PERSON)
node_test = pytest.mark.process


def read_rows(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT * FROM docyard_sessions").fetchall()


def execute(url: str, statement: LiteralString, *parameters: object) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement, parameters or None)


@node_test
@pytest.mark.guarantee
async def test_nodes_share_the_sessions_of_people_and_their_forms(
    postgres: PostgresServer, clock: Clock
) -> None:
    url = postgres.create_database()
    first, second = open_node(url, clock), open_node(url, clock)
    value = await first.start(PERSON_OWNER)
    session = await find(second, value)
    assert session == await find(first, value)
    assert session.owner == PERSON_OWNER
    assert first.cookie_suffix == second.cookie_suffix
    await second.end(value)
    assert await second.find(value) is None
    clock.now += CACHE_S
    assert await first.find(value) is None
    assert read_rows(url) == []


@pytest.mark.guarantee
async def test_session_that_ended_in_another_process_permits_no_change(create: Create) -> None:
    first, second = create(), create()
    if isinstance(first, MemorySessions):
        second = first
    value = await first.start(OWNER)
    session = await find(second, value)
    assert await second.find(value, is_read_only=False) == session
    await first.end(value)
    assert await second.find(value, is_read_only=False) is None
    assert await second.find(value) is None  # this process knows it now


class SlowSessions(DatabaseSessions):
    """Sessions whose reads end later than the database has answered."""

    def __init__(self, database: Database) -> None:
        self.has_answer, self.may_return = threading.Event(), threading.Event()
        self.read_count = 0
        self._lock = threading.Lock()
        super().__init__(database)

    def _select(self, value: str, digest: bytes) -> StoredSession | None:
        with self._lock:
            self.read_count += 1
        stored = super()._select(value, digest)
        self.has_answer.set()
        assert self.may_return.wait(30)
        return stored


async def test_session_that_ends_while_it_is_read_is_not_cached(database: Database) -> None:
    sessions = SlowSessions(database)
    value = await sessions.start(OWNER)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sessions.find, value)
        await anyio.to_thread.run_sync(sessions.has_answer.wait, 30)
        await sessions.end(value)
        sessions.may_return.set()
    assert await sessions.find(value) is None


async def test_flood_of_cookies_reads_few_sessions_at_once(database: Database) -> None:
    sessions = SlowSessions(database)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(sessions.find, f"guess {number}")
        while sessions.read_count < MAX_READS:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert sessions.read_count == MAX_READS
        sessions.may_return.set()
    assert sessions.read_count == 50


@node_test
async def test_repositories_with_one_engine_share_no_session(postgres: PostgresServer, clock: Clock) -> None:
    url = postgres.create_database()
    docs, specs = open_node(url, clock), open_node(url, clock, "0123456789ab", max_sessions=1)
    value = await docs.start(OWNER)
    assert await specs.find(value) is None
    await specs.end(value)
    for _ in range(2):
        await specs.start(OWNER)
    assert await docs.find(value) is not None
    assert docs.compute_csrf_token(b"x") != specs.compute_csrf_token(b"x")
    assert docs.cookie_suffix != specs.cookie_suffix
    clock.now += MAX_SESSION_S + 1
    await specs.start(OWNER)
    assert len(read_rows(url)) == 1  # the sessions of all repositories that have expired are deleted


@node_test
@pytest.mark.guarantee
async def test_rows_of_nodes_contain_no_cookie_and_no_digest_of_a_token(
    postgres: PostgresServer, clock: Clock
) -> None:
    url, key = postgres.create_database(), bytes(range(32))
    node = open_node(url, clock)
    owner = PERSON_OWNER._replace(token_digest=digest_token_key(key))
    values = [await node.start(owner) for _ in range(2)]
    rows = read_rows(url)
    stored = [part if isinstance(part, bytes) else str(part).encode() for row in rows for part in row]
    for secret in (key, owner.token_digest, *(value.encode() for value in values)):
        assert not any(secret in part or secret.hex().encode() in part for part in stored)
    assert len({row[4] for row in rows}) == 2  # each session has a mask of its own
    assert {row[1] for row in rows} == {digest_value(value) for value in values}
    assert (await find(open_node(url, clock), values[0])).owner == owner


@node_test
async def test_lock_that_another_program_holds_delays_a_sign_in_for_a_limited_time(
    postgres: PostgresServer, clock: Clock
) -> None:
    url = postgres.create_database()
    node = open_node(url, clock)
    value = await node.start(OWNER)
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_INSERTION_LOCK,))
        connection.execute("DELETE FROM docyard_sessions")
        for use in (partial(node.start, OWNER), partial(node.end, value)):
            with pytest.raises(DatabaseUnavailable, match="waits for too long"):
                await use()
        connection.rollback()
    await node.end(value)
    await node.start(OWNER)


@node_test
async def test_node_that_is_frozen_in_a_sign_in_stops_no_other_one(
    postgres: PostgresServer, clock: Clock
) -> None:
    url = postgres.create_database()
    first, second = open_node(url, clock), open_node(url, clock)
    await second.start(OWNER)
    is_locked, may_continue = threading.Event(), threading.Event()

    def freeze(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_INSERTION_LOCK,))
        is_locked.set()
        assert may_continue.wait(30)
        connection.execute("SELECT 1")

    async def sign_in_at_first() -> None:
        with pytest.raises(DatabaseUnavailable):
            await anyio.to_thread.run_sync(first._run_transaction, freeze)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sign_in_at_first)
        await anyio.to_thread.run_sync(is_locked.wait, 30)
        for _ in range(30):
            try:
                await second.start(OWNER)
            except DatabaseUnavailable:
                continue
            break
        else:
            pytest.fail("the frozen node still has the lock")
        may_continue.set()
    await first.start(OWNER)


DAMAGED_OWNERS = {
    "no JSON": lambda fields: "x",
    "null": lambda fields: "null",
    "a list": lambda fields: "[]",
    "nested": lambda fields: "[" * 100_000,
    "without scopes": lambda fields: json.dumps({**fields, "scopes": None}),
    "a number as name": lambda fields: json.dumps({**fields, "name": 5}),
    "a person of two fields": lambda fields: json.dumps({**fields, "person": ["ana", "Ana"]}),
    "a text as time": lambda fields: json.dumps({**fields, "expires_at": "5"}),
    "a time that is no number": lambda fields: json.dumps({**fields, "expires_at": float("nan")}),
}


@node_test
@pytest.mark.parametrize("damage", DAMAGED_OWNERS.values(), ids=DAMAGED_OWNERS.keys())
async def test_session_whose_row_is_damaged_has_ended(
    postgres: PostgresServer,
    clock: Clock,
    damage: Callable[[dict[str, Any]], str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = postgres.create_database()
    node = open_node(url, clock)
    value = await node.start(PERSON_OWNER)
    [(*_, owner, _, _, _)] = read_rows(url)
    execute(url, "UPDATE docyard_sessions SET owner = %s", damage(json.loads(owner)))
    assert await node.find(value) is None
    assert "a row of docyard_sessions is damaged" in caplog.text
    assert PERSON.email not in caplog.text


@node_test
async def test_row_of_a_later_version_is_read(postgres: PostgresServer, clock: Clock) -> None:
    url = postgres.create_database()
    node = open_node(url, clock)
    value = await node.start(PERSON_OWNER)
    execute(url, "UPDATE docyard_sessions SET owner = replace(owner, '{', '{\"later\": {\"x\": 1}, ')")
    assert (await find(node, value)).owner == PERSON_OWNER


@pytest.mark.parametrize(("ahead_s", "is_found"), [(600.0, True), (-600.0, True), (MAX_SESSION_S, False)])
@node_test
async def test_session_of_a_node_with_a_wrong_clock(
    postgres: PostgresServer, clock: Clock, ahead_s: float, is_found: bool
) -> None:
    url, wrong_clock = postgres.create_database(), Clock()
    wrong_clock.now += ahead_s
    value = await open_node(url, wrong_clock).start(PERSON_OWNER)
    assert (await open_node(url, clock).find(value) is not None) == is_found


@node_test
async def test_principal_cannot_end_the_sessions_of_others_on_nodes(
    postgres: PostgresServer, clock: Clock
) -> None:
    sessions = open_node(postgres.create_database(), clock, max_sessions=4, max_own_sessions=2)
    other_value, values = await sessions.start(OWNER), []
    for _ in range(5):
        clock.now += 1
        values.append(await sessions.start(PERSON_OWNER))
    assert [await sessions.find(value) is not None for value in values] == [False, False, False, True, True]
    assert await sessions.find(other_value) is not None


@node_test
async def test_sessions_that_begin_at_once_on_two_nodes_keep_the_limit(
    postgres: PostgresServer, clock: Clock
) -> None:
    url = postgres.create_database()
    nodes = [open_node(url, clock, max_own_sessions=3) for _ in range(2)]
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(nodes[number % 2].start, PERSON_OWNER)
    assert len(read_rows(url)) == 3


@node_test
async def test_nodes_share_sessions_through_a_pooler_of_transactions(
    postgres: PostgresServer, clock: Clock
) -> None:
    program = find_pgbouncer()
    if program is None:
        pytest.skip("PgBouncer is not installed")
    url = postgres.create_database()
    with run_pgbouncer(program, postgres) as port:
        pooler_url = url.replace(f":{postgres.port}/", f":{port}/")
        nodes = [open_node(pooler_url, clock, max_own_sessions=3) for _ in range(2)]
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(nodes[number % 2].start, PERSON_OWNER)
        value = await nodes[0].start(PERSON_OWNER)
        assert (await find(nodes[1], value)).owner == PERSON_OWNER
        assert len(read_rows(url)) == 3
        await nodes[1].end(value)
        assert await nodes[0].find(value) is None
        with psycopg.connect(url) as connection:
            [(count,)] = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert count == 0


@node_test
@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE docyard_sessions RENAME COLUMN owner TO other",
        "ALTER TABLE docyard_sessions ADD CONSTRAINT other CHECK (owner = '') NOT VALID",
        "DROP TABLE docyard_sessions; CREATE VIEW docyard_sessions AS SELECT 1 AS x",
    ],
)
async def test_table_of_another_form_is_reported(
    postgres: PostgresServer, clock: Clock, caplog: pytest.LogCaptureFixture, damage: LiteralString
) -> None:
    url = postgres.create_database()
    node = open_node(url, clock)
    await node.start(OWNER)
    execute(url, damage)
    with pytest.raises(DatabaseUnavailable, match="docyard_sessions has another form") as error:
        await node.start(OWNER)
    assert error.value.reason == "schema"
    assert "DROP" in error.value.fix
    assert "docyard_sessions has another form" in caplog.text


@node_test
async def test_table_that_was_dropped_is_created_again(postgres: PostgresServer, clock: Clock) -> None:
    url = postgres.create_database()
    node = open_node(url, clock)
    value = await node.start(OWNER)
    execute(url, "DROP TABLE docyard_sessions")
    assert await node.find(value) is None
    execute(url, "DROP TABLE docyard_sessions")
    await node.end(value)
    execute(url, "DROP TABLE docyard_sessions")
    assert await node.find(await node.start(OWNER)) is not None


@node_test
async def test_user_without_rights_on_the_table_is_reported(postgres: PostgresServer, clock: Clock) -> None:
    url = postgres.create_database()
    value = await open_node(url, clock).start(OWNER)
    execute(url, "CREATE ROLE sessions_reader LOGIN")
    node = open_node(url.replace("//docyard@", "//sessions_reader@"), clock)
    for use in (partial(node.find, value), partial(node.start, OWNER), partial(node.end, value)):
        with pytest.raises(DatabaseUnavailable, match="may not create or change its tables") as error:
            await use()
        assert "docyard doctor" in error.value.fix


@node_test
@pytest.mark.guarantee
async def test_sessions_of_nodes_survive_an_outage_of_the_database(clock: Clock) -> None:
    with run_postgres() as server:
        url = server.create_database()
        node = open_node(url, clock)
        value, other_value = await node.start(PERSON_OWNER), await node.start(OWNER)
        await find(node, value)
        server.stop()
        assert (await find(node, value)).owner == PERSON_OWNER  # from its cache
        for use in (node.find, node.end):
            with pytest.raises(DatabaseUnavailable):
                await use(other_value)
        with pytest.raises(DatabaseUnavailable):
            await node.start(OWNER)
        clock.now += CACHE_S
        with pytest.raises(DatabaseUnavailable):
            await node.find(value)
        server.start()
        assert (await find(open_node(url, clock), value)).owner == PERSON_OWNER
