"""A headless Chromium, driven through a pipe by its DevTools protocol; nothing but the browser is needed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: The script of axe-core, from the package that carries it; None if there is none.
_SPEC = importlib.util.find_spec("axe_playwright_python")
AXE = None if _SPEC is None or _SPEC.origin is None else Path(_SPEC.origin).with_name("axe.min.js")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-pipe --window-size=1000,700"
).split()


class Browser:
    """A page of a browser: open addresses, run scripts in it, press keys, move the mouse."""

    def __init__(self) -> None:
        assert PATH is not None
        self._folder = tempfile.mkdtemp()
        to_child, self._to = os.pipe()
        self._from, write_end = os.pipe()
        self._number, self._session = 0, ""

        def attach() -> None:
            # Chromium reads commands from descriptor 3, and writes answers to descriptor 4
            command, answer = os.dup(to_child), os.dup(write_end)
            os.dup2(command, 3)
            os.dup2(answer, 4)

        command = [PATH, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(
            command, preexec_fn=attach, close_fds=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_child)
        os.close(write_end)
        self._data = b""
        self.events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer.get("result", {})
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._data:
            block = os.read(self._from, 1 << 16)
            assert block, "the browser has ended"
            self._data += block
        line, _, self._data = self._data.partition(b"\0")
        return json.loads(line)

    def open(self, address: str) -> None:
        """Open an address, and wait until the page is complete."""
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """Return the value of a script of the page; promises are awaited."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, condition: str, seconds: float = 20) -> None:
        """Wait until a script is true."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.02)

    def dark(self, scheme: str = "dark") -> None:
        """Prefer dark colours from now on, or those of another scheme."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the page: its impact and rule, with the first element."""
        assert AXE is not None
        self.run(AXE.read_text("utf-8") + ";0")
        found = self.run("axe.run({ resultTypes: ['violations'] }).then(result => result.violations)")
        return [f"{each['impact']} {each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self._call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key."""
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def move(self, x: float, y: float) -> None:
        """Move the mouse."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: Path) -> None:
        """Save what the window shows as a PNG."""
        import base64

        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        return [
            event["params"]["request"]["url"] for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]  # fmt: skip
