"""Settings that a command changes in a file, whose comments stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.settings.edit import UneditableFile, edit_settings, write_settings

FILE = Path("server.toml")


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("", {"url": "a"}, '[engine]\nurl = "a"\n'),
        ("[http]\nworkers = 2", {"url": "a"}, '[http]\nworkers = 2\n\n[engine]\nurl = "a"\n'),
        ("[http] # x\n", {"url": 'q"\\'}, '[http] # x\n\n[engine]\nurl = "q\\"\\\\"\n'),
        ("[engine] # x\n\n[http]\n", {"url": "a"}, '[engine] # x\nurl = "a"\n\n[http]\n'),
        ("[engine]\r\nurl='b' # c\r\n", {"url": "a"}, '[engine]\r\nurl="a" # c\r\n'),
        ('[engine]\nurl = "b#" # c\n', {"url": None}, "[engine]\n# c\n"),
        ('[engine]\n# d\nurl = "b"\n', {"url": None, "read_url": None}, "[engine]\n# d\n"),
        (
            '[database]\nurl = "d"\n[engine]\nurl = "b"\nread_url = "r"\n',
            {"url": "a", "read_url": None},
            '[database]\nurl = "d"\n[engine]\nurl = "a"\n',
        ),
    ],
)
def test_only_the_lines_of_the_settings_change(
    text: str, values: dict[str, str | None], expected: str
) -> None:
    assert edit_settings(FILE, text, "engine", values) == expected


@pytest.mark.parametrize(
    "text",
    [
        "engine = 1\n",
        "engine = {}\n",
        'engine = {url = "b"}\n',
        'engine.url = "b"\n',
        '[engine]\nurl = """\nb"""\n',
        '[engine]\n"url" = "b"\n',
    ],
)
def test_setting_of_an_unusual_form_is_left_to_a_person(text: str) -> None:
    with pytest.raises(UneditableFile) as caught:
        edit_settings(FILE, text, "engine", {"url": "a"})
    assert '[engine]\nurl = "a"' in caught.value.fix
    with pytest.raises(UneditableFile):
        edit_settings(FILE, '[engine]\nurl = """b"""\n', "engine", {"url": None})


def test_written_file_has_its_mode_and_its_byte_order_mark(tmp_path: Path) -> None:
    file, link = tmp_path / "server.toml", tmp_path / "link.toml"
    file.write_bytes(b"\xef\xbb\xbf# a\n")
    file.chmod(0o640)
    link.symlink_to(file)
    write_settings(link, "# a\n", "# b\n")
    assert file.read_bytes() == b"\xef\xbb\xbf# b\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    with pytest.raises(UneditableFile, match="changed meanwhile"):
        write_settings(file, "# a\n", "# c\n")
    assert sorted(tmp_path.iterdir()) == [link, file]
