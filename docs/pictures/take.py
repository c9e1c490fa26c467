"""Takes the README's pictures of the page: `make pictures`, or CHROMIUM=… python docs/pictures/take.py

Each is taken of the demo logdir in both themes, as `<name>-light.webp` and `<name>-dark.webp`.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "demo_logs")]

from browser.conftest import ARGUMENTS  # noqa: E402
from browser.driver import Xi  # noqa: E402
from helpers import serving  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from synthetic import case_study  # noqa: E402

SIZE = {"width": 1440, "height": 880}
PIXELS_PER_POINT = 1.25
MOST_BYTES = 150_000
QUALITIES = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
"""The first one with which a picture is small enough."""

PATIENCE_MS = 120_000
THEMES = ("light", "dark")

SESSION = f"{case_study.RUN}/{case_study.SESSION}"
GAP = f"gap:{case_study.HOST}/TPU:0@{case_study.truth().gap_start_ps / 1e9}"
PICTURES = {
    "overview": {"v": "overview"},
    "gap": {"v": "timeline", "sel": GAP, "w": "690+125"},
}
"""What each picture is of, as a link to it says it."""

# Chromium writes WebP where the tool that drives it writes only PNG, five times as large.
ENCODE = """async ([png, qualities, most]) => {
    const picture = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    let blob;
    for (const quality of qualities) {
        blob = await canvas.convertToBlob({type: 'image/webp', quality});
        if (blob.size < most) break;
    }
    const webp = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(webp, (byte) => String.fromCharCode(byte)).join(''));
}"""


def take(page: Page, path: Path) -> None:
    """Writes what the page shows."""
    png = base64.b64encode(page.screenshot(animations="disabled", caret="hide")).decode()
    blank = page.context.new_page()
    path.write_bytes(base64.b64decode(blank.evaluate(ENCODE, [png, QUALITIES, MOST_BYTES])))
    blank.close()
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def main() -> None:
    serve = [sys.executable, str(ROOT / "tests/browser/serve.py"), str(ROOT / "demo_logs")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    chromium = os.environ.get("CHROMIUM") or None
    with serving(serve, stdin=subprocess.PIPE, env=environment) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS[:3])
        for theme in THEMES:
            context = browser.new_context(
                viewport=SIZE, device_scale_factor=PIXELS_PER_POINT, color_scheme=theme
            )
            context.set_default_timeout(PATIENCE_MS)
            xi = Xi(context.new_page(), address)
            for name, link in PICTURES.items():
                xi.open(SESSION, **link)
                take(xi.page, Path(__file__).with_name(f"{name}-{theme}.webp"))
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
