"""Colours of code: a class for each token, in the sanitized HTML of a page.

A child process finds the tokens, with limits of size and time. A block that is too large, fails or takes too
long has no colours. A page waits a moment for its blocks; those that are late have colours on the next page.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import re
import threading
from collections import OrderedDict
from concurrent.futures import Future, wait
from html import escape, unescape
from typing import TYPE_CHECKING, NamedTuple

from workspace.child_processes import start_process
from workspace.lru_cache import LRUCache
from workspace.rendering.tokens import TOKEN_KINDS, serve_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    Tokens = Sequence[tuple[int, int]]

log = logging.getLogger(__name__)

MAX_CODE_LENGTH = 50_000
"""The maximum number of characters of a block with colours."""

MAX_COLOURED_BLOCKS = 300
"""The maximum number of blocks with colours on one page."""

MAX_COLOURED_LENGTH = 300_000
"""The maximum number of characters of all blocks with colours on one page."""

PAGE_WAIT_S = 0.1
"""The time that a page waits for the colours of its blocks."""

BLOCK_TIMEOUT_S = 2.0
"""The time in which the process must return the tokens of a block; it is killed after this time."""

_START_TIMEOUT_S = 60.0  # in which the process must start, on a busy machine too
_MAX_QUEUED_BLOCKS = 1_000
_MAX_CACHED_BYTES = 8_000_000
_MAX_CACHED_CHARS = 16_000_000  # of complete pages
_BYTES_PER_TOKEN = 80
_BYTES_PER_ENTRY = 200

# In the canonical form of the sanitizer. A block with a tag in it has no colours.
_BLOCK = re.compile(r'<pre><code class="language-([a-z0-9_+#.-]{1,40})">([^<]*)</code></pre>')
_PLAIN_LANGUAGES = frozenset({"text", "txt", "plain", "plaintext", "none", "math", "mermaid", "suggestion"})

CODE_CLASSES = tuple(f"code-{kind}" for kind in TOKEN_KINDS)
"""The classes of tokens, by the position of their kind."""


class ColouredHtml(NamedTuple):
    """The HTML of a page; `is_complete` is False if colours may be added later."""

    html: str
    is_complete: bool


class _Block(NamedTuple):
    """A block of code: its language, and its text."""

    language: str
    code: str

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"{self.language}\n{self.code}".encode("utf-8", "surrogatepass")).digest()


class CodeColours:
    """The tokens of recent blocks, and the process that finds them, from the first block to `close`.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._tokens: LRUCache[bytes, Tokens] = LRUCache(
            _MAX_CACHED_BYTES, lambda tokens: len(tokens) * _BYTES_PER_TOKEN + _BYTES_PER_ENTRY
        )
        self._pages: LRUCache[str, str] = LRUCache(_MAX_CACHED_CHARS, lambda html: 2 * len(html) + 1_000)
        self._queue: OrderedDict[bytes, tuple[_Block, Future[Tokens]]] = OrderedDict()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._child: _Child | None = None
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        """Return True while the colours of a block are being found."""
        return bool(self._queue)

    def add_colours(self, html: str, *, max_wait_s: float = PAGE_WAIT_S) -> ColouredHtml:
        """Return sanitized HTML with the tokens of its code in elements with a class.

        Waits at most `max_wait_s` seconds for blocks that are not cached.
        """
        if '<code class="language-' not in html:
            return ColouredHtml(html, True)
        cached_html = self._pages.find(html)
        if cached_html is not None:
            return ColouredHtml(cached_html, True)
        tokens_by_block, is_complete = self._find_tokens(_select_blocks(html), max_wait_s)

        def colour_block(match: re.Match[str]) -> str:
            block = _Block(match[1], unescape(match[2]))
            tokens = tokens_by_block.get(block)
            if not tokens:
                return match[0]
            coloured_code = _write_tokens(block.code, tokens)
            return f'<pre><code class="language-{block.language}">{coloured_code}</code></pre>'

        coloured_html = _BLOCK.sub(colour_block, html)
        if is_complete:
            self._pages.put(html, coloured_html)
        return ColouredHtml(coloured_html, is_complete)

    def close(self) -> None:
        """End the process; no block has colours from then on."""
        with self._condition:
            self._is_closed = True
            self._drop_queue()
            child, self._child = self._child, None
            self._condition.notify_all()
        if child is not None:
            child.end()
        if self._thread is not None:
            self._thread.join()

    def _find_tokens(self, blocks: Sequence[_Block], max_wait_s: float) -> tuple[dict[_Block, Tokens], bool]:
        """Return the tokens of blocks, and True if no block needs more time."""
        tokens_by_block: dict[_Block, Tokens] = {}
        futures: dict[_Block, Future[Tokens]] = {}
        is_complete = True
        for block in blocks:
            key = block.key
            tokens = self._tokens.find(key)
            if tokens is not None:
                tokens_by_block[block] = tokens
                continue
            future = self._submit(key, block)
            if future is None:
                is_complete = False
            else:
                futures[block] = future
        done, late = wait(futures.values(), max_wait_s)
        tokens_by_block |= {block: future.result() for block, future in futures.items() if future in done}
        return tokens_by_block, is_complete and not late

    def _submit(self, key: bytes, block: _Block) -> Future[Tokens] | None:
        """Queue a block; return None if the queue is full or closed."""
        with self._condition:
            if key in self._queue:
                return self._queue[key][1]
            if self._is_closed or len(self._queue) >= _MAX_QUEUED_BLOCKS:
                return None
            future: Future[Tokens] = Future()
            self._queue[key] = block, future
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="docyard-code-colours", daemon=True)
                self._thread.start()
            self._condition.notify_all()
            return future

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._queue or self._is_closed)
                if self._is_closed:
                    return
                # A page that waits now is served before older ones, whose blocks may all be slow.
                key, (block, future) = next(reversed(self._queue.items()))
            tokens = self._receive_tokens(block)
            with self._condition:
                if self._is_closed:
                    return
                self._tokens.put(key, tokens)
                del self._queue[key]
            future.set_result(tokens)

    def _receive_tokens(self, block: _Block) -> Tokens:
        """Return the tokens of a block from the process; none if the process fails or is too slow."""
        try:
            child = self._child or self._start_child()
            if child is None:
                return ()
            child.pipe.send(tuple(block))
            if child.pipe.poll(BLOCK_TIMEOUT_S):
                return _check_tokens(block, child.pipe.recv())
            log.info("code is shown without colours, because its tokens take too long: %s", block.language)
        except (EOFError, OSError) as error:
            log.info("code is shown without colours: %s", type(error).__name__)
        with self._condition:
            child, self._child = self._child, None
        if child is not None:
            child.end()
        return ()

    def _start_child(self) -> _Child | None:
        """Start the process; return None if this object was closed. Raises OSError, EOFError."""
        child = _Child()
        with self._condition:
            is_closed = self._is_closed
            if not is_closed:
                self._child = child
        if is_closed:
            child.end()
            return None
        if not child.pipe.poll(_START_TIMEOUT_S):
            raise EOFError
        child.pipe.recv()
        return child

    def _drop_queue(self) -> None:
        for _, future in self._queue.values():
            future.set_result(())
        self._queue.clear()


class _Child:
    """The process that finds tokens, and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, child_pipe = context.Pipe()
        self._process: BaseProcess = context.Process(target=serve_tokens, args=(child_pipe,), daemon=True)
        with child_pipe:
            try:
                start_process(self._process)
            except BaseException:
                self.pipe.close()
                raise

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _select_blocks(html: str) -> list[_Block]:
    """Return the blocks of a page that are within the limits, each once."""
    blocks: dict[_Block, None] = {}
    remaining_length = MAX_COLOURED_LENGTH
    for match in _BLOCK.finditer(html):
        block = _Block(match[1], unescape(match[2]))
        if block in blocks or block.language in _PLAIN_LANGUAGES or len(block.code) > MAX_CODE_LENGTH:
            continue
        remaining_length -= len(block.code)
        if remaining_length < 0 or len(blocks) >= MAX_COLOURED_BLOCKS:
            break
        blocks[block] = None
    return list(blocks)


def _check_tokens(block: _Block, tokens: Tokens) -> Tokens:
    """Return tokens if they are those of a block; none otherwise."""
    if sum(length for _, length in tokens) != len(block.code):
        return ()
    return tuple(tokens) if all(0 <= kind < len(CODE_CLASSES) for kind, _ in tokens) else ()


def _write_tokens(code: str, tokens: Tokens) -> str:
    """Return code as HTML; each character of it is escaped here."""
    parts: list[str] = []
    position = 0
    for kind, length in tokens:
        text = escape(code[position : position + length], quote=False)
        parts.append(f'<span class="{CODE_CLASSES[kind]}">{text}</span>' if kind and text.strip() else text)
        position += length
    return "".join(parts)
