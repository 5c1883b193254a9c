"""Reading a request: its query and its body as the models of its endpoint, or a sentence about what is wrong."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from commonplace.errors import InvalidInput, StoreReadOnly, TooLarge, WrongMedia
from commonplace.model import KINDS
from commonplace.rest.endpoint import Endpoint
from commonplace.rest.fields import PATTERN_HINTS
from commonplace.text.untrusted_json import check_json, unpack_gzip, unpacked_for
from commonplace.worker_threads import Workers

MOST_PARAMETERS = 2000
# How many of the problems of a request an error names.
_MOST_PROBLEMS = 5
# Bytes of a body that are parsed once more to say what is wrong with it: that takes several times as much memory.
_READ_AGAIN = 1 << 20
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(_NUMBER.pattern + r"(?:[.][0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?")
_TYPE_NAME = re.compile(r"[A-Z]|.*[-\[]")
_LONE = re.compile("[\ud800-\udfff]")
_PROBLEM_SENTENCES = {"extra_forbidden": "There is no such field", "missing": "It is missing"}
_TYPES = {"true": True, "false": False}
# No value of these types is spelled `null`, so in a query that means the parameter was left out.
NULLABLE = ("integer", "number", "boolean")


def parse_query(endpoint: Endpoint, raw: bytes) -> Any:
    """The query as the endpoint's model; None if it has none."""
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError as error:
        raise TooLarge(f"The query has more than {MOST_PARAMETERS} parameters.") from error
    types = {} if endpoint.query is None else _types(endpoint.query)
    given: dict[str, Any] = {}
    for name, text in pairs:
        if name not in types:
            known = ", ".join(types) or "none"
            raise InvalidInput(f"There is no query parameter {name[:60]!r} here.", f"Those that exist: {known}.")
        if types[name] == "array":
            given.setdefault(name, []).append(text)
        elif name in given:
            raise InvalidInput(f"{name} is given twice.", "Give it once.")
        else:
            given[name] = None if text == "null" and types[name] in NULLABLE else _value(text, types[name])
    return None if endpoint.query is None else _checked(endpoint.query, given)


def parse_body(endpoint: Endpoint, raw: bytes, content_type: str) -> Any:
    """The body as the endpoint's model; None if it has none."""
    if endpoint.body is None:
        return None
    if not raw.strip():
        if endpoint.body_optional and not raw:
            return endpoint.body()
        raise InvalidInput("The body is empty.", "Send a JSON object.")
    kind = content_type.partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise WrongMedia(f"The body is {kind[:60]!r}.", "Send JSON, with Content-Type: application/json.")
    return _checked(endpoint.body, _json(raw, endpoint.max_values))


def _json(raw: bytes, max_values: int) -> Any:
    """The value of a body. Bodies that are too large to become objects are refused before they do."""
    check_json(raw, max_values)
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if len(raw) > _READ_AGAIN:
            raise InvalidInput(f"The body is not JSON: {error}.", "Correct it there.") from error
    return _json_of_any_encoding(raw)


def _json_of_any_encoding(raw: bytes) -> Any:
    """The same for what a strict parser refuses: a byte order mark, half of a surrogate pair; or where it is wrong."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The body is not UTF-8 (byte {error.start}).", "Send JSON in UTF-8.") from error
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The body is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.", "Correct it there."
        ) from error
    except (RecursionError, ValueError) as error:
        raise InvalidInput("The body has a number that is too long to parse.", "Make it shorter.") from error
    # Only an escape can stand for half a character.
    return _without_surrogates(value) if "\\u" in text else value


def _refuse(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a JSON number", name, 0)


def _without_surrogates(value: Any) -> Any:
    """Without halves of characters, which nothing can keep; they are replaced as everywhere."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(entry) for entry in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(entry) for key, entry in value.items()}
    return value


@cache
def _types(model: type[BaseModel]) -> Mapping[str, str]:
    """What the values of each parameter are, by JSON's names."""
    properties = model.model_json_schema()["properties"]
    return {name: _type(schema) for name, schema in properties.items()}


def _type(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type") or schema["anyOf"][0]["type"])


def _value(text: str, type_: str) -> Any:
    """A parameter as its type, if it is spelled like one; else as it is, to be refused for that."""
    if type_ == "integer" and _NUMBER.fullmatch(text):
        return int(text)
    if type_ == "number" and _DECIMAL.fullmatch(text):
        return float(text)
    return _TYPES.get(text, text) if type_ == "boolean" else text


def _checked(model: type[BaseModel], given: Any) -> Any:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=True)
        problems = [_problem(one) for one in errors[:_MOST_PROBLEMS]]
        hint = " ".join(problems[1:]) or _next_step(model, errors[0])
        raise InvalidInput(problems[0], hint) from error
    except RecursionError as error:
        raise InvalidInput("The body is nested too deeply.", "Make it flatter.") from error


def _next_step(model: type[BaseModel], found: Mapping[str, Any]) -> str:
    if found["type"] == "extra_forbidden" and len(found["loc"]) == 1:
        return f"Those that exist: {', '.join(field.alias or name for name, field in model.model_fields.items())}."
    return "GET /api/v1/openapi.json describes every request."


def _problem(found: Mapping[str, Any]) -> str:
    """One thing that is wrong, with its place."""
    where = ""
    for step in found["loc"]:
        # The kind or the type that something was taken for is no step of its path.
        if step not in KINDS and not (isinstance(step, str) and _TYPE_NAME.match(step)):
            where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else str(step)
    what = _PROBLEM_SENTENCES.get(found["type"]) or found["msg"].removeprefix("Value error, ")
    if found["type"] == "string_pattern_mismatch":
        what = PATTERN_HINTS.get(found["ctx"]["pattern"], "It has the wrong form")
    return f"{where}: {what}." if where else f"{what}."


MULTIPART = "multipart/form-data"
MOST_FILES = 100
LONGEST_NAME = 100
# What is computed from a larger body is done by another process.
LARGE_BODY = 256 << 10
# By the end of its name a reader knows what a file is.
_ENDINGS = {
    "application/json": ".json",
    "application/zip": ".zip",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
_ODD = re.compile(r"[^\w. -]|^[. ]+|(?<![. ])[. ]+$")


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """A body: its bytes, or the files that it was saved to and the digest of its bytes."""

    raw: bytes
    files: tuple[Path, ...] = ()


def is_large(body: ReceivedBody) -> bool:
    """Whether so much was sent that what is made of it may take long."""
    return bool(body.files) or len(body.raw) > LARGE_BODY


@asynccontextmanager
async def receive_body(
    request: Request, endpoint: Endpoint, workers: Workers, caller: int | None = None
) -> AsyncIterator[ReceivedBody]:
    """The body of a request. Files of it are readable by us alone, and gone afterwards."""
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed == "gzip" and endpoint.packed:
        raw = await request.body()
        unpacked = await workers.slow.do(lambda: unpack_gzip(raw, unpacked_for(len(raw))), caller)
        yield ReceivedBody(unpacked)
        return
    if packed != "identity" and (endpoint.takes or endpoint.body is not None):
        raise WrongMedia(f"The body is compressed as {packed[:60]!r}.", "Send it as it is, without Content-Encoding.")
    if not endpoint.takes:
        yield ReceivedBody(await request.body())
        return
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in endpoint.takes:
        raise WrongMedia(f"The body is {media[:60]!r}.", f"Send one of {', '.join(endpoint.takes)}.")
    with _temporary_folder() as folder:
        if media == MULTIPART:
            yield await _parts(request, folder, workers, caller)
        else:
            yield await _save_body(request, folder / f"upload{_ENDINGS[media]}")


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for the length of the request; `commonplace serve` has them in its data folder."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="commonplace-")
    except OSError as error:
        raise StoreReadOnly(f"The folder for temporary files cannot be written: {error.strerror}.") from error
    with folder as name:
        yield Path(name)


async def _save_body(request: Request, path: Path) -> ReceivedBody:
    digest = hashlib.sha256()
    with _private_file(path).open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            file.write(chunk)
    return ReceivedBody(digest.digest(), (path,))


async def _parts(request: Request, folder: Path, workers: Workers, caller: int | None) -> ReceivedBody:
    try:
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FILES) as form:
            parts = [part for _name, part in form.multi_items()]
            uploads = [part for part in parts if isinstance(part, UploadFile)]
            if len(uploads) < len(parts) or not uploads:
                raise InvalidInput("The form has no files.", "Send each file as one part, with its filename.")
            return await workers.slow.do(lambda: _save_files(uploads, folder), caller)
    except HTTPException as error:
        raise InvalidInput(f"The form cannot be read: {error.detail}", "Send multipart/form-data.") from error


def _save_files(uploads: list[UploadFile], folder: Path) -> ReceivedBody:
    digest = hashlib.sha256()
    files = []
    for number, upload in enumerate(uploads):
        # A folder for each, so that two files of one name are two files.
        (folder / str(number)).mkdir()
        files.append(_private_file(folder / str(number) / _safe_file_name(upload.filename or "upload")))
        with files[-1].open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        with files[-1].open("rb") as file:
            digest.update(f"{files[-1].name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return ReceivedBody(digest.digest(), tuple(files))


def _private_file(path: Path) -> Path:
    path.touch(mode=0o600)
    return path


def _safe_file_name(text: str) -> str:
    """A file name that every system takes, with the ending it had."""
    bare = _ODD.sub("_", text.replace("\\", "/").rpartition("/")[2])
    return bare[-LONGEST_NAME:] or "upload"
