"""Concepts: what an observation is about in a few words, told from names of files, commands and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

MOST = 5
_READ = 4000

Rules = Mapping[str, Sequence[str]]

# Names along a path: of folders, of files without what follows their first dot, and of parts between - _ and dots.
_NAMES: Rules = {
    "testing": ("tests?", "specs?", "__tests__", "e2e", "conftest", "fixtures?"),
    "documentation": ("docs?", "readme", "changelog", "license", "contributing"),
    "security": (
        r"auth(?:n|z|enti\w+|ori[sz]\w+)?",
        "login",
        r"oauth\w*",
        "jwt",
        "permissions?",
        r"crypto\w*",
        r"security\w*",
        "csrf",
    ),
    "api": ("api", "routes?", "router", "controllers?", "endpoints?", "handlers?", "graphql", "openapi", "rest"),
    "database": ("migrations?", "models?", "schema", "db", "database", "prisma", r"repositor(?:y|ies)", "sql"),
    "ui-component": ("components?", "views?", "pages?", "screens?", "widgets?"),
    "middleware": (r"middlewares?",),
    "hooks": ("hooks?",),
    "devops": (r"\.github", r"\.gitlab", r"\.circleci", "k8s", "helm", "terraform", "ansible", r"deploy\w*"),
    "build": ("makefile", "cmakelists", "justfile", "webpack", "rollup", "vite", "esbuild"),
    "configuration": ("config", "settings", r"\.env", "tsconfig", "pyproject"),
    "types": ("types?", "interfaces?"),
    "cli": ("cli", "bin", "cmd", "commands?"),
}
_NAMES_WHOLE: Rules = {
    "dependencies": (
        *(r"package(?:-lock)?\.json", r"pnpm-lock\.yaml", r"yarn\.lock", r"requirements[^/]*\.txt", r"pyproject\.toml"),
        *(r"uv\.lock", r"poetry\.lock", r"cargo\.(?:toml|lock)", r"go\.(?:mod|sum)", "gemfile.*", r"pom\.xml"),
    ),
    "devops": (r"dockerfile.*", r"(?:docker-)?compose\.ya?ml", r"\.gitlab-ci\.yml"),
    "hooks": (r"(?-i:use[A-Z]\w+)\.\w+",),
}
_ENDINGS: Rules = {
    "documentation": ("md", "mdx", "rst", "adoc"),
    "database": ("sql", "prisma"),
    "ui-component": ("tsx", "jsx", "vue", "svelte"),
    "styling": ("css", "scss", "sass", "less"),
    "devops": ("tf",),
    "configuration": ("toml", "ya?ml", "ini", "cfg", "conf", "properties"),
    "types": (r"d\.ts", "pyi"),
    "scripts": ("sh", "bash", "zsh", "ps1", "bat"),
    "data": ("csv", "parquet", "jsonl", "ipynb"),
}
# Of command lines, programs with or without what they are to do.
_MANAGERS = r"(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo|gem|bundle|composer|brew|apt(?:-get)?)"
_RUNNERS = r"(?:go|cargo|npm|pnpm|yarn|bun|make|mvnw?|gradlew?|dotnet|mix|deno)(?: run)?"
_PROGRAMS: Rules = {
    "testing": (
        "pytest",
        "jest",
        "vitest",
        "mocha",
        "tox",
        "nox",
        "rspec",
        "phpunit",
        "playwright",
        rf"{_RUNNERS} tests?",
    ),
    "git": ("git", "gh", "glab", "jj"),
    "code-quality": (
        *("ruff", "eslint", "prettier", "mypy", "pyright", "black", "flake8", "clippy", "rustfmt", "gofmt", "biome"),
        *("tsc", "pylint", "stylelint", "golangci-lint", "shellcheck", r"run (?:lint|format|typecheck)"),
    ),
    "dependencies": (rf"{_MANAGERS} (?:\w+ )?(?:install|add|i|ci|sync|remove|uninstall|update|upgrade|lock)",),
    "build": (
        *("make", "cmake", "ninja", "webpack", "vite", "esbuild", "bazel", "gradlew?", "mvnw?"),
        rf"{_RUNNERS} build",
    ),
    "devops": (
        *(
            "docker",
            "docker-compose",
            "podman",
            "kubectl",
            "helm",
            "terraform",
            "ansible",
            "systemctl",
            "aws",
            "gcloud",
        ),
        *("flyctl", "vercel", "heroku"),
    ),
    "database": ("psql", "mysql", "sqlite3", "mongosh?", "redis-cli", "alembic", "prisma", "pg_dump", "migrate"),
    "networking": ("curl", "wget", "ssh", "scp", "ping", "nslookup", "dig", "traceroute"),
    "debugging": ("gdb", "lldb", "strace", "pdb", "dlv", "journalctl", "dmesg"),
    "performance": ("hyperfine", "perf", "py-spy", "cprofile", "wrk", "k6", "locust", "lighthouse"),
    "search": ("grep", "rg", "ag", "fd", "find"),
}
# Of code and of what was said, what gives it away.
_SAID: Rules = {
    "error-handling": (r"try\s*[:{]", r"except\b", r"catch\s*\(", r"raise\s+\w+", "throw new", r"Result<"),
    "security": (
        "jwt",
        r"oauth\w*",
        "csrf",
        "cors",
        "bcrypt",
        "passwords?",
        r"authenti\w+",
        r"authori[sz]\w+",
        r"encrypt\w*",
    ),
    "database": (r"(?:INSERT INTO|(?:CREATE|ALTER) (?:TABLE|INDEX))", "sqlite", r"postgres\w*", "mysql", "redis"),
    "api": ("endpoints?", "graphql", "grpc", "openapi", r"(?:app|router)\.(?:get|post|put|delete)", r"fetch\("),
    "performance": (
        r"cach(?:e[ds]?|ing)\b",
        "latency",
        "throughput",
        "slow(?:er)?\b",
        r"profil(?:ed|ing)",
        r"optimi[sz]\w+",
    ),
    "concurrency": (
        "async def",
        "asyncio",
        "mutex",
        "deadlock",
        "race condition",
        "threading",
        "goroutines?",
        "semaphore",
    ),
    "testing": ("def test_", r"describe\(", r"expect\(", "assert", "pytest", "unit tests?", "test suite"),
    "debugging": (
        "traceback",
        "stack ?trace",
        "breakpoint",
        "segfault",
        r"console\.log",
        "root cause",
        r"bugs?\b",
        "debug",
    ),
    "tech-debt": ("TODO", "FIXME", "deprecated"),
    "logging": (r"logg(?:er|ing)", r"log\.(?:info|warn|error|debug)"),
    "refactoring": (r"refactor\w*", r"rename[ds]?\b"),
    "deployment": (r"deploy(?:s|ed|ment)?\b", "rollback", "staging"),
}


def _compiled(rules: Rules, before: str, after: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(f"{before}(?:{'|'.join(found)}){after}", re.IGNORECASE)) for name, found in rules.items()
    )


_OF_PATHS = (
    *_compiled(_NAMES_WHOLE, r"(?:^|/)", "$"),
    *_compiled(_NAMES, r"(?:^|[/_.-])", r"(?=[/_.-]|$)"),
    *_compiled(_ENDINGS, r"\.", "$"),
)
_OF_COMMANDS = _compiled(_PROGRAMS, r"(?:^|[\s;&|(/])", r"(?=$|[\s;&|)])")
_OF_WORDS = _compiled(_SAID, r"\b", "")


def find_concepts(files: Iterable[str] = (), command: str = "", text: str = "") -> str:
    """At most five, as they are listed: what the files are first, then the command, then what is said or written."""
    found: dict[str, None] = {}
    for file in list(files)[:MOST]:
        path = file.replace("\\", "/")
        found |= dict.fromkeys(name for name, rule in _OF_PATHS if rule.search(path))
    for rules, told in ((_OF_COMMANDS, command[:_READ]), (_OF_WORDS, text[:_READ])):
        if told and len(found) < MOST:
            found |= dict.fromkeys(name for name, rule in rules if rule.search(told))
    return ", ".join(list(found)[:MOST])
