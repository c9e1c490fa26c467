"""Takes the documentation's pictures of the page: `make pictures`, or CHROMIUM=… python docs/pictures/take.py [NAME…]

Each picture is taken of the demo logdir in both themes, as `<name>-light.webp` and `<name>-dark.webp`. `texts.json`
contains the page's text in each picture, so that a test detects when the page's text has changed. Some of them, one
after the other, are the moving picture `tour-<theme>.webp`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "demo_logs")]

from browser.conftest import CHROMIUM_ARGUMENTS  # noqa: E402
from browser.driver import Xi  # noqa: E402
from helpers import serving  # noqa: E402
from playwright.sync_api import FloatRect, Page, ViewportSize, sync_playwright  # noqa: E402
from synthetic import case_study, pod  # noqa: E402

SIZE: ViewportSize = {"width": 1440, "height": 880}
PIXELS_PER_POINT = 1.25
MAX_BYTES = 150_000
QUALITIES = (0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
"""WebP qualities to try, until the picture has at most MAX_BYTES."""

TIMEOUT_MS = 120_000
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

CASE_STUDY = f"{case_study.RUN}/{case_study.SESSION}"
DYNAMIC_SHAPES = "torch_xla_dynamic_shapes/2026_11_21_00_04_32"
GAP_OF_CORE = f"gap:{case_study.HOST}/TPU:0"
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "overview": (CASE_STUDY, {"v": "overview"}),
    "gap": (
        CASE_STUDY,
        {"v": "timeline", "sel": f"{GAP_OF_CORE}@{case_study.truth().gap_start_ps / 1e9}", "w": "690+125"},
    ),
    "recompilation": (CASE_STUDY, {"v": "timeline", "sel": f"{GAP_OF_CORE}@1441.009358", "w": "1250+600"}),
    "cut": (CASE_STUDY, {"v": "timeline", "sel": f"{GAP_OF_CORE}@2282.570881", "w": "2070+440"}),
    "compiles": (DYNAMIC_SHAPES, {"v": "compiles"}),
    "hosts": (f"{pod.RUN}/{pod.SESSION}", {"v": "hosts"}),
}
"""The subject of each picture: a session, and the state in a link to the view."""

TOUR = ("overview", "gap", "recompilation", "compiles", "hosts")
TOUR_WIDTH = 1100
TOUR_FRAME_MS = 3000
TOUR_QUALITY = 60

TEXTS = Path(__file__).with_name("texts.json")

# The browser encodes the pictures as WebP: Playwright writes only PNG, which is five times as large.
ENCODE = """async ([png, qualities, maxBytes]) => {
    const picture = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    let blob;
    for (const quality of qualities) {
        blob = await canvas.convertToBlob({type: 'image/webp', quality});
        if (blob.size <= maxBytes) break;
    }
    const webp = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(webp, (byte) => String.fromCharCode(byte)).join(''));
}"""


# The height of the page down to the end of the last card, in CSS pixels.
HEIGHT = """() => {
    const cards = [...document.querySelectorAll('.card')].filter((card) => card.checkVisibility());
    const ends = cards.map((card) => Math.ceil(card.getBoundingClientRect().bottom) + 12);
    return cards.length ? Math.min(innerHeight, Math.max(...ends)) : innerHeight;
}"""


def take(page: Page, path: Path) -> None:
    """Writes a screenshot of the page, without the empty part below the last card."""
    clip: FloatRect = {"x": 0, "y": 0, "width": SIZE["width"], "height": page.evaluate(HEIGHT)}
    png = base64.b64encode(page.screenshot(animations="disabled", caret="hide", clip=clip)).decode()
    blank_page = page.context.new_page()
    path.write_bytes(base64.b64decode(blank_page.evaluate(ENCODE, [png, QUALITIES, MAX_BYTES])))
    blank_page.close()
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def take_tour(theme: str) -> None:
    """Writes the moving picture of a theme from its pictures."""
    from PIL import Image  # the tests read this module without it

    path = Path(__file__).with_name(f"tour-{theme}.webp")
    pictures = [Image.open(Path(__file__).with_name(f"{name}-{theme}.webp")) for name in TOUR]
    height = round(TOUR_WIDTH * SIZE["height"] / SIZE["width"])
    frames = []
    for picture in pictures:
        frame = Image.new(
            "RGB", (TOUR_WIDTH, height), picture.convert("RGB").getpixel((2, picture.height - 2))
        )
        frame.paste(picture.resize((TOUR_WIDTH, round(picture.height * TOUR_WIDTH / picture.width))))
        frames.append(frame)
    first, *others = frames
    first.save(
        path,
        save_all=True,
        append_images=others,
        duration=TOUR_FRAME_MS,
        loop=0,
        quality=TOUR_QUALITY,
        method=6,
    )
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def text_of(page: Page) -> str:
    """The visible text of the page, with one space between words."""
    return " ".join(page.locator("main").inner_text().split())


def main(names: list[str]) -> None:
    serve = [sys.executable, str(ROOT / "tests/browser/serve.py"), str(ROOT / "demo_logs")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # The scale is that of the context.
    arguments = [text for text in CHROMIUM_ARGUMENTS if not text.startswith("--force-device-scale-factor")]
    chromium = os.environ.get("CHROMIUM") or None
    texts: dict[str, str] = json.loads(TEXTS.read_text()) if TEXTS.exists() else {}
    with serving(serve, stdin=subprocess.PIPE, env=environment) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for theme in THEMES:
            context = browser.new_context(
                viewport=SIZE, device_scale_factor=PIXELS_PER_POINT, color_scheme=theme
            )
            context.set_default_timeout(TIMEOUT_MS)
            xi = Xi(context.new_page(), address)
            for name in names or PICTURES:
                session, link = PICTURES[name]
                xi.open(session, **link)
                take(xi.page, Path(__file__).with_name(f"{name}-{theme}.webp"))
                texts[name] = text_of(xi.page)
            context.close()
            take_tour(theme)
        browser.close()
    TEXTS.write_text(
        json.dumps({name: texts[name] for name in PICTURES if name in texts}, indent=1, ensure_ascii=False)
        + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
