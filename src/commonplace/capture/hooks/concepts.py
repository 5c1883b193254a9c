"""Concepts: what an observation is about in a few words, by names of files, commands and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MAX_CONCEPTS = 5
_MAX_TEXT = 4000

Rules = Mapping[str, str]
"""A concept by the regular expression that reveals it."""

# Names along a path: of folders, of files up to their first dot, and of their parts between - _ and dots.
_PATH_NAMES: Rules = {
    "testing": "tests?|specs?|__tests__|e2e|conftest|fixtures?",
    "documentation": "docs?|readme|changelog|license|contributing",
    "security": r"auth(?:n|z|enti\w+|ori[sz]\w+)?|login|oauth\w*|jwt|permissions?|crypto\w*|security\w*|csrf",
    "api": "api|routes?|router|controllers?|endpoints?|handlers?|graphql|openapi|rest",
    "database": "migrations?|models?|schema|db|database|prisma|repositor(?:y|ies)|sql",
    "ui-component": "components?|views?|pages?|screens?|widgets?",
    "middleware": "middlewares?",
    "hooks": "hooks?",
    "devops": r"\.github|\.gitlab|\.circleci|k8s|helm|terraform|ansible|deploy\w*",
    "build": "makefile|cmakelists|justfile|webpack|rollup|vite|esbuild",
    "configuration": r"config|settings|\.env|tsconfig|pyproject",
    "types": "types?|interfaces?",
    "cli": "cli|bin|cmd|commands?",
}
_FILE_NAMES: Rules = {
    "dependencies": r"package(?:-lock)?\.json|pnpm-lock\.yaml|yarn\.lock|requirements[^/]*\.txt|pyproject\.toml"
    r"|uv\.lock|poetry\.lock|cargo\.(?:toml|lock)|go\.(?:mod|sum)|gemfile.*|pom\.xml",
    "devops": r"dockerfile.*|(?:docker-)?compose\.ya?ml|\.gitlab-ci\.yml",
    "hooks": r"(?-i:use[A-Z]\w+)\.\w+",
}
_FILE_ENDINGS: Rules = {
    "documentation": "md|mdx|rst|adoc",
    "database": "sql|prisma",
    "ui-component": "tsx|jsx|vue|svelte",
    "styling": "css|scss|sass|less",
    "devops": "tf",
    "configuration": "toml|ya?ml|ini|cfg|conf|properties",
    "types": r"d\.ts|pyi",
    "scripts": "sh|bash|zsh|ps1|bat",
    "data": "csv|parquet|jsonl|ipynb",
}
# Programs in a command line, some with what they do.
_MANAGERS = "(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|cargo|gem|bundle|composer|brew|apt(?:-get)?)"
_RUNNERS = "(?:go|cargo|npm|pnpm|yarn|bun|make|mvnw?|gradlew?|dotnet|mix|deno)(?: run)?"
_PROGRAMS: Rules = {
    "testing": f"pytest|jest|vitest|mocha|tox|nox|rspec|phpunit|playwright|{_RUNNERS} tests?",
    "git": "git|gh|glab|jj",
    "code-quality": "ruff|eslint|prettier|mypy|pyright|black|flake8|clippy|rustfmt|gofmt|biome|tsc|pylint|stylelint"
    "|golangci-lint|shellcheck|run (?:lint|format|typecheck)",
    "dependencies": rf"{_MANAGERS} (?:\w+ )?(?:install|add|i|ci|sync|remove|uninstall|update|upgrade|lock)",
    "build": f"make|cmake|ninja|webpack|vite|esbuild|bazel|gradlew?|mvnw?|{_RUNNERS} build",
    "devops": "docker|docker-compose|podman|kubectl|helm|terraform|ansible|systemctl|aws|gcloud|flyctl|vercel|heroku",
    "database": "psql|mysql|sqlite3|mongosh?|redis-cli|alembic|prisma|pg_dump|migrate",
    "networking": "curl|wget|ssh|scp|ping|nslookup|dig|traceroute",
    "debugging": "gdb|lldb|strace|pdb|dlv|journalctl|dmesg",
    "performance": "hyperfine|perf|py-spy|cprofile|wrk|k6|locust|lighthouse",
    "search": "grep|rg|ag|fd|find",
}
# Phrases in code and in what people and agents write.
_PHRASES: Rules = {
    "error-handling": r"try\s*[:{]|except\b|catch\s*\(|raise\s+\w+|throw new|Result<",
    "security": r"jwt|oauth\w*|csrf|cors|bcrypt|passwords?|authenti\w+|authori[sz]\w+|encrypt\w*",
    "database": r"(?:INSERT INTO|(?:CREATE|ALTER) (?:TABLE|INDEX))|sqlite|postgres\w*|mysql|redis",
    "api": r"endpoints?|graphql|grpc|openapi|(?:app|router)\.(?:get|post|put|delete)|fetch\(",
    "performance": r"cach(?:e[ds]?|ing)\b|latency|throughput|slow(?:er)?\b|profil(?:ed|ing)|optimi[sz]\w+",
    "concurrency": "async def|asyncio|mutex|deadlock|race condition|threading|goroutines?|semaphore",
    "testing": r"def test_|describe\(|expect\(|assert|pytest|unit tests?|test suite",
    "debugging": r"traceback|stack ?trace|breakpoint|segfault|console\.log|root cause|bugs?\b|debug",
    "tech-debt": "TODO|FIXME|deprecated",
    "logging": r"logg(?:er|ing)|log\.(?:info|warn|error|debug)",
    "refactoring": r"refactor\w*|rename[ds]?\b",
    "deployment": r"deploy(?:s|ed|ment)?\b|rollback|staging",
}


def _compile(rules: Rules, before: str, after: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(f"{before}(?:{rule}){after}", re.IGNORECASE)) for name, rule in rules.items())


_IN_PATHS = (
    *_compile(_FILE_NAMES, r"(?:^|/)", "$"),
    *_compile(_PATH_NAMES, r"(?:^|[/_.-])", r"(?=[/_.-]|$)"),
    *_compile(_FILE_ENDINGS, r"\.", "$"),
)
_IN_COMMANDS = _compile(_PROGRAMS, r"(?:^|[\s;&|(/])", r"(?=$|[\s;&|)])")
_IN_TEXTS = _compile(_PHRASES, r"\b", "")


def find_concepts(files: Iterable[str] = (), command: str = "", text: str = "") -> str:
    """At most five concepts: those of the files first, then of the command, then of the text."""
    found: dict[str, None] = {}
    for file in list(files)[:MAX_CONCEPTS]:
        path = file.replace("\\", "/")
        found |= dict.fromkeys(name for name, rule in _IN_PATHS if rule.search(path))
    for rules, searched in ((_IN_COMMANDS, command[:_MAX_TEXT]), (_IN_TEXTS, text[:_MAX_TEXT])):
        if searched and len(found) < MAX_CONCEPTS:
            found |= dict.fromkeys(name for name, rule in rules if rule.search(searched))
    return ", ".join(list(found)[:MAX_CONCEPTS])
