"""A headless Chromium that counts what must not happen: dialogs, requests to other hosts, violations of the policy."""

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BINARY = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
DRIVER = shutil.which("chromedriver")
WATCH = """
window.__violations = []; window.__ran = 0;
document.addEventListener("securitypolicyviolation", (e) => {
  window.__violations.push(e.violatedDirective + " " + e.blockedURI);
});
for (const name of ["alert", "confirm", "prompt", "open", "print"]) window[name] = () => { window.__ran++; };
"""
LONGEST = 60.0


def skip_reason() -> str:
    """Why there is no browser to test in; empty if there is one."""
    if BINARY is None or DRIVER is None:
        return (
            "no chromium and chromedriver here (apt install chromium chromium-driver)"
        )
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return ""


class Browser:
    """A window of its own, and what it was asked to do behind our back."""

    def __init__(self, width: int = 1280, height: int = 800) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = str(BINARY)
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--mute-audio",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        ):
            options.add_argument(argument)
        options.set_capability(
            "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
        )
        self.driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        self.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": WATCH}
        )
        self.driver.set_page_load_timeout(60)
        self.foreign: list[str] = []
        self.violations: list[str] = []
        self.ran = 0

    def open(self, address: str) -> None:
        """Goes to an address; what the page before it did is counted first."""
        self.count()
        self.driver.get(address)

    def count(self) -> None:
        """Adds up what happened since the last time."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(
                    (
                        "http://127.0.0.1:",
                        "data:",
                        "blob:",
                        "file:",
                        "chrome:",
                        "about:",
                    )
                ):
                    self.foreign.append(url)
        with contextlib.suppress(Exception):
            self.violations += self.js("return window.__violations.splice(0)") or []
            self.ran += (
                self.js("const n = window.__ran; window.__ran = 0; return n") or 0
            )
        self.violations += [
            e["message"]
            for e in self.driver.get_log("browser")
            if "Content Security Policy" in e["message"]
            or "TrustedHTML" in e["message"]
        ]

    def js(self, code: str, *arguments: Any) -> Any:
        """What a script says."""
        return self.driver.execute_script(code, *arguments)

    def text(self, selector: str = "body") -> str:
        """All text inside an element."""
        return str(
            self.js(
                "return document.querySelector(arguments[0])?.textContent ?? ''",
                selector,
            )
        )

    def wait(self, code: str, *arguments: Any) -> Any:
        """Waits until an expression is true, and returns it."""
        end = time.monotonic() + LONGEST
        while True:
            found = self.js(f"return {code}", *arguments)
            if found or time.monotonic() > end:
                assert found, f"never true: {code}; the page says: {self.text()[:500]}"
                return found
            time.sleep(0.03)

    def click(self, selector: str, number: int = 0) -> None:
        """Clicks on an element."""
        self.js(
            "document.querySelectorAll(arguments[0])[arguments[1]].click()",
            selector,
            number,
        )

    def keys(self, *keys: str) -> None:
        """Presses keys by their names (`ARROW_DOWN`), wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(getattr(Keys, key))
        chain.perform()

    def dark(self, on: bool) -> None:
        """As if the system were set to dark, or to light."""
        value = "dark" if on else "light"
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": value}]},
        )

    def size(self, width: int, height: int) -> None:
        """The size of the window."""
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 600,
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def axe(self) -> list[str]:
        """What axe-core finds wrong with the page."""
        package = pytest.importorskip(
            "axe_playwright_python", reason="axe-core is not installed"
        )
        source = (Path(package.__file__).parent / "axe.min.js").read_text(
            encoding="utf-8"
        )
        self.js(f"if (!window.axe) {{ {source} }}")
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run(document).then((r) => done(r.violations.map((v) => "
            "v.id + ': ' + v.nodes.slice(0, 3).map((n) => "
            "n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join('; '))), "
            "(e) => done(['axe failed: ' + e]))"
        )
        return list(found)


class Viewer:
    """A server of a folder, in a thread of this process."""

    def __init__(self, root: Path, app: Any | None = None) -> None:
        from assay.view.view_server import ViewerServer, bind, make_app

        self.app = app or make_app(root)
        listener = bind(0)
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        listening = threading.Event()
        self._server = ViewerServer(self.app, listening.set)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._thread.start()
        assert listening.wait(LONGEST)

    def link(self) -> str:
        """A link with a fresh token."""
        return f"{self.address}/#token={self.app.new_token()}"

    def close(self) -> None:
        """Ends the server."""
        self._server.should_exit = True
        self._thread.join(10)


@contextlib.contextmanager
def file_host(folder: Path) -> Iterator[str]:
    """Any file host: no ranges, no code."""
    import functools
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

    host = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=host.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{host.server_address[1]}"
    finally:
        host.shutdown()
        host.server_close()


needs_browser: Callable[[Any], Any] = pytest.mark.skipif(
    bool(skip_reason()), reason=skip_reason()
)
