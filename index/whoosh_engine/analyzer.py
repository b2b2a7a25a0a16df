"""The analysis of `index.analysis` as a Whoosh analyzer, which yields the terms that the index stores."""

from __future__ import annotations

from collections.abc import Iterator

from whoosh.analysis import Analyzer, Token

from index.analysis.terms import extract_token_terms
from index.analysis.words import STOP_WORDS, TOKEN, normalize


class SectionAnalyzer(Analyzer):  # type: ignore[misc]
    """An analyzer that yields the index terms of a text, with repetitions, by default without stop words."""

    def __call__(
        self,
        value: str,
        positions: bool = False,
        chars: bool = False,
        keeporiginal: bool = False,
        removestops: bool = True,
        start_pos: int = 0,
        start_char: int = 0,
        mode: str = "",
        **options: object,
    ) -> Iterator[Token]:
        """Yield a token for each term: the same object each time, as in every Whoosh analyzer.

        The terms of one word have the word's position and character offsets.
        """
        text = normalize(value)
        token = Token(positions, chars, removestops=removestops, mode=mode, **options)
        for position, word in enumerate(TOKEN.finditer(text), start_pos):
            for term in extract_token_terms(word[0]):
                if removestops and term in STOP_WORDS:
                    continue
                token.text = term
                token.stopped = term in STOP_WORDS
                token.boost = 1.0
                if keeporiginal:
                    token.original = word[0]
                if positions:
                    token.pos = position
                if chars:
                    token.startchar, token.endchar = start_char + word.start(), start_char + word.end()
                yield token
