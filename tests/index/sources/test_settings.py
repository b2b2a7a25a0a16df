"""The file of sources: valid settings, and every mistake with its line and the nearest setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.sources.settings import (
    DEFAULT_ANSWER_TOKENS,
    InvalidSourcesFile,
    Mistake,
    find_setting_line,
    read_sources_file,
)

pytestmark = pytest.mark.smoke

VALID = """
[sources.api-reference]
repo = "api.git"
ref = "main"
folder = "./docs/"
description = "Complete API  documentation"
permalink = "https://docs.example.com/{path}#{anchor}"

[sources.guides]
url = "https://git.example.com/guides.git"
every = "10m"

[sources.site]
artifact = "out"
key = "site.key"

[features]
contextual_search = true
tool_prefix = "docs_"

[limits]
max_tokens = 2000
"""


def write_file(folder: Path, text: str | bytes) -> Path:
    file = folder / "sources.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def list_mistakes(folder: Path, text: str | bytes) -> tuple[Mistake, ...]:
    with pytest.raises(InvalidSourcesFile) as error_info:
        read_sources_file(write_file(folder, text))
    return error_info.value.mistakes


def test_valid_file_is_read(tmp_path: Path) -> None:
    content = read_sources_file(write_file(tmp_path, VALID))
    assert list(content.sources) == ["api-reference", "guides", "site"]
    reference = content.sources["api-reference"]
    assert (reference.folder, reference.description) == ("docs", "Complete API documentation")
    assert (content.sources["guides"].interval_s, content.limits.max_tokens) == (600, 2000)
    assert (content.features.contextual_search, content.features.tool_prefix) == (True, "docs_")


def test_empty_file_has_no_sources(tmp_path: Path) -> None:
    content = read_sources_file(write_file(tmp_path, ""))
    assert (content.sources, content.limits.max_tokens) == ({}, DEFAULT_ANSWER_TOKENS)
    assert not content.features.contextual_search


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    text = '# first line\n[sources.api]\nrepo = "x"\nreff = "main"\n\n[limits]\nmax_tokens = 3\n[analytic]\n'
    mistakes = list_mistakes(tmp_path, text)
    assert [(item.line, item.setting) for item in mistakes] == [
        (4, "sources.api.reff"),
        (7, "limits.max_tokens"),
        (8, "analytic"),
    ]
    assert mistakes[0].fix == "Did you mean 'ref'?"


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("[sources", 1, "is not TOML"),
        (b"a = '\xff'", 1, "is not UTF-8"),
        ("x = 1\n[sources.a]\nrepo = '.'\n[sources.a]\n", 4, "is not TOML"),
        ("[sources.a]\nrepo = 'x'\n[sources.A]\nrepo = 'x'\n", 1, "differ in case"),
        ("[sources.'a b']\nrepo = 'x'\n", 1, "letters, digits"),
        ("[sources.'*']\nrepo = 'x'\n", 1, "letters, digits"),
        ("sources = 3\n", 1, "table of sources"),
        ("[sources]\na = 3\n", 2, "a table"),
        ("[sources.a]\n", 1, "exactly one of"),
        ("[sources.a]\nrepo = 'x'\nurl = 'https://h/x'\n", 1, "exactly one of"),
        ("[sources.a]\nartifact = 'x'\nref = 'main'\n", 1, "must not have ref"),
        ("[sources.a]\nrepo = 'x'\nkey = 'k'\n", 1, "must not have key"),
        ("[sources.a]\nrepo = 'x'\nevery = '5m'\n", 1, "must not have every"),
        ("[sources.a]\nurl = 'https://h/x'\nevery = '1s'\n", 3, "between 5 seconds"),
        ("[sources.a]\nrepo = 'x'\nfolder = '../y'\n", 3, "inside the repository"),
        ("[sources.a]\nurl = 'file:///srv/x.git'\n", 2, "https:// or ssh://"),
        ("[sources.a]\nurl = 'http://host/x.git'\n", 2, "https:// or ssh://"),
        ("[sources.a]\nurl = 'git://host/x.git'\n", 2, "https:// or ssh://"),
        ("[sources.a]\nurl = 'ext::sh -c x'\n", 2, "helper program"),
        ("[sources.a]\nrepo = 'x'\npermalink = 'https://h/{pth}'\n", 3, "did you mean {path}?"),
        ("[sources.a]\nrepo = 'x'\npermalink = 'https://h/{path!r}'\n", 3, "without a format"),
        ("[sources.a]\nrepo = 'x'\npermalink = 'https://h/{path'\n", 3, "not a template"),
        ("[sources.a]\nrepo = 'x'\npermalink = 'javascript:{path}'\n", 3, "https:// or http://"),
        ("[sources.a]\nrepo = 'x'\nref = 5\n", 3, "string"),
        ("[features]\ntool_prefix = 'Docs-'\n", 2, "lower-case"),
        ("[limits]\nsearches_per_minut = 120\n", 2, "no setting"),
        ("[limits]\nsearches_per_minute = 0\n", 2, "greater than or equal to 1"),
        ("[analytics]\nmode = 'hash'\n", 1, "Field required"),
        ("[analytics]\ndatabase = 'mysql://host/name'\n", 2, "postgresql://"),
        ("[analytics]\ndatabase = 'x'\nmode = 'words'\n", 3, "'off', 'hash' or 'text'"),
        ("[limits]\nmax_tokens = 'x'\n", 2, "integer"),
    ],
)
def test_invalid_file_names_line_and_reason(
    tmp_path: Path, text: str | bytes, line: int, phrase: str
) -> None:
    [mistake] = list_mistakes(tmp_path, text)
    assert phrase in mistake.message
    assert mistake.line == line
    assert mistake.fix


@pytest.mark.parametrize(
    "url", ["https://ada:secret@host/x.git", "https://ghp_0123456789abcdefghij@host/x.git"]
)
def test_secret_in_url_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    [mistake] = list_mistakes(tmp_path, f"[sources.a]\nurl = '{url}'\n")
    assert "password" in mistake.message
    assert "secret" not in mistake.message
    assert "ghp_" not in mistake.message


def test_unreadable_file_returns_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidSourcesFile, match="cannot be read"):
        read_sources_file(tmp_path / "absent.toml")
    with pytest.raises(InvalidSourcesFile, match="cannot be read"):
        read_sources_file(tmp_path)


def test_setting_in_multiline_text_is_not_its_line() -> None:
    text = '[sources.a]\ndescription = """\nref = 1\n"""\nref = 2\n'
    assert find_setting_line(text, ("sources", "a", "ref")) == 5
    assert find_setting_line(text, ("sources", "a")) == 1
    assert find_setting_line('sources = {a = {ref = "x"}}\n', ("sources", "a", "ref")) == 1
