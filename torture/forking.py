"""A process whose threads write while it forks; its children write too: `python -m torture.forking NAME`."""

from __future__ import annotations

import os
import sys
import threading

from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember

CHILDREN, THREADS, TEXTS = 5, 3, 8


def _report_line(memory: LocalMemory, text: str) -> None:
    uid = remember(memory, NewItem(text)).uid
    # One write for one line: children share this pipe.
    os.write(1, f'{{"is": "{uid}", "state": "{text}"}}\n'.encode())


def main(name: str) -> int:
    memory, stop = open_memory(config.load()), threading.Event()

    def write(thread: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            _report_line(memory, f"w{name}t{thread}x{number} of a thread.")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    failed = 0
    for child in range(CHILDREN):
        pid = os.fork()
        if not pid:
            for number in range(TEXTS):
                _report_line(memory, f"w{name}c{child}x{number} of a child.")
            os._exit(0)
        failed += os.waitpid(pid, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    memory.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
