"""Shared statements, which are written as SQLite reads them, as PostgreSQL reads them."""

from __future__ import annotations

import re
from functools import lru_cache

# In this order. A parameter is `?`, `?1` or `:name`.
_PARAMETER = r"(\?\d*|:\w+)"
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"/\*pg (.*?)\*/", r"\1"),
        (r"%", "%%"),
        # Joins in the order in which they are written, indexes that have to be used or left alone.
        (r"\bCROSS JOIN\b", "JOIN"),
        (r" (?:INDEXED BY \w+|NOT INDEXED)", ""),
        (r"(?<=[\s(])\+(?=[a-z])", ""),
        # Lists.
        (rf"\bNOT IN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"<> ALL(\1)"),
        (rf"\bIN \(SELECT value FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1)"),
        (rf"\bIN \(SELECT unhex\(value\) FROM json_each\({_PARAMETER}\)\)", r"= ANY(\1::bytea[])"),
        (rf"\bjson_each\({_PARAMETER}\) (\w+)", r"unnest(\1::bigint[]) WITH ORDINALITY \2(value, key)"),
        (r"\bjson_group_array\(", "array_agg("),
        # Functions.
        (r"\bjson_extract\(iif\(json_valid\(([\w.]+)\), \1, '{}'\), '\$\.(\w+)'\)", r"(\1::json ->> '\2')"),
        (r"\bsubstr\(([\w.]+), -(\d+)\)", r"right(\1, \2)"),
        (r"\binstr\(", "strpos("),
        (r"\bmax\((\?|[\w.]+), ", r"greatest(\1, "),
        (r"\bmin\((\?|[\w.]+), ", r"least(\1, "),
        # SQLite's LIKE does not tell capital letters from small ones.
        (r"\bLIKE\b", "ILIKE"),
        (r"\bGLOB '\*\[\^ -~\]\*'", "~ '[^ -~]'"),
        # Comparisons.
        (r"\bLIKE\b", "ILIKE"),
        (r"\bGLOB '\*(\[[^\]]*\])\*'", r"~ '\1'"),
        # Parameters.
        (r"\?(\d+)", r"%(\1)s"),
        (r"\?", "%s"),
        (r"(?<![:\w]):([a-z]\w*)", r"%(\1)s"),
    )
)


@lru_cache(maxsize=2_000)
def translate(sql: str) -> str:
    """A shared statement in PostgreSQL's words."""
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    return sql
