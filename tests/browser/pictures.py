"""Takes the pictures of the page for docs/: each page at two widths, light and dark.

python -m tests.browser.pictures [FOLDER]     writes FOLDER/NAME-WIDTH-SCHEME.png; docs/pictures, unless named
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.conftest import chromium, context_of
from tests.browser.places import places
from tests.browser.story import answered, discussed, told

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
WIDTHS = {1280: 860, 390: 844}
SCHEMES = ("light", "dark")
MOST = 120_000  # bytes of a picture


def small(png: bytes) -> bytes:
    """The same picture in as many colours as fit into the limit; ValueError where none do."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in (256, 128, 64, 32):
        kept = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(kept, "PNG", optimize=True)
        if len(kept.getvalue()) <= MOST:
            return kept.getvalue()
    raise ValueError(f"a picture of {picture.size} does not fit into {MOST} bytes")


def take(folder: Path) -> list[Path]:
    """Take all pictures; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    with tempfile.TemporaryDirectory(prefix="docyard-pictures-") as scratch, told(Path(scratch)) as story:
        discussed(story)
        answered(story)
        with chromium() as browser:
            for width, height in WIDTHS.items():
                for scheme in SCHEMES:
                    options: dict[str, Any] = {
                        "color_scheme": scheme,
                        "viewport": {"width": width, "height": height},
                    }
                    context = context_of(browser, story.served, story.ana, **options)
                    nobody = browser.new_context(base_url=story.served.url, **options)
                    signed_in, signed_out = context.new_page(), nobody.new_page()
                    for name, path in places(story).items():
                        page = signed_out if name == "sign-in" else signed_in
                        answer = page.goto(path)
                        assert answer is not None
                        assert answer.status == (404 if name == "not-found" else 200), name
                        page.wait_for_load_state("load")
                        file = folder / f"{name}-{width}-{scheme}.png"
                        file.write_bytes(small(page.screenshot()))
                        taken.append(file)
                    context.close()
                    nobody.close()
    return taken


def main(words: Sequence[str]) -> int:
    """Take the pictures into a folder, and say how large they are."""
    taken = take(Path(words[0]) if words else FOLDER)
    size = sum(file.stat().st_size for file in taken)
    print(f"{len(taken)} pictures, {size / 1e6:.1f} MB, in {taken[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
