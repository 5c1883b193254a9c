"""Write the weights and the tokenizer that training starts from: `python -m training.base_model FOLDER`.

They come from the pinned package that the built-in model is built from (packaging/minilm_source.py). Weights are in
fp16: half the size, which matters where they have to travel to a machine with a GPU.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def write_half_precision(
    path: Path, tensors: Mapping[str, NDArray[Any]], about: Mapping[str, str] | None = None
) -> None:
    """Tensors in fp16 as a safetensors file, by name, so that the same ones make the same file."""
    table: dict[str, Any] = {"__metadata__": dict(about)} if about else {}
    blob = bytearray()
    for name in sorted(tensors):
        raw = np.ascontiguousarray(tensors[name], dtype="<f2").tobytes()
        place = [len(blob), len(blob) + len(raw)]
        table[name] = {"dtype": "F16", "shape": list(tensors[name].shape), "data_offsets": place}
        blob += raw
    head = json.dumps(table).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(blob))


def main(arguments: Sequence[str] | None = None) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parent.parent / "packaging"))
    import minilm_source

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    source = minilm_source.fetch()
    folder.mkdir(parents=True, exist_ok=True)
    used = {name: tensor for name, tensor in source.tensors.items() if not name.startswith("pooler")}
    write_half_precision(folder / "base.safetensors", used)
    (folder / "tokenizer.json").write_bytes(source.tokenizer)
    print(f"{len(used)} tensors in {folder}.")


if __name__ == "__main__":
    main()
