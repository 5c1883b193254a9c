"""Any server with an OpenAI-compatible embeddings endpoint: Ollama, vLLM, llama.cpp, a cloud.

A server that failed is left alone for a while, longer each time, so that recall falls back to keywords at once instead
of waiting for the same time-out on every call. Redirects are never followed: the texts go where the person said.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from commonplace.embed import NOT_LOADED, READY, failed_state
from commonplace.errors import CommonplaceError, EmbedderUnavailable, InvalidInput
from commonplace.http_client import HttpAddress, error_reason, split_url
from commonplace.text.tokens import without_surrogates
from commonplace.text.untrusted_json import check_json

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
MAX_CHARS = 16_000
# The size of a reply: some for itself, and for each text a vector of so many numbers, written out.
REPLY_BYTES, VECTOR_BYTES, VECTOR_NUMBERS = 1 << 20, 1 << 19, 20_000
# The server refused just these texts: others may work, so there is no pause after such a refusal.
REFUSALS = frozenset({400, 413, 422})

_NONSENSE = (CommonplaceError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
_CORRECT_URL = "Correct endpoint_url, such as http://localhost:11434/v1."


def parse_address(url: str) -> HttpAddress:
    """`http://localhost:11434`, `.../v1` and `.../v1/embeddings` all mean the last of them."""
    server, parts = split_url(url, "The embedding endpoint", _CORRECT_URL, "Set endpoint_key instead.")
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings" if re.search(r"/v\d\w*$", path) else "/v1/embeddings"
    if parts.query:
        path += f"?{parts.query}"
    if not path.isascii() or any(ord(character) <= 32 or ord(character) == 127 for character in path):
        raise InvalidInput("The path of the embedding endpoint has characters that a URL must escape.", _CORRECT_URL)
    return replace(server, path=path)


class EndpointEmbedder:
    """Vectors from a server that the user chose."""

    is_local = False

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        batch: int = 32,
        dim: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
            raise InvalidInput(
                "The key of the embedding endpoint has characters that an HTTP header cannot contain.",
                "Correct endpoint_key.",
            )
        self._address = parse_address(url)
        self._model = model
        self._api_key = api_key
        self._timeout = timeout
        self._batch = max(1, batch)
        self._dim = dim
        self._clock = clock
        self._lock = threading.Lock()
        self._answered = False
        self._failure = ""
        self._pause = 0.0
        self._silent_until = 0.0

    @property
    def name(self) -> str:
        return f"{self._model}@{self._address.authority}"

    @property
    def dim(self) -> int:
        """Known from the constructor or the first reply; otherwise one word is embedded to find out."""
        if self._dim is None:
            self.embed(["dimension"])
        assert self._dim is not None
        return self._dim

    def embed(self, texts: Sequence[str], before: Sequence[str] = ()) -> NDArray[float32]:
        """The vectors of the texts alone: the endpoint takes no context."""
        import numpy as np

        self._refuse_while_pausing()
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        rows = [self._call(texts[at : at + self._batch]) for at in range(0, len(texts), self._batch)]
        return np.concatenate(rows)

    def state(self) -> str:
        with self._lock:
            if self._failure:
                return failed_state(self._failure)
            return READY if self._answered else NOT_LOADED

    def _call(self, texts: Sequence[str]) -> NDArray[float32]:
        # Many servers answer an empty string with an error; a space means as little.
        sent = [without_surrogates(text[:MAX_CHARS]) or " " for text in texts]
        try:
            payload = {"model": self._model, "input": sent, "encoding_format": "float"}
            status, body = self._post(payload, REPLY_BYTES + VECTOR_BYTES * len(sent))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failed(f"no usable reply ({_reason(error)})") from error
        if status in REFUSALS:
            raise self._unavailable(f"it refused the text with HTTP {status}{_detail(body)}")
        if status != 200:
            moved = ", a redirect, which is not followed" if 300 <= status < 400 else _detail(body)
            raise self._failed(f"it answered HTTP {status}{moved}")
        try:
            check_json(body, 1_000 + VECTOR_NUMBERS * len(sent), "The reply")
            rows = self._unit_rows(json.loads(body), len(sent))
        except _NONSENSE as error:
            raise self._failed(f"its reply makes no sense: {_reason(error)}") from error
        self._succeeded(rows.shape[1])
        return rows

    def _post(self, payload: dict[str, Any], max_reply: int) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        deadline = time.monotonic() + self._timeout
        connection = self._address.connect(self._timeout)
        try:
            connection.request("POST", self._address.path, json.dumps(payload).encode("ascii"), headers)
            response = connection.getresponse()
            body = bytearray()
            while chunk := response.read1(65_536):
                body += chunk
                if len(body) > max_reply:
                    raise ValueError(f"larger than {max_reply:,} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
            return response.status, bytes(body)
        finally:
            connection.close()

    def _unit_rows(self, reply: Any, count: int) -> NDArray[float32]:
        import numpy as np

        data = reply["data"]
        if sorted(entry["index"] for entry in data) != list(range(count)):
            raise ValueError(f"{count} vectors were requested, and the indexes are not 0 to {count - 1}")
        vectors = [entry["embedding"] for entry in sorted(data, key=lambda entry: int(entry["index"]))]
        widths = {len(vector) for vector in vectors}
        if self._dim is not None:
            widths.add(self._dim)
        if len(widths) != 1 or 0 in widths:
            raise ValueError(f"vectors of different lengths {sorted(widths)}")
        rows = np.array(vectors, dtype=np.float64)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ValueError("a vector contains something that is not a finite number")
        # By the largest number first: squares of very large or small ones would leave the range of floats.
        largest = np.abs(rows).max(axis=1, keepdims=True)
        if not largest.all():
            raise ValueError("a vector without direction")
        rows /= largest
        unit: NDArray[float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _refuse_while_pausing(self) -> None:
        with self._lock:
            left = self._silent_until - self._clock()
            failure = self._failure
        if left > 0:
            raise self._unavailable(f"{failure}; next try in {left:.0f} s")

    def _failed(self, why: str) -> EmbedderUnavailable:
        """Remember the failure and start the pause; the caller raises what is returned."""
        with self._lock:
            self._failure = why
            self._pause = min(self._pause * 2, LONGEST_PAUSE) if self._pause else FIRST_PAUSE
            self._silent_until = self._clock() + self._pause
        return self._unavailable(why)

    def _succeeded(self, width: int) -> None:
        with self._lock:
            self._answered, self._failure, self._pause, self._silent_until = True, "", 0.0, 0.0
            self._dim = width

    def _unavailable(self, why: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"The embedding endpoint {self._address.authority} is not usable: {why}.")


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return error_reason(error).rstrip(".")


def _detail(body: bytes) -> str:
    """What an OpenAI-like error says about itself, if it says anything short."""
    try:
        detail = json.loads(body[:REPLY_BYTES])["error"]
        text = detail["message"] if isinstance(detail, dict) else detail
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return f" ({' '.join(str(text).split())[:200]})"
