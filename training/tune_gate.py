"""Teach which earlier statements are worth reading: `python -m training.tune_gate OUT --encoder ADAPTER`.

The contradiction model is slow, and most notes that are near a new one have nothing to do with it. A small linear map
of the new statement's vector brings it nearer to what it may change, and further from what merely stands in the same
memory. It learns from the pairs that contradict each other, against the lines nearest to each other in every world and
halves of different pairs that are alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.base_model import write_half_precision
from training.encoder import WIDTH, Encoder, merged, read_safetensors
from training.statement_pairs import NONE, Pair, read_pairs
from training.tune_contradictions import embed, mixed_pairs
from training.tune_encoder import Tokens
from training.worlds import read_worlds

NEAREST = 4


class Gate(nn.Module):
    """How likely the later of two statements changes the earlier one, by their vectors alone."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.randn(rank, WIDTH) / WIDTH**0.5)
        self.up = nn.Parameter(torch.zeros(WIDTH, rank))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.shift = nn.Parameter(torch.tensor(-5.0))

    def mapped(self, later: Tensor) -> Tensor:
        return functional.normalize(later + later @ self.down.T @ self.up.T, dim=-1)

    def forward(self, earlier: Tensor, later: Tensor) -> Tensor:
        return self.scale * (self.mapped(later) * earlier).sum(-1) + self.shift


@torch.no_grad()
def near_lines(encoder: Encoder, tokens: Tokens, *, held_out: bool) -> list[tuple[Tensor, Tensor]]:
    """The vectors of each note and, in a row, those of the earlier ones of its world that are nearest to it."""
    found = []
    for world in read_worlds():
        if world.kind == "notes" and world.held_out is held_out:
            vectors = embed(encoder, tokens, [line.text for line in world.lines])
            cosines = vectors @ vectors.T
            for place in range(NEAREST, len(vectors)):
                nearest = cosines[place, :place].topk(NEAREST).indices
                found.append((vectors[place], vectors[nearest]))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the map that is written")
    parser.add_argument("--encoder", type=Path, required=True, help="the adapter of the encoder")
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where the base model is")
    parser.add_argument("--check", type=Path, nargs="*", default=[], help="files of pairs to judge it on")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--look-alikes", type=float, default=0.1, help="what a look-alike counts")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    tokens = Tokens(options.folder / "tokenizer.json", 256)
    base = merged(read_safetensors(options.folder / "base.safetensors"), read_safetensors(options.encoder))
    encoder = Encoder(base, 1).to(options.device)
    pairs = [pair for pair in dict.fromkeys(read_pairs()) if not pair.held_out]
    against = [pair for pair in pairs if pair.kind != NONE]
    rows = [*pairs, *mixed_pairs(encoder, tokens, against, 2)]
    with torch.no_grad():
        earlier = embed(encoder, tokens, [pair.earlier for pair in rows])
        later = embed(encoder, tokens, [pair.later for pair in rows])
    weights = [1.0 if pair.kind != NONE else options.look_alikes for pair in pairs]
    weights += [1.0] * (len(rows) - len(pairs))
    lines = near_lines(encoder, tokens, held_out=False)
    earlier = torch.cat([earlier, *(near for _line, near in lines)])
    later = torch.cat([later, *(line.expand(NEAREST, -1) for line, _near in lines)])
    right = torch.zeros(len(earlier), device=options.device)
    right[: len(pairs)] = torch.tensor([float(pair.kind != NONE) for pair in pairs], device=options.device)
    weight = torch.ones(len(earlier), device=options.device)
    weight[: len(rows)] = torch.tensor(weights, device=options.device)
    gate = Gate(options.rank).to(options.device)
    optimizer = torch.optim.AdamW(gate.parameters(), lr=options.rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    for _step in range(options.steps):
        places = torch.randint(len(earlier), (4096,), device=options.device)
        scores = gate(earlier[places], later[places])
        loss = functional.binary_cross_entropy_with_logits(scores, right[places], weight=weight[places])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    apart = [pair for pair in read_pairs() if pair.held_out]
    check(gate, encoder, tokens, {"kept apart": apart, **{path.stem: read_pairs(path) for path in options.check}})
    learned = {"down": gate.down, "up": gate.up, "scale": gate.scale[None], "shift": gate.shift[None]}
    write_half_precision(options.out, {name: value.detach().cpu().numpy() for name, value in learned.items()})


@torch.no_grad()
def check(gate: Gate, encoder: Encoder, tokens: Tokens, checks: dict[str, list[Pair]]) -> None:
    """How many contradictions pass where so many notes of worlds kept apart have something to read."""
    lines = near_lines(encoder, tokens, held_out=True)
    for name, mapped in (("cosine", lambda vector: vector), ("map", gate.mapped)):
        best = torch.stack([(mapped(line[None]) @ near.T).max() for line, near in lines]).sort(descending=True).values
        for share in (0.1, 0.15, 0.2, 0.3):
            border = best[int(share * len(best))]
            passed = []
            for title, pairs in checks.items():
                against: list[Pair] = [pair for pair in pairs if pair.kind != NONE]
                olds = embed(encoder, tokens, [pair.earlier for pair in against])
                news = mapped(embed(encoder, tokens, [pair.later for pair in against]))
                passed.append(f"{title} {((olds * news).sum(-1) >= border).float().mean():.1%}")
            print(f"{name}, {share:.0%} of notes read (from {border:.3f} on): {', '.join(passed)}", flush=True)


if __name__ == "__main__":
    main()
