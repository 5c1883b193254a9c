"""What processes do that no command does alone: `python -m torture.writers DEED ...`. They say what they do in lines.

A line `may` is said before something is asked of the store, a line `is` once it was acknowledged.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import count
from random import Random

from commonplace import config
from commonplace.errors import CommonplaceError, StoreUnavailable
from commonplace.memory import streamed_memories
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope

WORDS = "amber basin cedar delta ember fjord grove haven inlet jetty knoll ledge marsh north orbit prism".split()
START_WAIT = 120


def text_of(random: Random, who: str, number: int) -> str:
    """A sentence that begins with a word of its own; now and then one that is cut into passages."""
    content = " ".join(random.choices(WORDS, k=random.choice((5, 12, 30, 800))))
    return f"w{who}x{number} {content} w{who}x{number}."


def say(**printed: object) -> None:
    sys.stdout.write(json.dumps(printed) + "\n")
    sys.stdout.flush()


def write(memory: LocalMemory, who: str, most: str = "0", seed: str = "0") -> None:
    """Remember, edit and forget for ever, or so many times; a server that is away is asked again."""
    random, mine = Random(f"{who}{seed}"), list[str]()
    # Done again, it says other things: what is there already cannot be said by another item.
    who = f"{who}p{os.getpid()}"
    for number in count(1):
        if int(most) and number > int(most):
            return
        try:
            _turn(memory, random, mine, who, number)
        except StoreUnavailable:
            say(unavailable=number)


def _turn(memory: LocalMemory, random: Random, mine: list[str], who: str, number: int) -> None:
    writer = random.choice(("add", "add", "add", "edit", "forget")) if mine else "add"
    text = text_of(random, who, number)
    if writer == "add":
        stored = remember(memory, NewItem(text, project=f"p{number % 3}", session=who, tags=("torture",)))
        mine.append(stored.uid)
        say(**{"is": stored.uid}, state=text)
    elif writer == "edit":
        uid = random.choice(mine)
        say(may=uid, state=text)
        edit_item(memory, uid, Changes(content=text))
        say(**{"is": uid}, state=text)
    else:
        uid = mine.pop(random.randrange(len(mine)))
        say(may=uid, state=None)
        forget_items(memory, [uid])
        say(**{"is": uid}, state=None)


def read(memory: LocalMemory, _who: str) -> None:
    """Read for ever, and find nothing that contradicts itself."""
    for number in count(1):
        items = memory.store.newest(Scope(project=f"p{number % 3}"), 200)
        assert all(item.project == f"p{number % 3}" and item.forgotten_ms is None for item in items), items
        assert set(memory.store.get([item.id for item in items])) == {item.id for item in items}
        counts = memory.store.counts()
        assert sum(counts.items.values()) <= counts.passages, counts
        say(read=number)


def embed(memory: LocalMemory) -> None:
    """Make every vector that waits."""
    say(embedded=memory.embeddings.catch_up())


def finalize(memory: LocalMemory, stream_id: str) -> None:
    """Make a memory of a stream."""
    _stream, made = streamed_memories.finalize_stream(memory, stream_id)
    say(finalized=made.item.uid)


def start_many(size: str) -> None:
    """So many processes, all loaded, that open one missing store and write to it at the same moment."""
    settings = config.load()
    waiting, go = os.pipe()
    children = []
    for number in range(int(size)):
        if not (child := os.fork()):
            os.close(go)
            os.read(waiting, 1)
            os._exit(_start_at_once(settings, number))
        children.append(child)
    os.close(go)
    failed = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    say(failed=failed)


def _start_at_once(settings: config.Settings, number: int) -> int:
    try:
        memory = open_memory(settings)
        text = f"wcrowd{os.getpid()} {number} started at once."
        uid = remember(memory, NewItem(text)).uid
        # One line, so that those of others do not get into it.
        os.write(1, (json.dumps({"is": uid, "state": text}) + "\n").encode())
        memory.close()
    except BaseException as error:  # noqa: BLE001 - told to whoever counts
        os.write(1, (json.dumps({"refused": repr(error)}) + "\n").encode())
        return 1
    return 0


WRITERS: dict[str, Callable[..., None]] = {
    "write": write,
    "read": read,
    "embed": embed,
    "finalize": finalize,
}


def main(arguments: Sequence[str]) -> None:
    writer, *rest = arguments
    if writer == "crowd":
        start_many(*rest)
        return
    memory = open_memory(config.load())
    try:
        WRITERS[writer](memory, *rest)
    finally:
        memory.close()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CommonplaceError as error:
        # As commands do: what is refused in words is no crash.
        say(refused=error.code)
        sys.exit(error.exit_code)
