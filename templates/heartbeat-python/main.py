"""Logs a heartbeat every few seconds until it is asked to stop."""

import os
import platform
import signal
import threading
import time

stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda _signal, _frame: stopping.set())


def interval() -> float:
    try:
        return max(0.1, float(os.environ.get("INTERVAL_SECONDS") or 5))
    except ValueError:
        return 5


def main() -> None:
    started = time.monotonic()
    seconds = interval()
    print(f"Hello from Python {platform.python_version()}. A heartbeat every {seconds:g} s.", flush=True)
    beats = 0
    while not stopping.wait(seconds):
        beats += 1
        print(f"heartbeat {beats}, up for {time.monotonic() - started:.0f} s", flush=True)
    print("Asked to stop. Goodbye.", flush=True)


if __name__ == "__main__":
    main()
