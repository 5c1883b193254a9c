"""The tree in which ChatGPT keeps a conversation, walked so that each branch follows the message it starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.capture.foreign import object_in, seconds_in

Tree = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """A node on the walk. `branch` is 0 on the way to where the conversation stands now, else the branch's number."""

    key: str
    node: Mapping[str, Any]
    parent: str
    branch: int


def walk(mapping: Mapping[str, Any], current: object) -> Iterator[Place]:
    """Every node once, parents first: the branches that were left, oldest first, before the one that went on."""
    tree = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents = _parents(tree)
    children: dict[str, list[str]] = {}
    for key, parent in parents.items():
        children.setdefault(parent, []).append(key)
    main = _main_line(parents, children, current if isinstance(current, str) else "")
    times = {key: seconds_in(object_in(node, "message"), "create_time") or 0 for key, node in tree.items()}
    branches = 0
    seen: set[str] = set()
    # Nodes that only lead to each other in a circle have no root: each is tried last, as a root of its own.
    waiting = [(key, 0) for key in [*reversed(tree), *reversed(children.get("", []))]]
    while waiting:
        key, branch = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        if key not in main and not branch:
            branches += 1
            branch = branches
        yield Place(key, tree[key], parents[key], branch)
        ordered = sorted(children.get(key, []), key=lambda child: (child in main, times[child]))
        # Within a branch the last answer goes on with its number; those before it are branches of their own.
        waiting += [(child, branch if child == ordered[-1] else 0) for child in reversed(ordered)]


def _parents(tree: Tree) -> dict[str, str]:
    """The parent of every node, by its own word or by that of the node that lists it; empty for a root."""
    listed: dict[str, str] = {}
    for key, node in tree.items():
        children = node.get("children")
        listed |= {child: key for child in (children if isinstance(children, list) else ()) if isinstance(child, str)}
    parents = {}
    for key, node in tree.items():
        named = node.get("parent")
        parent = named if isinstance(named, str) and named in tree else listed.get(key, "")
        parents[key] = "" if parent == key else parent
    return parents


def _main_line(parents: Mapping[str, str], children: Mapping[str, list[str]], current: str) -> set[str]:
    """The nodes from the root to where the conversation stands; without a word on that, to the last answer."""
    if current not in parents:
        current, line = "", {""}
        while (ahead := children.get(current)) and ahead[-1] not in line:
            current = ahead[-1]
            line.add(current)
    line = set()
    while current and current not in line:
        line.add(current)
        current = parents[current]
    return line
