"""`docyard drift`: text, JSON, Markdown, and the comment on a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.forges.conftest import FORGE_KINDS
from tests.docyard.forges.local_forge import FULL_TOKEN, LocalForge, start_local_forge
from tests.repositories import Repo, create_repository

Capture = pytest.CaptureFixture[str]

GUIDE = "# Guide\n\n## Login {#login}\n\n- Covers: `src/login/**`\n\nThe form.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", {"docs/guide.md": GUIDE, "src/login/a.py": "1\n"})


def test_drift_is_printed_with_its_newest_commits(repo: Repo, capsys: Capture) -> None:
    for number in range(5):
        commit = repo.commit({"src/login/a.py": f"{number + 2}\n"}, f"Change {number}")
    assert main(["drift", "-C", str(repo.path)]) == 0
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first == "docs/guide.md#login  Login"
    assert second.split()[0] == commit[:8]
    assert second.endswith("Ada  Change 4")
    assert last == "  and 2 earlier commits"
    assert main(["drift", "-C", str(repo.path), "--json", "--commits", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["covered"], data["complete"], data["drift"][0]["changes_total"]) == (1, True, 5)
    assert [change["commit"] for change in data["drift"][0]["changes"]] == [commit]


def test_workspace_without_drift_or_coverage_is_described(repo: Repo, capsys: Capture) -> None:
    assert main(["drift", "-C", str(repo.path)]) == 0
    assert capsys.readouterr().out == "No drift in 1 covered section.\n"
    repo.commit({"docs/guide.md": "# Guide\n"})
    assert main(["drift", "-C", str(repo.path)]) == 0
    assert "No section names its code" in capsys.readouterr().out
    assert main(["drift", "-C", str(repo.path), "--markdown"]) == 0
    assert capsys.readouterr().out == ""


def test_drift_in_a_shallow_clone_is_unknown(repo: Repo, tmp_path: Path, capsys: Capture) -> None:
    repo.commit({"src/login/a.py": "2\n"})
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    assert main(["drift", "-C", str(tmp_path / "clone")]) == 0
    output = capsys.readouterr()
    assert output.out == "No known drift in 1 covered section.\n"
    assert "this clone is shallow" in output.err


def test_markdown_of_a_range_lists_files_and_escapes_titles(repo: Repo, capsys: Capture) -> None:
    text = GUIDE.replace("## Login", r"## Log \[in] \*now\*")
    repo.commit({"docs/guide.md": text})
    repo.git("switch", "-q", "-c", "topic")
    repo.commit({f"src/login/{number}.py": "1\n" for number in range(5)})
    assert main(["drift", "-C", str(repo.path), "--since", "main", "--markdown"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        r"- Log \[in\] \*now\* (`docs/guide.md#login`): "
        "`src/login/0.py`, `src/login/1.py`, `src/login/2.py` and 2 more files"
    )


def test_long_markdown_names_the_command_of_the_same_list(repo: Repo, capsys: Capture) -> None:
    sections = "".join(f"## S{number}\n\n- Covers: `src`\n\n" for number in range(52))
    repo.commit({"docs/guide.md": f"# Guide\n\n{sections}"})
    repo.git("switch", "-q", "-c", "topic")
    repo.commit({"src/login/a.py": "2\n"})
    assert main(["drift", "-C", str(repo.path), "--since", "main", "--markdown"]) == 0
    assert capsys.readouterr().out.endswith("\n\nAnd 2 more: `docyard drift --since main`.\n")
    assert main(["drift", "-C", str(repo.path), "--markdown"]) == 0
    assert capsys.readouterr().out.endswith("\n\nAnd 2 more: `docyard drift`.\n")


def test_options_that_exclude_each_other_are_refused(repo: Repo, capsys: Capture) -> None:
    assert main(["drift", "-C", str(repo.path), "--json", "--markdown"]) == 2
    assert main(["drift", "-C", str(repo.path), "--forge", "github"]) == 2
    assert main(["drift", "-C", str(repo.path), "--comment", "1"]) == 3
    assert "--forge" in capsys.readouterr().err


@pytest.fixture(params=FORGE_KINDS)
def local_forge(request: pytest.FixtureRequest, repo: Repo, tmp_path: Path) -> Iterator[LocalForge]:
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "forge.git"))
    with start_local_forge(request.param, tmp_path / "forge.git") as forge:
        yield forge


@pytest.mark.process
def test_comment_is_added_updated_and_cleared(
    local_forge: LocalForge, repo: Repo, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{local_forge.url}/{local_forge.git_path}"
    repo.git("remote", "add", "origin", url)
    repo.git("config", f"url.{local_forge.state.bare_path}.insteadOf", url)
    repo.git("switch", "-q", "-c", "topic")
    repo.commit({"src/login/a.py": "2\n"})
    repo.git("push", "-q", "origin", "topic")
    pull_request = local_forge.state.open("Topic", "", "topic", "main", "ana")
    local_forge.state.comment(pull_request.number, "mallory", "<!-- docyard: drift -->\nNot this one.")
    monkeypatch.setenv("DOCYARD_FORGE_URL", local_forge.url)
    monkeypatch.setenv("DOCYARD_FORGE_TOKEN", FULL_TOKEN)
    arguments = ["drift", "-C", str(repo.path), "--since", "main", "--forge", local_forge.kind]

    def publish() -> str:
        capsys.readouterr()
        assert main([*arguments, "--comment", str(pull_request.number)]) == 0
        return capsys.readouterr().out.strip().rpartition(": ")[2]

    def list_texts() -> list[str]:
        return [comment.text for comment in local_forge.state.find_pull_request(pull_request.number).comments]

    assert publish() == "added."
    assert publish() == "unchanged."
    assert "`src/login/a.py`" in list_texts()[-1]
    repo.commit({"src/login/b.py": "1\n"})
    assert publish() == "updated."
    assert len(list_texts()) == 2
    assert "`src/login/b.py`" in list_texts()[-1]
    repo.commit({"docs/guide.md": GUIDE.replace("The form.", "The new form.")})
    assert publish() == "updated."
    assert list_texts() == [
        "<!-- docyard: drift -->\nNot this one.",
        "<!-- docyard: drift -->\nNothing to report any more.",
    ]
