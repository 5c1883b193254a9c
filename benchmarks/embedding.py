"""The built-in model against its own fp32 form: speed, likeness, loading, memory. `python -m benchmarks.embedding`.

The two run in turns in this process, so that a busy machine slows both. Texts are passages of this interpreter's own
library (prose, code, tables, names) cut to every length, and a few that nobody would write on purpose.
"""

from __future__ import annotations

import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commonplace.embed.model_files import MODEL, MiniLM

PACKAGING = Path(__file__).resolve().parent.parent / "packaging"

ODD = ["", "a", "?!", "🎉🎉 done", "日本語のテキスト", "x" * 5_000, "the " * 600, "\x00", "1 2 3", "\ud800"]
LINES = (1, 1, 1, 2, 3, 6, 12, 30)
ROUNDS = 3

_FIRST_CALL = """
import sys, time
import mcp.server
from commonplace.embed.model_files import MiniLM
start = time.perf_counter()
model = MiniLM()
model.embed(["first"])
print(time.perf_counter() - start)
texts = open({texts!r}, encoding="utf-8", errors="surrogatepass").read().split("\\x1e")
model.embed(texts)
try:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))
except ImportError:
    print("nan")
"""


def varied_texts(count: int, seed: int = 7) -> list[str]:
    """`count` texts, the same for the same interpreter."""
    chance = random.Random(seed)
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    texts = list(ODD)
    while len(texts) < count:
        lines = chance.choice(library).read_text(encoding="utf-8").splitlines()
        start = chance.randrange(len(lines) or 1)
        text = "\n".join(lines[start : start + chance.choice(LINES)]).strip()
        if text:
            texts.append(text)
    return texts[:count]


def fp32(folder: Path) -> MiniLM:
    """The same graph, unquantised, behind the same code."""
    sys.path.append(str(PACKAGING))
    import minilm_adapter
    import minilm_source
    import minilm_token_graph

    source = minilm_source.fetch()
    tensors = minilm_adapter.merged(source.tensors, minilm_adapter.read(minilm_adapter.ENCODER))
    tokens = minilm_adapter.read(minilm_adapter.TOKEN_VECTORS)
    graphs = {"model.onnx": minilm_token_graph.build_encoder, "token_vectors.onnx": minilm_token_graph.build}
    for name, build in graphs.items():
        (folder / name).write_bytes(build(tensors, None, tokens).SerializeToString())
    (folder / "tokenizer.json").write_bytes(source.tokenizer)
    return MiniLM(threads=1, folder=folder)


def rate(model: MiniLM, texts: list[str]) -> Callable[[], float]:
    """A measurement of texts per second of processor time, which other programs disturb least."""

    def measure() -> float:
        start = time.process_time()
        model.embed_with_tokens(texts)
        return len(texts) / (time.process_time() - start)

    return measure


def first_call(texts: list[str], folder: Path) -> tuple[float, float]:
    """Seconds of a first `embed`, and peak megabytes after all texts, of a process that also loaded the MCP server."""
    path = folder / "texts"
    path.write_text("\x1e".join(texts), encoding="utf-8", errors="surrogatepass")
    script = _FIRST_CALL.format(texts=str(path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8", check=True)
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def figures(count: int = 1_000) -> list[tuple[str, str, str]]:
    """Rows of what, figure and ratio."""
    texts = varied_texts(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # First, because a new process starts with the peak memory of the one that made it.
        seconds, megabytes = first_call(texts, folder)
        small, large = MiniLM(threads=1), fp32(folder)
        timed = texts[::4]
        timers = {"int8": rate(small, timed), "fp32": rate(large, timed)}
        best = dict.fromkeys(timers, 0.0)
        for _ in range(ROUNDS):
            best = {kind: max(best[kind], measure()) for kind, measure in timers.items()}
        vectors = small.embed(texts)
        exact = _cosines(vectors, large.embed(texts))
        alone = _cosines(vectors[::10], np.concatenate([small.embed([text]) for text in texts[::10]]))
    return [
        ("fp32, texts per second of one core, with token vectors", f"{best['fp32']:.1f}", "1.00"),
        (
            "int8, texts per second of one core, with token vectors",
            f"{best['int8']:.1f}",
            f"{best['int8'] / best['fp32']:.2f}",
        ),
        (f"cosine of int8 to fp32, mean of {count:,} texts", f"{exact.mean():.5f}", ""),
        (f"cosine of int8 to fp32, worst of {count:,} texts", f"{exact.min():.5f}", ""),
        ("cosine of a text alone to the same in a batch, worst", f"{alone.min():.5f}", ""),
        ("first call, loading included", f"{seconds:.2f} s", ""),
        ("peak memory, MCP server included", f"{megabytes:.0f} MB", ""),
        ("model file", f"{(MODEL / 'model.onnx').stat().st_size / 1e6:.1f} MB", ""),
    ]


def _cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    cosines: NDArray[np.float32] = (one * other).sum(axis=1)
    return cosines


if __name__ == "__main__":
    for what, figure, ratio in figures():
        print(f"{what:54} {figure:>10} {ratio:>6}")
