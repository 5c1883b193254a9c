"""Programs that developers run: which take packages, images, services or tasks, which files they own, which can do what
another does. Data for `command_actions.py` and `rule_statements.py`.
"""

from __future__ import annotations

import re
from functools import cache

from commonplace.text.tokens import fold, stem
from commonplace.text.word_lists import word_lines, word_map

# What each program is asked to do with packages, by the words that follow it.
INSTALLING = {name: tuple(words.split(", ")) for name, words in word_map("installing").items()}
_PROGRAMS_BY_KIND = {kind: frozenset(names.split()) for kind, names in word_map("programs").items()}
RUNNERS, CONTAINERS = _PROGRAMS_BY_KIND["runners"], _PROGRAMS_BY_KIND["containers"]
IMAGE_WORDS, SERVICE_WORDS = _PROGRAMS_BY_KIND["image_words"], _PROGRAMS_BY_KIND["service_words"]
PROGRAM_RUNNERS = _PROGRAMS_BY_KIND["program_runners"]
TASK_RUNNERS, SCRIPT_RUNNERS = _PROGRAMS_BY_KIND["task_runners"], _PROGRAMS_BY_KIND["script_runners"]
CONTROLLERS, CALLERS = _PROGRAMS_BY_KIND["controllers"], _PROGRAMS_BY_KIND["callers"]
INTERPRETERS, WRITERS = _PROGRAMS_BY_KIND["interpreters"], _PROGRAMS_BY_KIND["writers"]
BELONGING = {name: tuple(others.split()) for name, others in word_map("belonging").items()}
# Files that list what a project depends on, or runs on.
MANIFEST = re.compile(
    r"(?:package\.json|requirements[\w.-]*\.(?:txt|in)|pyproject\.toml|Pipfile|setup\.(?:py|cfg)|Cargo\.toml|go\.mod"
    r"|Gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|libs\.versions\.toml|pubspec\.yaml|mix\.exs|deno\.jsonc?"
    r"|environment\.ya?ml|(?:[\w.-]+\.)?[Dd]ockerfile(?:\.[\w-]+)?|(?:docker-)?compose[\w.-]*\.ya?ml|[\w.-]+\.csproj)"
)
# Other names of the same thing; and what is only of use with a thing: its clients and libraries.
_SAME = (
    ("postgresql", "postgres"),
    ("mongodb", "mongo"),
    ("kubernetes", "k8s"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("elasticsearch", "elastic"),
    ("ripgrep", "rg"),
    ("golang", "go"),
    ("production", "prod", "live"),
    ("staging", "stage", "preprod"),
    ("development", "dev", "local", "localhost"),
)
_CLIENTS = {
    "postgresql": "psql psycopg psycopg2 asyncpg pg pg8000",
    "mongodb": "mongosh mongoose pymongo motor",
    "mysql": "pymysql mysqlclient mysql2 aiomysql",
    "kubernetes": "kubectl helm kustomize minikube",
    "redis": "ioredis aioredis",
    "kafka": "kafkajs aiokafka",
    "rabbitmq": "pika amqplib aio-pika",
}
SAME_NAME = {name: group[0] for group in _SAME for name in group}
_THING = {client: thing for thing, clients in _CLIENTS.items() for client in clients.split()}
ENVIRONMENTS = frozenset(("production", "staging", "development", "test", "testing", "qa", "sandbox"))
# Verbs that do the same to something.
_SAME_DEED = (
    "delete remove rm rmi destroy drop erase purge rb rmdir unlink uninstall prune",
    "deploy ship rollout",
    "publish release",
    "restart reboot bounce",
    "install add",
    "start launch boot up",
    "stop halt kill shutdown down disable",
    "create provision",
)
SAME_DEED = {stem(word): stem(group.split()[0]) for group in _SAME_DEED for word in group.split()}
# What programs are told to do with a thing that they then do not use: it is removed, stopped or only looked at.
LEAVING = frozenset(SAME_DEED[stem(word)] for word in ("delete", "stop")) | frozenset(
    map(
        stem,
        "list ls show view info why logs log ps top inspect describe get status search outdated audit diff grep blame"
        " history events explain tree freeze".split(),
    )
)
# Options of programs by their short and long names, and what they say in words.
OPTIONS = {
    ("git", "push", "-f"): "--force",
    ("git", "push", "--force-with-lease"): "--force",
    ("git", "push", "--force-if-includes"): "--force",
    ("git", "push", "--mirror"): "--force",
    ("git", "push", "-d"): "--delete",
    ("git", "commit", "-n"): "--no-verify",
    ("git", "branch", "-D"): "--delete",
    ("git", "branch", "-d"): "--delete",
    ("npm", "install", "-g"): "--global",
    ("npm", "i", "-g"): "--global",
}
# Kinds of tools of which one is chosen: where one is wanted, another of its kind is not. Each is named by a member.
_CHOSEN_ONCE = (
    "npm pip jest pytest playwright webpack black eslint terraform podman postgres mongodb redis kafka elasticsearch"
    " alembic redux celery mercurial prettier"
)


@cache
def _families() -> dict[str, frozenset[int]]:
    """The stem of each tool, with the numbers of the kinds that it belongs to."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(word_lines("tool_families")):
        for name in line.split():
            found.setdefault(stem(fold(name)), set()).add(number)
    return {name: frozenset(numbers) for name, numbers in found.items()}


@cache
def _kinds_chosen_once() -> frozenset[int]:
    return frozenset[int]().union(*(_kinds_of(fold(name)) for name in _CHOSEN_ONCE.split()))


def _kinds_of(name: str) -> frozenset[int]:
    return _families().get(stem(name), frozenset())


def are_alternatives(one: str, other: str) -> bool:
    """Whether one tool can do what the other does."""
    shared = _kinds_of(fold(SAME_NAME.get(one, one))) & _kinds_of(fold(SAME_NAME.get(other, other)))
    return bool(shared & _kinds_chosen_once()) and not is_about(one, other)


def is_known_tool(name: str) -> bool:
    """Whether it is the name of a program or product that is known here."""
    folded = fold(name)
    return folded in _PROGRAMS or folded in SAME_NAME or bool(_kinds_of(folded) & _kinds_chosen_once())


def is_program(name: str) -> bool:
    """Whether it is a program that is told what to do by the words after it."""
    return name in _PROGRAMS


_PROGRAMS = frozenset(INSTALLING) | RUNNERS | CONTAINERS | TASK_RUNNERS | CONTROLLERS | CALLERS | {"git", "hg", "svn"}
_BEFORE = ("python-", "py-", "py", "node-", "react-native-", "react-", "django-", "flask-", "go-", "ruby-", "rb-")
_AFTER = ("-client", "-cli", "-server", "-py", "-python", "-js", ".js", "js", "db", "-sdk", "_sdk", "css", "-go", "-rb")
_SHORTEST_CORE = 4


def core_name(name: str) -> str:
    """The thing that a name is about, without what says for which language or in which form: `pymongo` is MongoDB."""
    found = SAME_NAME.get(name, _THING.get(name, name))
    for start in _BEFORE:
        if found.startswith(start) and len(found) - len(start) >= _SHORTEST_CORE:
            found = found[len(start) :]
            break
    for end in _AFTER:
        if found.endswith(end) and len(found) - len(end) >= _SHORTEST_CORE and found not in SAME_NAME:
            found = found[: -len(end)]
            break
    return SAME_NAME.get(found, _THING.get(found, found))


def is_about(word: str, name: str) -> bool:
    """Whether a name is of the thing that a word means: `redis-cli` is of Redis, not the other way round."""
    word = word.removesuffix(".js")
    return word == name or SAME_NAME.get(word, word) in (SAME_NAME.get(name, name), core_name(name))
