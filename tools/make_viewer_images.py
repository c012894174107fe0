"""The pictures of docs/viewer.md: pages of the viewer over real runs, taken by a headless Chromium.

    assay demo -o runs/viewer
    assay run quickstart -o runs/viewer/quickstart
    assay run quickstart --system "You are careful. Think of the answer, then give only the answer." \\
        -o runs/viewer/quickstart-careful
    python tools/make_viewer_images.py runs/viewer
"""

import io
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "view"))
from browser import Browser, Viewer  # noqa: E402

WIDTH, HEIGHT = 1280, 800
QUALITY = 62


def main() -> None:
    """Write one WebP file for each page."""
    viewer = Viewer(Path(sys.argv[1]).absolute())
    window = Browser(WIDTH, HEIGHT)
    window.size(WIDTH, HEIGHT)
    try:
        window.open(viewer.link())
        window.wait("document.querySelector('.run-name')")
        names = "[...document.querySelectorAll('.run-name')].map((a) => [a.textContent, a.hash])"
        runs = dict(window.js(f"return {names}"))
        first, second = (
            runs[name].split("/")[-1] for name in ("quickstart", "quickstart-careful")
        )
        take(window, "runs")
        pages = {
            "run": (runs["quickstart"], ".figures svg"),
            "samples": (
                f"{runs['quickstart']}/samples?id=choices-02&of=quickstart_choices&by=smollm2",
                ".sample h1",
            ),
            "audio": (f"{runs['speech-out']}/samples?id=sentence-02", ".wave rect"),
            "compare": (f"#/compare/{first}/{second}", ".sentence"),
            "label": (f"{runs['quickstart']}/label?cell=1", ".verdict-keys button"),
        }
        for name, (page, ready) in pages.items():
            window.open(f"{viewer.address}/{page}")
            window.wait("document.querySelector(arguments[0])", ready)
            if name == "compare":
                window.js("document.querySelector('.flip summary')?.click()")
            take(window, name)
        window.dark(True)
        window.open(f"{viewer.address}/{runs['image-out']}/samples?id=digit-1&epoch=1")
        window.wait("document.querySelector('.sample h1')")
        take(window, "dark")
    finally:
        window.driver.quit()
        viewer.close()


def take(window: Browser, name: str) -> None:
    """Return what the window shows once it is idle and its images are loaded."""
    from PIL import Image

    time.sleep(1.2)
    window.wait(
        "[...document.images].every((one) => one.complete || one.getBoundingClientRect().top > innerHeight)"
    )
    path = ROOT / "docs" / "images" / f"viewer-{name}.webp"
    Image.open(io.BytesIO(window.driver.get_screenshot_as_png())).convert("RGB").save(
        path, quality=QUALITY, method=6
    )
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
