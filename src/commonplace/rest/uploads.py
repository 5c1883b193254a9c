"""Bodies as they arrive: read into memory where they are JSON, kept in files of ours where they are uploads."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from commonplace.errors import InvalidInput, StoreReadOnly, WrongMedia
from commonplace.input_limits import unpack_gzip, unpacked_for
from commonplace.rest.endpoint import Endpoint
from commonplace.workers import Workers

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
_ODD = re.compile(r"[^\w. -]|^[. ]+|[. ]+$")


@dataclass(frozen=True, slots=True)
class Received:
    """A body: its bytes, or the files that it was kept in and the digest of its bytes."""

    raw: bytes
    files: tuple[Path, ...] = ()


def is_large(body: Received) -> bool:
    """Whether so much was sent that what is made of it may take long."""
    return bool(body.files) or len(body.raw) > LARGE_BODY


@asynccontextmanager
async def received(
    request: Request, endpoint: Endpoint, workers: Workers, caller: int | None = None
) -> AsyncIterator[Received]:
    """The body of a request. Files of it are readable by us alone, and gone afterwards."""
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed == "gzip" and endpoint.packed:
        raw = await request.body()
        unpacked = await workers.slow.do(lambda: unpack_gzip(raw, unpacked_for(len(raw))), caller)
        yield Received(unpacked)
        return
    if packed != "identity" and (endpoint.takes or endpoint.body is not None):
        raise WrongMedia(f"The body is packed as {packed[:60]!r}.", "Send it as it is, without Content-Encoding.")
    if not endpoint.takes:
        yield Received(await request.body())
        return
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in endpoint.takes:
        raise WrongMedia(f"The body is {media[:60]!r}.", f"Send one of {', '.join(endpoint.takes)}.")
    with _temporary_folder() as folder:
        if media == MULTIPART:
            yield await _parts(request, folder, workers, caller)
        else:
            yield await _whole(request, folder / f"upload{_ENDINGS[media]}")


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for the length of the request; `commonplace serve` has them in its data folder."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="commonplace-")
    except OSError as error:
        raise StoreReadOnly(f"The folder for temporary files cannot be written: {error.strerror}.") from error
    with folder as name:
        yield Path(name)


async def _whole(request: Request, path: Path) -> Received:
    digest = hashlib.sha256()
    with _own(path).open("wb") as file:
        async for chunk in request.stream():
            digest.update(chunk)
            file.write(chunk)
    return Received(digest.digest(), (path,))


async def _parts(request: Request, folder: Path, workers: Workers, caller: int | None) -> Received:
    try:
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FILES) as form:
            parts = [part for _name, part in form.multi_items()]
            uploads = [part for part in parts if isinstance(part, UploadFile)]
            if len(uploads) < len(parts) or not uploads:
                raise InvalidInput("The form holds no files.", "Send each file as one part, with its filename.")
            return await workers.slow.do(lambda: _kept(uploads, folder), caller)
    except HTTPException as error:
        raise InvalidInput(f"The form cannot be read: {error.detail}", "Send multipart/form-data.") from error


def _kept(uploads: list[UploadFile], folder: Path) -> Received:
    digest = hashlib.sha256()
    files = []
    for number, upload in enumerate(uploads):
        # A folder for each, so that two files of one name are two files.
        (folder / str(number)).mkdir()
        files.append(_own(folder / str(number) / _name(upload.filename or "upload")))
        with files[-1].open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        with files[-1].open("rb") as file:
            digest.update(f"{files[-1].name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return Received(digest.digest(), tuple(files))


def _own(path: Path) -> Path:
    path.touch(mode=0o600)
    return path


def _name(text: str) -> str:
    """A file name that every system takes, with the ending it had."""
    bare = _ODD.sub("_", text.replace("\\", "/").rpartition("/")[2])
    return bare[-LONGEST_NAME:] or "upload"
