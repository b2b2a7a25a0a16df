"""Declared taxonomy keys on the command line: filters, errors at start, and reports about manifests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from index.storage.keys import _load_user_key
from tests.docyard.conftest import Git
from tests.loops import loop_over


@pytest.fixture(autouse=True)
def clear_cached_user_key() -> None:
    _load_user_key.cache_clear()


def commit_files(repo: Path, git: Git, **files: str) -> None:
    """Commit `settings` as docyard.toml, `manifest` as .taxonomy.toml, and other files as documents."""
    for name, text in files.items():
        file = repo / {"settings": "docyard.toml", "manifest": ".taxonomy.toml"}.get(name, f"{name}.md")
        file.write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message", "More")


def test_search_is_filtered_by_any_key_and_by_path(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(
        repo,
        git,
        settings="[taxonomy.language]\n",
        manifest="[metadata]\nlanguage = 'go'\n",
        other="---\nlanguage: c=d\n---\n# Other\n\nA backoff.\n",
    )

    def search_paths(*options: str) -> list[str]:
        capsys.readouterr()
        main(["search", "backoff", "--json", "-C", str(repo), *options])
        return [hit["filepath"] for hit in json.loads(capsys.readouterr().out)["hits"]]

    assert sorted(search_paths()) == ["guide.md", "other.md"]
    assert search_paths("--filter", "language=go") == ["guide.md"]
    assert search_paths("--filter", "language = c=d") == ["other.md"]
    assert search_paths("--filter", "language=go", "--filter", "type=runbook", "--tag", "backend") == [
        "guide.md"
    ]
    assert search_paths("--path", "o*") == ["other.md"]


def test_search_without_results_suggests_filters_and_query(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, other="---\ntags: [frontend]\n---\n# Other\n\nA heron.\n")
    for words, expected in (
        (["heron", "--path", "nowhere"], "  path: other.md\n"),
        (["heron", "--tag", "backend"], "  tags: frontend\n"),
        (["herom"], "  query: heron\n"),
    ):
        assert main(["search", *words, "-C", str(repo)]) == 1
        assert expected in capsys.readouterr().err


@loop_over(
    ("options", "code", "reason"),
    [
        (["--filter", "language"], 2, "KEY=VALUE"),
        (["--filter", "=go"], 2, "KEY=VALUE"),
        (["--filter", "language= "], 2, "KEY=VALUE"),
        (["--type", "runbook", "--filter", "type=note"], 2, "'type' is given twice"),
        (["--filter", "tags=a", "--filter", "tags=b"], 2, "'tags' is given twice"),
        (["--filter", "language=go"], 3, "filter 'language' does not exist"),
        (["--filter", "tags=bakend"], 3, "Did you mean 'backend'?"),
    ],
)
def test_invalid_filter_is_refused(
    repo: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, reason: str
) -> None:
    assert main(["search", "backoff", "-C", str(repo), *options]) == code
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("name", ["query", "limit", "cursor", "ref", "path"])
def test_taxonomy_key_named_like_parameter_is_refused_at_start(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    commit_files(repo, git, settings=f"[taxonomy.{name}]\n")
    assert main(["serve", "-C", str(repo)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: docyard.toml: taxonomy.{name}: ")


def test_65_taxonomy_keys_are_refused_at_start(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, settings="".join(f"[taxonomy.k{number}]\n" for number in range(65)))
    assert main(["serve", "-C", str(repo)]) == 3
    assert "taxonomy: must have at most 64 keys, and has 65" in capsys.readouterr().err


def run_json(repo: Path, *command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    main([*command, "--json", "-C", str(repo)])
    data: dict[str, object] = json.loads(capsys.readouterr().out)
    return data


def test_invalid_manifest_is_reported_and_search_works(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_files(repo, git, manifest="[metadata]\nlanguage = 'go'\n")
    assert main(["search", "backoff", "-C", str(repo)]) == 0
    message = ".taxonomy.toml, line 2: 'language' is not a key of the taxonomy"
    assert run_json(repo, "index", "status", capsys=capsys)["invalid_manifests"] == [message]
    findings = run_json(repo, "doctor", capsys=capsys)["findings"]
    assert isinstance(findings, list)
    [finding] = [candidate for candidate in findings if message in candidate["message"]]
    assert (finding["severity"], finding["area"]) == ("warning", "repository")
    assert "[taxonomy.language]" in finding["fix"]


def test_doctor_reports_taxonomy_values_that_cannot_be_listed(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = "".join(f"[taxonomy.k{number}]\n" for number in range(63))
    values = ", ".join([f'"{"v" * 100}{number}"' for number in range(64)])
    large_documents = {
        f"m{number}": f"---\nk2: [{values.replace('v', str(number % 10))}]\n---\n" for number in range(9)
    }
    commit_files(
        repo,
        git,
        settings=keys,
        hidden=f'---\nk0: ["{"x" * 200}", "a\\u202eb", "seen"]\n---\n# A\n',
        wide="\n".join(("---", *(f"k{number}: [{values}]" for number in (1, 3, 4)), "---", "# B\n")),
        **{name: text + "# C\n" for name, text in large_documents.items()},
    )
    run_json(repo, "index", "rebuild", capsys=capsys)
    findings = run_json(repo, "doctor", capsys=capsys)["findings"]
    assert isinstance(findings, list)
    notes = [finding["message"] for finding in findings if finding["area"] == "index"]
    assert notes[0].startswith(
        "2 values of k0 can be searched for but not listed: longer than 128 characters"
    )
    assert notes[1].startswith("k2 has 576 values; search_docs lists at most 512")
    assert notes[2].endswith("search_docs lists no values of tags")
    assert "bytes in the definition of search_docs" in notes[3]
    assert len(notes) == 4
