"""Start a server with OpenAI's interface, ask it whole and in a stream, and end it. Arguments: OUT PORT COMMAND…"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

out, port, *command = sys.argv[1:]
home = f"http://127.0.0.1:{port}/v1"


def ask(text: str, stream: bool) -> str:
    asked = {"model": "tiny", "messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0.0}
    body = json.dumps({**asked, "do_sample": False, "stream": stream}).encode()
    request = urllib.request.Request(f"{home}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        if not stream:
            return json.loads(answer.read())["choices"][0]["message"]["content"]
        lines = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for line in lines for choice in json.loads(line)["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


server = subprocess.Popen(command, env={**os.environ, "API_PORT": port}, process_group=0)
try:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{home}/models", timeout=10)
            break
        except (urllib.error.URLError, OSError):
            if server.poll() is not None:
                sys.exit(f"the server ended with {server.returncode}")
            time.sleep(0.5)
    texts = [ask("one plus two?", False), ask("three plus four?", False), ask("one plus two?", True)]
finally:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGINT)
    server.wait(60)
print(texts)
Path(out).write_text(json.dumps({"texts": texts}))
