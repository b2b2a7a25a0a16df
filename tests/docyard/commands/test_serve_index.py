"""`docyard serve --index`: what it refuses, with which exit code, and what it says at its start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from index.artifacts.manifest import manifest_name
from tests import warm
from tests.docyard.conftest import Git

Served = Callable[..., tuple[int, str]]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "site.key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    return file


@pytest.fixture
def out(repo: Path, tmp_path: Path, key: Path) -> Path:
    folder = tmp_path / "site"
    assert main(["build", str(repo), "--out", str(folder), "--key", str(key)]) == Exit.DONE
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """Run the command in a folder that is no repository, with nothing to read: its exit code and errors."""
    here = tmp_path / "elsewhere"
    here.mkdir()

    def run(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [*warm.python(), "-m", "docyard", "serve", *options],
            cwd=here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == ""
        return done.returncode, done.stderr

    return run


@pytest.mark.process
def test_it_serves_without_a_repository(out: Path, key: Path, served: Served) -> None:
    assert served("--index", str(out), "--read-only", "--key", str(key)) == (Exit.DONE, "")


@pytest.mark.process
def test_without_the_key_it_says_what_it_does(out: Path, key: Path, served: Served) -> None:
    code, said = served("--index", str(out), "--read-only")
    assert code == Exit.DONE
    assert "no --key was given" in said
    key.write_bytes(bytes(32))
    code, said = served("--index", str(out), "--read-only", "--key", str(key))
    assert code == Exit.DONE
    assert "does not carry the seal of this key" in said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--index", "OUT"], "--index needs --read-only"),
        (["--index", "OUT", "--read-only", "-C", "."], "--index and -C"),
        (["--index", "OUT", "--read-only", "--branch", "main"], "--index and --branch"),
        (["--index", "OUT", "--read-only", "--no-fsync"], "--index and --no-fsync"),
        (["--key", "site.key"], "--key belongs to --index"),
        (["--index", "OUT", "--read-only", "--toolsets", "nope"], "unknown toolset 'nope'"),
    ],
)
def test_options_that_exclude_each_other(
    out: Path, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    code = main(["serve", *(str(out) if option == "OUT" else option for option in options)])
    assert code == Exit.USAGE
    assert reason in capsys.readouterr().err


@pytest.mark.process
def test_what_the_environment_names_stays_unused(
    out: Path, key: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("REPO", "nowhere"), ("BRANCH", "nothing"), ("READ_ONLY", "1")):
        monkeypatch.setenv(f"DOCYARD_{name}", value)
    assert served("--index", str(out), "--key", str(key)) == (Exit.DONE, "")


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["serve", "--read-only", *options]) == Exit.CANNOT
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "fix: " in said
    return said


def test_a_folder_that_is_no_artifact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert "metadata.json is missing" in refused(capsys, "--index", str(folder))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("metadata_version", lambda told: told | {"metadata_version": "1.1"}),
        ("metadata_version", lambda told: told | {"metadata_version": "2.0.0"}),
        ("corpus_description", lambda told: told | {"corpus_description": None}),
        ("taxonomy", lambda told: told | {"taxonomy": {f"key{n}": {"values": []} for n in range(65)}}),
        (
            "taxonomy.type.values",
            lambda told: told | {"taxonomy": {"type": {"values": [str(n) for n in range(513)]}}},
        ),
        ("taxonomy.type.values", lambda told: told | {"taxonomy": {"type": {"values": ["x" * 200]}}}),
    ],
)
def test_metadata_that_breaks_the_contract(
    out: Path,
    capsys: pytest.CaptureFixture[str],
    field: str,
    change: Callable[[dict[str, object]], dict[str, object]],
) -> None:
    file = out / "metadata.json"
    old = file.read_bytes()
    new = json.dumps(change(json.loads(old))).encode()
    (out / manifest_name(old)).rename(out / manifest_name(new))
    file.write_bytes(new)
    assert f"metadata.json is invalid at {field}" in refused(capsys, "--index", str(out))


@pytest.mark.process
@pytest.mark.parametrize("is_sealed", [True, False])
@pytest.mark.parametrize("commit", ["abc", "A" * 40, "z" * 40, 7, [], ""])
def test_malformed_source_commit_is_reported_and_served(
    out: Path, key: Path, served: Served, commit: object, is_sealed: bool
) -> None:
    file = out / "metadata.json"
    told = json.loads(file.read_bytes())
    file.write_text(json.dumps(told | {"stats": told["stats"] | {"source_commit": commit}}))
    options = ("--key", str(key)) if is_sealed else ()
    code, said = served("--index", str(out), "--read-only", *options)
    assert code == Exit.DONE
    assert "WARNING docyard: metadata.json is invalid at stats.source_commit" in said


@pytest.mark.process
def test_malformed_source_commit_is_served_after_a_second_build(
    repo: Path, out: Path, git: Git, served: Served
) -> None:
    (repo / "more.md").write_text("# More\n\nA further document.\n")
    git("add", "more.md")
    git("commit", "-q", "-m", "More")
    assert main(["build", str(repo), "--out", str(out)]) == Exit.DONE
    assert len([*out.glob("*.manifest")]) == 2
    file = out / "metadata.json"
    told = json.loads(file.read_bytes())
    file.write_text(json.dumps(told | {"stats": told["stats"] | {"source_commit": "abc"}}))
    code, said = served("--index", str(out), "--read-only")
    assert (code, "stats.source_commit" in said) == (Exit.DONE, True)


def test_malformed_source_commit_does_not_hide_another_breach(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = out / "metadata.json"
    told = json.loads(file.read_bytes())
    file.write_text(json.dumps(told | {"stats": told["stats"] | {"source_commit": 7, "total_files": -1}}))
    assert "metadata.json is invalid at stats.total_files" in refused(capsys, "--index", str(out))


def test_a_damaged_file_is_named(out: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in [*out.glob("index/*"), *out.glob("objects/pack/*"), *out.glob("*.manifest")]:
        data = file.read_bytes()
        file.write_bytes(data[:-7])
        for options in ((), ("--key", str(key))):
            said = refused(capsys, "--index", str(out), *options)
            assert file.relative_to(out).as_posix() in said
            assert str(out) not in said
        file.write_bytes(data)


def test_a_missing_manifest_and_one_of_a_later_format(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [manifest] = out.glob("*.manifest")
    values = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps(values | {"format": 9}))
    assert "format 9" in refused(capsys, "--index", str(out))
    manifest.unlink()
    assert f"is missing ({manifest.name})" in refused(capsys, "--index", str(out))


def test_a_key_that_cannot_be_used(out: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--index", str(out), "--key", str(key))
    key.chmod(0o644)
    assert "only its owner" in refused(capsys, *options)
    key.chmod(0o600)
    key.write_bytes(bytes(31))
    assert "exactly 32 bytes" in refused(capsys, *options)
    key.unlink()
    assert "does not exist" in refused(capsys, *options)


def test_settings_with_which_no_call_could_be_answered_end_the_start(
    repo: Path, git: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docyard.toml").write_text('[taxonomy.limit]\ndescription = "a parameter"\n')
    git("add", ".")
    git("commit", "-qm", "A key that is called like a parameter")
    assert main(["serve", "-C", str(repo)]) == Exit.CANNOT
    assert "limit" in capsys.readouterr().err


@pytest.mark.process
def test_an_embedding_is_understood_and_said(out: Path, key: Path, served: Served) -> None:
    from index.artifacts import manifest as manifests

    old = (out / "metadata.json").read_bytes()
    embedding = {"provider": "openai", "model": "text-embedding-3-large", "dimensions": 3072}
    new = json.dumps(json.loads(old) | {"embedding": embedding}).encode()
    manifests.write(out, new, manifests.read(out, old), key.read_bytes())
    (out / "metadata.json").write_bytes(new)
    code, said = served("--index", str(out), "--read-only", "--key", str(key))
    assert code == Exit.DONE
    assert "searches it by its words" in said
