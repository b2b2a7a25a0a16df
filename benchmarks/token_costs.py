"""Works out the table by which tokens are estimated: what pieces of texts cost with a real tokenizer.

    python -m benchmarks.token_costs FOLDER… > workspace/texts/token_costs.py

Reads the text files below the folders, cuts them as the estimate does, and counts the tokens of each piece
alone with o200k_base. A row of the table has the mean cost for each length in hundredths of a
token; where there are few pieces of a length, it is drawn towards the length before.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rs_bpe.bpe import openai

from workspace.texts.magic import not_text
from workspace.texts.tokens import _ANY, _ASCII, kind_of_piece, script_of

LENGTHS = 16
PRIOR = 30
LARGEST = 500_000

HEAD = '''"""What pieces cost in hundredths of a token of o200k_base: by kind for ASCII, by script for others.

Each row has the mean for the lengths 1, 2, 3 and so on, and what each further character costs. Written by
`python -m benchmarks.token_costs` from 1,500 pages of Markdown (the documentation of a compiler and of an
office suite), sources of Python's library, and tutorials and help of an editor and a mail signer in 30
languages.
"""

from __future__ import annotations

Row = tuple[tuple[int, ...], int]
'''

# Scripts of which too little is at hand: by short texts of each, else by how UTF-8 falls apart.
BY_HAND = {
    "han": (100, 70),
    "hebrew": (100, 26),
    "arabic": (100, 20),
    "indic": (100, 14),
    "thai": (100, 48),
    "rare": (150, 150),
    "emoji": (170, 150),
}
SLOPES = {"rule": 2, "same": 25, "blank": 2, "line": 25, "digits": 100}


def texts(folders: list[Path]) -> Iterator[str]:
    """The texts of all files below the folders that are text, and not too large to be read by people."""
    for folder in folders:
        for path in sorted(folder.rglob("*") if folder.is_dir() else [folder]):
            if path.is_file() and path.stat().st_size < LARGEST:
                data = path.read_bytes()
                if not not_text(data):
                    text = data.decode("utf-8", "replace")
                    if text.count("�") < len(text) / 1000:
                        yield text


def measured(folders: list[Path]) -> dict[str, dict[int, tuple[int, int]]]:
    """How many pieces there are of each kind and length, and how many tokens all of them have."""
    count = openai.o200k_base().count
    pieces: Counter[str] = Counter()
    for text in texts(folders):
        pieces.update((_ASCII if text.isascii() else _ANY).findall(text))
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for piece, times in pieces.items():
        name, length = kind_of_piece(piece) if piece.isascii() else (script_of(piece), len(piece))
        row = found.setdefault(name, {})
        number, tokens = row.get(length, (0, 0))
        row[length] = number + times, tokens + times * count(piece)
    return found


def row(name: str, found: dict[int, tuple[int, int]]) -> tuple[tuple[int, ...], int]:
    """A row of the table: what pieces of the lengths 1, 2, 3 … cost, and each further character."""
    longer = [(length, number, tokens) for length, (number, tokens) in found.items() if length > LENGTHS]
    characters = sum(length * number for length, number, _ in longer)
    each = sum(tokens for _, _, tokens in longer) / characters if characters else 0.3
    slope = SLOPES.get(name, round(100 * min(1.0, max(0.1, each))))
    costs: list[int] = []
    for length in range(1, min(LENGTHS, max(found, default=1)) + 1):
        number, tokens = found.get(length, (0, 0))
        before = costs[-1] if costs else 100
        expected = before + (slope if length > LENGTHS // 2 else 0)
        costs.append(max(100, round((100 * tokens + PRIOR * expected) / (number + PRIOR))))
    return tuple(costs), slope


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    found = measured(parser.parse_args().folders)
    print(HEAD)
    scripts = {"latin", "greek", "cyrillic", "hangul", "kana", "punctuation", "symbol"}
    print("PIECES: dict[str, Row] = {")
    for name in sorted(found.keys() - scripts - BY_HAND.keys()):
        print(f'    "{name}": {row(name, found[name])},')
    print("}\n\nSCRIPTS: dict[str, Row] = {")
    for name in sorted(scripts):
        print(f'    "{name}": {row(name, found.get(name, {}))},')
    for name, (first, slope) in BY_HAND.items():
        print(f'    "{name}": ({(first,)}, {slope}),')
    print("}")


if __name__ == "__main__":
    main()
