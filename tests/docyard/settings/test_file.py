"""The configuration file and its variables: values, origins, and the position of each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.settings.file import InvalidServerFile, format_mistake, list_fields, read_configuration
from docyard.settings.origins import list_values
from tests.loops import loop_over

PREFIX = "DOCYARD_SERVER__"


def write(folder: Path, text: str) -> Path:
    file = folder / "server.toml"
    file.write_text(text, encoding="utf-8")
    return file


def read_mistakes(file: Path | None) -> list[tuple[str, str]]:
    """Return the text and the fix of each mistake."""
    with pytest.raises(InvalidServerFile) as caught:
        read_configuration(file)
    assert caught.value.mistakes
    return [(format_mistake(file, mistake), mistake.fix) for mistake in caught.value.mistakes]


def test_values_have_their_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, '[http]\nworkers = 2\nlisten = "127.0.0.1:9000"\n\n[records]\nmode = "text"\n')
    monkeypatch.setenv(f"{PREFIX}HTTP__WORKERS", "4")
    monkeypatch.setenv(f"{PREFIX}HTTP__ALLOW_HOSTS", '["docs.example.org"]')
    monkeypatch.setenv(f"{PREFIX}IDENTITY__CLIENT_SECRET", "s3cret")
    monkeypatch.setenv(f"{PREFIX}DATABASE__URL", "postgresql://ana:s3cret@db/docyard?sslpassword=s3cret")
    monkeypatch.setenv(f"{PREFIX}ENGINE__URL", "postgresql://ana:s3cret@db/docyard")
    monkeypatch.setenv(f"{PREFIX}TELEMETRY__METRICS", "")
    configuration = read_configuration(file)
    values = {item.name: item for item in list_values(configuration)}
    assert values["http.workers"][1:] == (4, f"{PREFIX}HTTP__WORKERS")
    assert values["http.listen"][1:] == ("127.0.0.1:9000", "server.toml:3")
    assert values["http.allow_hosts"][1:] == (["docs.example.org"], f"{PREFIX}HTTP__ALLOW_HOSTS")
    assert values["records.mode"][1:] == ("text", "server.toml:6")
    assert values["telemetry.metrics"][1:] == (False, "default")
    assert values["identity.client_secret"].value == "********"
    assert values["database.url"].value == "postgresql://ana:********@db/docyard?sslpassword=********"
    assert values["engine.url"].value == "postgresql://ana:********@db/docyard"
    assert "s3cret" not in str(list(values.values()))
    assert configuration.settings.identity.client_secret is not None
    assert configuration.settings.identity.client_secret.get_secret_value() == "s3cret"


def test_no_file_and_no_variable_is_all_defaults() -> None:
    values = list(list_values(read_configuration(None)))
    assert {item.origin for item in values} == {"default"}
    assert len(values) == len(list(list_fields()))


@loop_over(
    "text, expected, fix",
    [
        (
            "[http]\nworker = 2\n",
            "server.toml:2: there is no setting 'http.worker'",
            "Did you mean 'workers'?",
        ),
        ("[htp]\n", "server.toml:1: there is no setting 'htp'", "Did you mean 'http'?"),
        ("[http]\n\nworkers = 0\n", "server.toml:3: http.workers: must be greater than or equal to 1", None),
        ("[http]\nworkers = 'two'\n", "server.toml:2: http.workers: must be a valid integer", None),
        ("[http\n", "server.toml:1: ", None),
        ("[records]\nmode = 'all'\n", "server.toml:2: records.mode: must be 'off', 'hash' or 'text'", None),
        (
            "[records]\nstore_embeddings = true\n",
            'server.toml:1: records: must not have store_embeddings unless mode is "text"',
            None,
        ),
        (
            "[limits]\ncalls_per_minute = 9\norganization_calls_per_minute = 8\n",
            "server.toml:1: limits: organization_calls_per_minute (8) must be at least calls_per_minute (9)",
            None,
        ),
        (
            "[http]\ntrusted_proxies = ['0.0.0.0/0']\n",
            "server.toml:2: http.trusted_proxies.0: must not",
            None,
        ),
        (
            "[http]\ntrusted_proxies = ['proxy']\n",
            "server.toml:2: http.trusted_proxies.0: must be an add",
            None,
        ),
        (
            "[identity]\nclient_secret = 'x'\n",
            "server.toml:2: identity.client_secret: must not contain a secret in the file",
            f"Remove it, and set the variable {PREFIX}IDENTITY__CLIENT_SECRET.",
        ),
        (
            f"[operator]\ntoken = '{'x' * 32}'\n",
            "server.toml:2: operator.token: must not contain a secret in the file",
            f"Remove it, and set the variable {PREFIX}OPERATOR__TOKEN.",
        ),
        (
            "[database]\nurl = 'postgresql://a:b@h/n'\n",
            "server.toml:2: database.url: must not contain a secret in the file",
            f"Remove it, and set the variable {PREFIX}DATABASE__URL.",
        ),
        (
            "[engine]\nurl = 'postgresql://a:b@h/n'\n",
            "server.toml:2: engine.url: must not contain a secret in the file",
            f"Remove it, and set the variable {PREFIX}ENGINE__URL.",
        ),
        (
            "[engine]\nurl = 'sqlite:///x'\n",
            "server.toml:1: engine: must have URLs that begin with postgresql://",
            None,
        ),
        (
            "[engine]\nread_url = 'postgresql://h/n'\n",
            "server.toml:1: engine: must have the url of the database that is written",
            None,
        ),
        (
            "[engine]\nnode_url = 'http://10.0.0.2:8000'\n",
            "server.toml:1: engine: must have the url of the database with node_url",
            None,
        ),
        (
            "[engine]\nurl = 'postgresql://h/n'\nnode_url = 'http://ana@10.0.0.2:8000'\n",
            "server.toml:3: engine.node_url: must be a URL such as http://10.0.0.2:8000",
            None,
        ),
    ],
)
def test_mistake_in_the_file_has_its_line(tmp_path: Path, text: str, expected: str, fix: str | None) -> None:
    [(message, actual_fix)] = read_mistakes(write(tmp_path, text))
    assert message.startswith(expected)
    assert fix is None or actual_fix == fix


@loop_over(
    "name, value, expected, fix",
    [
        (
            "HTP__WORKERS",
            "3",
            f"the variable {PREFIX}HTP__WORKERS sets no",
            f"Did you mean {PREFIX}HTTP__WORKERS?",
        ),
        (
            "HTTP__WORKER",
            "3",
            f"the variable {PREFIX}HTTP__WORKER sets no",
            f"Did you mean {PREFIX}HTTP__WORKERS?",
        ),
        ("HTTP", "{}", f"the variable {PREFIX}HTTP sets no setting", None),
        ("IDENTITY__PEOPLE__0__ISSUER", "x", "the variable", None),
        (
            "HTTP__WORKERS",
            "x",
            f"{PREFIX}HTTP__WORKERS: must be a valid integer",
            f"Correct {PREFIX}HTTP__WORKERS.",
        ),
        (
            "HTTP__ALLOW_HOSTS",
            "docs.example.org",
            f"{PREFIX}HTTP__ALLOW_HOSTS: must be a JSON array",
            f"Write {PREFIX}HTTP__ALLOW_HOSTS='[\"…\"]'.",
        ),
        ("HTTP__ALLOW_HOSTS", "7", f"{PREFIX}HTTP__ALLOW_HOSTS: must be a JSON array", None),
        ("IDENTITY__PEOPLE", '[{"issuer": "a"}]', f"{PREFIX}IDENTITY__PEOPLE", None),
    ],
)
def test_mistake_in_a_variable_names_it(
    tmp_path: Path, name: str, value: str, expected: str, fix: str | None
) -> None:
    file = write(tmp_path, "[http]\nworkers = 2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PREFIX + name, value)
        for path in (None, file):
            (message, actual_fix), *_ = read_mistakes(path)
            assert message.startswith(expected)
            assert fix is None or actual_fix == fix


def test_all_mistakes_are_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}HTTP__ALLOW_HOSTS", "not-json")
    monkeypatch.setenv(f"{PREFIX}RECORD__MODE", "off")
    mistakes = read_mistakes(write(tmp_path, "[http]\nworker = 2\n[limits]\ncalls_per_minute = 0\n"))
    assert len(mistakes) == 4


def test_secret_values_are_never_in_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}IDENTITY__CLIENT_SECRETS", "s3cret")
    monkeypatch.setenv(f"{PREFIX}HTTP__WORKERS", "s3cret")
    assert "s3cret" not in str(read_mistakes(write(tmp_path, "[identity]\nclient_secret = 's3cret'\n")))


@loop_over("data", [b"\xff", b"x" * 1_000_001], ids=["encoding", "size"])
def test_unreadable_file_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "server.toml"
    file.write_bytes(data)
    assert read_mistakes(file)
    assert "cannot be read" in read_mistakes(tmp_path / "missing.toml")[0][0]
