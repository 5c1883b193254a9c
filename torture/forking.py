"""A process whose threads write while it forks; its children write too: `python -m torture.forking NAME`."""

from __future__ import annotations

import os
import sys
import threading

from commonplace import config
from commonplace.memory.book import Book, open_book
from commonplace.memory.remember import Note, remember

CHILDREN, THREADS, TEXTS = 5, 3, 8


def _told(book: Book, text: str) -> None:
    uid = remember(book, Note(text)).uid
    # One write for one line: children share this pipe.
    os.write(1, f'{{"is": "{uid}", "state": "{text}"}}\n'.encode())


def main(name: str) -> int:
    book, stop = open_book(config.load()), threading.Event()

    def write(thread: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            _told(book, f"w{name}t{thread}x{number} of a thread.")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    failed = 0
    for child in range(CHILDREN):
        pid = os.fork()
        if not pid:
            for number in range(TEXTS):
                _told(book, f"w{name}c{child}x{number} of a child.")
            os._exit(0)
        failed += os.waitpid(pid, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    book.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
