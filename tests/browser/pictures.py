"""The screenshots of docs/: each page at two widths, light and dark.

python -m tests.browser.pictures [FOLDER]     writes FOLDER/NAME-WIDTH-SCHEME.png (default: docs/pictures)
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.conftest import create_context, start_chromium
from tests.browser.page_paths import build_page_paths
from tests.browser.sample_site import add_review, answer_review, serve_sample_site

PICTURES_FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
HEIGHTS_BY_WIDTH = {1280: 860, 390: 844}
SCHEMES = ("light", "dark")
MAX_PICTURE_BYTES = 120_000


def reduce_colours(png: bytes) -> bytes:
    """Return a picture with as many colours as the size limit allows.

    Raises ValueError if even the smallest number of colours exceeds the limit.
    """
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colour_count in (256, 128, 64, 32):
        data = io.BytesIO()
        picture.quantize(colour_count, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
        if len(data.getvalue()) <= MAX_PICTURE_BYTES:
            return data.getvalue()
    raise ValueError(f"a picture of {picture.size} pixels exceeds {MAX_PICTURE_BYTES} bytes with 32 colours")


def take_screenshots(folder: Path) -> list[Path]:
    """Take all screenshots, and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with (
        tempfile.TemporaryDirectory(prefix="docyard-pictures-") as temporary_folder,
        serve_sample_site(Path(temporary_folder)) as sample_site,
    ):
        add_review(sample_site)
        answer_review(sample_site)
        with start_chromium() as browser:
            for width, height in HEIGHTS_BY_WIDTH.items():
                for scheme in SCHEMES:
                    options: dict[str, Any] = {
                        "color_scheme": scheme,
                        "viewport": {"width": width, "height": height},
                    }
                    context = create_context(browser, sample_site.server, sample_site.ana_token, **options)
                    anonymous_context = browser.new_context(base_url=sample_site.server.url, **options)
                    signed_in_page, signed_out_page = context.new_page(), anonymous_context.new_page()
                    for name, path in build_page_paths(sample_site).items():
                        page = signed_out_page if name == "sign-in" else signed_in_page
                        page.goto(path)
                        response = page.reload()  # the colours of code are there the second time
                        assert response is not None
                        assert response.status == (404 if name == "not-found" else 200), name
                        page.wait_for_function("[...document.images].every((image) => image.complete)")
                        file = folder / f"{name}-{width}-{scheme}.png"
                        file.write_bytes(reduce_colours(page.screenshot()))
                        files.append(file)
                    context.close()
                    anonymous_context.close()
    return files


def main(arguments: Sequence[str]) -> int:
    """Write the screenshots into a folder, and print their number and total size."""
    files = take_screenshots(Path(arguments[0]) if arguments else PICTURES_FOLDER)
    total_bytes = sum(file.stat().st_size for file in files)
    print(f"{len(files)} pictures, {total_bytes / 1e6:.1f} MB, in {files[0].parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
