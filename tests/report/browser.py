"""A real headless Chromium, driven over the DevTools protocol through a pipe; the standard library is enough."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALL = "no Chromium on PATH; install one: apt-get install -y --no-install-recommends chromium"


def find_browser() -> str | None:
    """The first Chromium on PATH."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab.

    Attributes:
        complaints: errors and warnings of the console, uncaught exceptions, and blocked or failed requests.
        requests: the addresses that were asked for, `data:` ones left out.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, session=self._session, **parameters)

    def open(self, path: Path, *, width: int = 1280, height: int = 900, mobile: bool = False) -> None:
        """Open a file from disk in a window of that size, and wait until it has loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call("Page.navigate", url=path.absolute().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; an exception in it fails the test."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def wait_for_complaint(self, words: str, seconds: float = 20.0) -> None:
        """Wait until the console has complained in such words."""
        end = time.monotonic() + seconds
        while not any(words in complaint for complaint in self.complaints):
            assert time.monotonic() < end, self.complaints
            self.evaluate("new Promise((done) => setTimeout(done, 20))")

    def media(self, kind: str = "", **features: str) -> None:
        """Emulate a medium ("print") and its features (`prefers_color_scheme="dark"`)."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=kind, features=named)

    def press(self, key: str, *, text: str = "", shift: bool = False) -> None:
        """Press a key, as a person would."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "Delete": 46}.get(key, 0)
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def allow(self, *permissions: str) -> None:
        """Grant the page what a browser would ask its user for."""
        self._browser.call("Browser.grantPermissions", permissions=list(permissions))

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one of the tab's events."""
        method, found = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(found["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(found["args"]))
        elif method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            self.complaints.append(found["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not found["request"]["url"].startswith("data:"):
            self.requests.append(found["request"]["url"])


class Browser:
    """The process, and the pipe to it."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._number = 0
        self._buffer = b""
        self._pages: dict[str, Page] = {}

    def new_page(self) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        # Events come as soon as they are enabled, so the tab must be known before.
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            page = self._pages.get(answer.get("sessionId", ""))
            if page is not None and "method" in answer:
                page.hear(answer)

    def _receive(self, seconds: float = 60.0) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select([self._read], [], [], seconds)
            assert ready, "the browser does not answer"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser has gone"
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start the browser with a profile of its own; stop it at the end."""
    program = find_browser()
    assert program is not None, INSTALL
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    # Containers and root have no sandbox to give; the pages are our own.
    options = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions",
               "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
               "--disable-dev-shm-usage", "--no-sandbox", f"--user-data-dir={profile}"]  # fmt: skip
    # The protocol wants the pipe's ends as descriptors 3 and 4.
    script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["bash", "-c", script, "browser", program, *options, "about:blank"],
        pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(to_us, from_us)
    finally:
        process.kill()
        process.wait(timeout=20)
        os.close(from_us)
        os.close(to_us)
