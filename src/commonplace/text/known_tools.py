"""Programs that developers run: which take packages, images, services or tasks, which files they own, which can do what
another does. Data for `command_actions.py` and `rule_statements.py`.
"""

from __future__ import annotations

import re

from commonplace.text.tokens import fold, stem
from commonplace.text.tool_families import FAMILIES

# What each program is asked to do with packages, by the words that follow it.
INSTALLING = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("add", "install", "i", "dlx")),
    **dict.fromkeys(("pip", "pip3", "pipx", "gem", "brew", "apt", "apt-get", "dnf", "yum", "snap"), ("install",)),
    **dict.fromkeys(("poetry", "pdm", "uv", "rye", "hatch"), ("add", "pip install", "tool install")),
    **dict.fromkeys(("pipenv", "conda", "mamba", "choco", "winget", "vcpkg"), ("install", "add")),
    "cargo": ("add", "install"),
    "go": ("get", "install"),
    "bundle": ("add",),
    "composer": ("require",),
    "apk": ("add",),
    "dotnet": ("add package", "tool install"),
    "helm": ("install", "upgrade"),
    "deno": ("add", "install"),
    "flutter": ("pub add",),
    "dart": ("pub add",),
}
# Programs that run a package by its name.
RUNNERS = frozenset("npx bunx uvx pipx".split())
CONTAINERS = frozenset("docker podman nerdctl".split())
# The words after which an image is named, and after which services are.
IMAGE_WORDS, SERVICE_WORDS = frozenset("pull run create push".split()), frozenset("up run start restart exec".split())
# Programs whose arguments are tasks.
TASK_RUNNERS = frozenset("make just task rake invoke inv nox mage gradle gradlew mvn mvnw ant bazel".split())
SCRIPT_RUNNERS = frozenset("npm pnpm yarn bun deno composer poetry pdm rye hatch cargo".split())
# Of these, those that run the programs of packages by their bare names.
PROGRAM_RUNNERS = frozenset(("pnpm", "yarn", "bun"))
# Programs that act on services and machines: every word that is no option names one, or what is done.
CONTROLLERS = frozenset(
    "aws gcloud az kubectl oc helm heroku fly flyctl vercel netlify doctl hcloud terraform tofu pulumi systemctl"
    " service supervisorctl pm2 gh glab nomad consul vault eksctl firebase supabase wrangler railway cdk sam".split()
)
# Programs that call another machine, or a database there.
CALLERS = frozenset("ssh scp sftp rsync psql mysql mongosh mongo redis-cli curl wget http nc ping telnet".split())
# Programs that run a script.
INTERPRETERS = frozenset("python python3 node deno ruby perl bash sh zsh php tsx ts-node Rscript".split())
# What changes or removes the files that it is given.
WRITERS = frozenset("rm mv cp touch tee truncate install ln chmod chown shred unlink rmdir dd".split())
# What a program is also called, and what belongs to it: other programs, and the files that only it writes.
BELONGING = {
    "npm": ("npx", "package-lock.json", "npm-shrinkwrap.json"),
    "yarn": ("yarn.lock", ".yarnrc", ".yarnrc.yml"),
    "pnpm": ("pnpx", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
    "bun": ("bunx", "bun.lockb", "bun.lock"),
    "pip": ("pip3",),
    "pipenv": ("Pipfile", "Pipfile.lock"),
    "poetry": ("poetry.lock",),
    "uv": ("uvx", "uv.lock"),
    "conda": ("environment.yml",),
    "docker": ("Dockerfile", "dockerfile", ".dockerignore"),
    "heroku": ("Procfile",),
    "vercel": ("vercel.json",),
    "netlify": ("netlify.toml",),
    "jest": ("jest.config.js", "jest.config.ts"),
    "tailwind": ("tailwind.config.js", "tailwind.config.ts"),
    "webpack": ("webpack.config.js", "webpack.config.ts"),
    "eslint": (".eslintrc", ".eslintrc.js", ".eslintrc.json", "eslint.config.js"),
    "travis": (".travis.yml",),
    "jenkins": ("Jenkinsfile",),
    "gradle": ("build.gradle", "build.gradle.kts"),
    "maven": ("mvn", "mvnw", "pom.xml"),
    "flask": ("flask",),
    "make": ("Makefile",),
}
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
_KINDS = frozenset().union(*(FAMILIES.get(stem(fold(name)), frozenset()) for name in _CHOSEN_ONCE.split()))


def are_alternatives(one: str, other: str) -> bool:
    """Whether one tool can do what the other does."""
    kinds = [FAMILIES.get(stem(fold(SAME_NAME.get(name, name))), frozenset()) for name in (one, other)]
    return bool(kinds[0] & kinds[1] & _KINDS) and not is_about(one, other)


def is_known_tool(name: str) -> bool:
    """Whether it is the name of a program or product that is known here."""
    folded = fold(name)
    return folded in _PROGRAMS or folded in SAME_NAME or bool(FAMILIES.get(stem(folded), frozenset()) & _KINDS)


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
