"""`docyard serve --index`: its errors, its exit codes, and its messages at start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.terminal.exits import Exit
from index.artifacts.manifest import make_manifest_name
from tests import fork_server
from tests.docyard.conftest import Git

RunServer = Callable[..., tuple[int, str]]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "site.key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    return file


@pytest.fixture
def artifact(repo: Path, tmp_path: Path, key_file: Path) -> Path:
    folder = tmp_path / "site"
    assert main(["build", str(repo), "--out", str(folder), "--key", str(key_file)]) == Exit.DONE
    return folder


@pytest.fixture
def run_server(tmp_path: Path) -> RunServer:
    """Return a function that runs the command outside a repository, and returns exit code and errors."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()

    def run(*options: str) -> tuple[int, str]:
        completed = subprocess.run(
            [*fork_server.build_python_command(), "-m", "docyard", "serve", *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert completed.stdout == ""
        return completed.returncode, completed.stderr

    return run


@pytest.mark.process
def test_artifact_is_served_without_repository(artifact: Path, key_file: Path, run_server: RunServer) -> None:
    assert run_server("--index", str(artifact), "--read-only", "--key", str(key_file)) == (Exit.DONE, "")


@pytest.mark.process
def test_wrong_key_is_reported_and_a_missing_key_is_not(
    artifact: Path, key_file: Path, run_server: RunServer
) -> None:
    assert run_server("--index", str(artifact), "--read-only") == (Exit.DONE, "")
    key_file.write_bytes(bytes(32))
    code, output = run_server("--index", str(artifact), "--read-only", "--key", str(key_file))
    assert code == Exit.DONE
    assert "its seal does not match this key" in output


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
def test_exclusive_or_invalid_options_exit_with_2(
    artifact: Path, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    code = main(["serve", *(str(artifact) if option == "OUT" else option for option in options)])
    assert code == Exit.USAGE
    assert reason in capsys.readouterr().err


@pytest.mark.process
def test_environment_variables_for_repository_are_ignored(
    artifact: Path, key_file: Path, run_server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("REPO", "nowhere"), ("BRANCH", "nothing"), ("READ_ONLY", "1")):
        monkeypatch.setenv(f"DOCYARD_{name}", value)
    assert run_server("--index", str(artifact), "--key", str(key_file)) == (Exit.DONE, "")


def run_refused_server(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Start a server, which must refuse to start, and return its error with a fix."""
    assert main(["serve", "--read-only", *options]) == Exit.CANNOT_RUN
    output = capsys.readouterr().err
    assert "Traceback" not in output
    assert "fix: " in output
    return output


def test_folder_that_is_not_an_artifact_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert "metadata.json is missing" in run_refused_server(capsys, "--index", str(folder))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("metadata_version", lambda metadata: metadata | {"metadata_version": "1.1"}),
        ("metadata_version", lambda metadata: metadata | {"metadata_version": "2.0.0"}),
        ("corpus_description", lambda metadata: metadata | {"corpus_description": None}),
        (
            "taxonomy",
            lambda metadata: metadata | {"taxonomy": {f"key{n}": {"values": []} for n in range(65)}},
        ),
        (
            "taxonomy.type.values",
            lambda metadata: metadata | {"taxonomy": {"type": {"values": [str(n) for n in range(513)]}}},
        ),
        ("taxonomy.type.values", lambda metadata: metadata | {"taxonomy": {"type": {"values": ["x" * 200]}}}),
    ],
)
def test_invalid_metadata_is_refused(
    artifact: Path,
    capsys: pytest.CaptureFixture[str],
    field: str,
    change: Callable[[dict[str, object]], dict[str, object]],
) -> None:
    metadata_file = artifact / "metadata.json"
    old_bytes = metadata_file.read_bytes()
    new_bytes = json.dumps(change(json.loads(old_bytes))).encode()
    (artifact / make_manifest_name(old_bytes)).rename(artifact / make_manifest_name(new_bytes))
    metadata_file.write_bytes(new_bytes)
    assert f"metadata.json is invalid at {field}" in run_refused_server(capsys, "--index", str(artifact))


@pytest.mark.process
@pytest.mark.parametrize("is_sealed", [True, False])
@pytest.mark.parametrize("commit", ["abc", "A" * 40, "z" * 40, 7, [], ""])
def test_artifact_with_malformed_source_commit_is_served_with_warning(
    artifact: Path, key_file: Path, run_server: RunServer, commit: object, is_sealed: bool
) -> None:
    metadata_file = artifact / "metadata.json"
    metadata = json.loads(metadata_file.read_bytes())
    metadata_file.write_text(json.dumps(metadata | {"stats": metadata["stats"] | {"source_commit": commit}}))
    options = ("--key", str(key_file)) if is_sealed else ()
    code, output = run_server("--index", str(artifact), "--read-only", *options)
    assert code == Exit.DONE
    assert "WARNING docyard: metadata.json is invalid at stats.source_commit" in output


@pytest.mark.process
def test_artifact_with_malformed_source_commit_is_served_after_second_build(
    repo: Path, artifact: Path, git: Git, run_server: RunServer
) -> None:
    (repo / "more.md").write_text("# More\n\nA further document.\n")
    git("add", "more.md")
    git("commit", "-q", "-m", "More")
    assert main(["build", str(repo), "--out", str(artifact)]) == Exit.DONE
    assert len([*artifact.glob("*.manifest")]) == 2
    metadata_file = artifact / "metadata.json"
    metadata = json.loads(metadata_file.read_bytes())
    metadata_file.write_text(json.dumps(metadata | {"stats": metadata["stats"] | {"source_commit": "abc"}}))
    code, output = run_server("--index", str(artifact), "--read-only")
    assert (code, "stats.source_commit" in output) == (Exit.DONE, True)


def test_malformed_source_commit_does_not_hide_other_error(
    artifact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metadata_file = artifact / "metadata.json"
    metadata = json.loads(metadata_file.read_bytes())
    metadata_file.write_text(
        json.dumps(metadata | {"stats": metadata["stats"] | {"source_commit": 7, "total_files": -1}})
    )
    assert "metadata.json is invalid at stats.total_files" in run_refused_server(
        capsys, "--index", str(artifact)
    )


def test_damaged_file_is_named_in_error(
    artifact: Path, key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in [*artifact.glob("index/*"), *artifact.glob("objects/pack/*"), *artifact.glob("*.manifest")]:
        data = file.read_bytes()
        file.write_bytes(data[:-1])
        for options in ((), ("--key", str(key_file))):
            output = run_refused_server(capsys, "--index", str(artifact), *options)
            assert file.relative_to(artifact).as_posix() in output
            assert str(artifact) not in output
        file.write_bytes(data)


def test_missing_or_newer_manifest_is_refused(artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [manifest] = artifact.glob("*.manifest")
    manifest_fields = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps(manifest_fields | {"format": 9}))
    assert "format 9" in run_refused_server(capsys, "--index", str(artifact))
    manifest.unlink()
    assert f"is missing ({manifest.name})" in run_refused_server(capsys, "--index", str(artifact))


def test_unusable_key_is_refused(artifact: Path, key_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--index", str(artifact), "--key", str(key_file))
    key_file.chmod(0o644)
    assert "only its owner" in run_refused_server(capsys, *options)
    key_file.chmod(0o600)
    key_file.write_bytes(bytes(31))
    assert "exactly 32 bytes" in run_refused_server(capsys, *options)
    key_file.unlink()
    assert "does not exist" in run_refused_server(capsys, *options)


def test_invalid_settings_are_refused_at_start(
    repo: Path, git: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docyard.toml").write_text('[taxonomy.limit]\ndescription = "a parameter"\n')
    git("add", ".")
    git("commit", "-qm", "A key with the name of a parameter")
    assert main(["serve", "-C", str(repo)]) == Exit.CANNOT_RUN
    assert "limit" in capsys.readouterr().err


@pytest.mark.process
def test_unsupported_embedding_is_reported(artifact: Path, key_file: Path, run_server: RunServer) -> None:
    from index.artifacts import manifest as manifests

    old_bytes = (artifact / "metadata.json").read_bytes()
    embedding = {"provider": "openai", "model": "text-embedding-3-large", "dimensions": 3072}
    new_bytes = json.dumps(json.loads(old_bytes) | {"embedding": embedding}).encode()
    manifests.write_artifact_manifest(
        artifact, new_bytes, manifests.read_artifact_manifest(artifact, old_bytes), key_file.read_bytes()
    )
    (artifact / "metadata.json").write_bytes(new_bytes)
    code, output = run_server("--index", str(artifact), "--read-only", "--key", str(key_file))
    assert code == Exit.DONE
    assert "are used only with the same --embedding-provider" in output
