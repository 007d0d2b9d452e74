"""The driver of ONNX Runtime Web in headless Chromium. Usage: run_browser.py FOLDER CASES RESULTS < lines of cases.txt

FOLDER/node_modules has onnxruntime-web. A server here gives the page its files and takes the results.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".cjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html"}


def main(folder, cases, results):
    package, cases, results = Path(folder) / "node_modules/onnxruntime-web", Path(cases), Path(results)
    version = json.loads((package / "package.json").read_text())["version"]
    todo, done = sys.stdin.read(), threading.Event()
    roots = {"ort": package / "dist", "cases": cases, "page": HERE}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def answer(self, data, kind="application/octet-stream", code=200):
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            _, root, *rest = self.path.split("?")[0].split("/")
            if root == "todo":
                return self.answer(todo.encode())
            path = roots.get(root, HERE) / "/".join(rest)
            if not path.is_file():
                return self.answer(b"", code=404)
            self.answer(path.read_bytes(), TYPES.get(path.suffix, "application/octet-stream"))

        def do_POST(self):
            data = self.rfile.read(int(self.headers["Content-Length"]))
            name = self.path.removeprefix("/")
            if name == "start":
                (results / "version").write_text(f"ONNX Runtime Web {version} (Chromium {data.decode()})")
            elif name == "done":
                done.set()
            elif "/" not in name:
                (results / name).write_bytes(data)
            self.answer(b"")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "chromium")
    with tempfile.TemporaryDirectory() as profile:
        browser = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             f"http://127.0.0.1:{server.server_port}/page/browser.html"])  # fmt: skip
        while not done.wait(1) and browser.poll() is None:
            pass
        browser.terminate()
        browser.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
