"""The streams of one project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from commonplace.model import Draft, Stored, Stream
from commonplace.store.one_project.place import Place
from commonplace.store.protocol import StreamCheck


class Streams(Place):
    """The part of a narrowed store about streams."""

    def start_stream(self, stream: Stream, most: int, idle_before_ms: int) -> bool:
        placed = replace(stream, project=self._only_here(stream.project))
        return self._inner.start_stream(placed, most, idle_before_ms)

    def streams(self, idle_before_ms: int) -> list[Stream]:
        here = self._here()
        return [stream for stream in self._inner.streams(idle_before_ms) if stream.project == here]

    def append_stream(
        self, stream_id: str, chunk_after: Callable[[str], str], check: StreamCheck, now_ms: int
    ) -> Stream:
        return self._inner.append_stream(stream_id, chunk_after, self._seen(check), now_ms)

    def finalize_stream(
        self, stream_id: str, draft_of: Callable[[Stream, str], Draft], check: StreamCheck, now_ms: int
    ) -> tuple[Stream, Stored]:
        here = self._here()
        return self._inner.finalize_stream(
            stream_id, lambda stream, text: replace(draft_of(stream, text), project=here), self._seen(check), now_ms
        )

    def cancel_stream(self, stream_id: str, check: StreamCheck, now_ms: int) -> Stream:
        return self._inner.cancel_stream(stream_id, self._seen(check), now_ms)

    def _seen(self, check: StreamCheck) -> StreamCheck:
        """A stream of another project is no stream to the check."""
        here = self._here()
        return lambda stream: check(stream if stream is not None and stream.project == here else None)
