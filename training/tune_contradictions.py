"""Teach the contradiction model: `python -m training.tune_contradictions OUT --encoder ADAPTER`.

It reads an earlier and a later statement together and says whether the later one leaves the earlier one untrue: a third
adapter of low rank on the tuned encoder, and a head. It learns from pairs that were written for it
(`training/statement_pairs*.txt`), from statements that merely stand in one memory (lines of one world, and halves of
different pairs that are alike), and from what larger models say of many pairs more (`--taught`, training/teacher.py).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.base_model import write_half_precision
from training.encoder import LAYERS, STEPS, WIDTH, Encoder, learned_parameters, merged, pad, read_safetensors
from training.statement_pairs import FILES, KINDS, NONE, Pair, read_pairs
from training.tune_cross_encoder import PASSAGE_TOKENS, CrossEncoder
from training.tune_encoder import Tokens
from training.worlds import read_worlds

# What is read of the later statement, which may tell a change in passing.
STATEMENT_TOKENS = 96
# Halves of two pairs that are nearer than this may be about the same.
TOO_NEAR = 0.8
# So many more are looked at, in case some are too near.
SPARE = 8
# A note is paired with so many of its world.
NEAREST = 3
# In the second half, what was learned is averaged, taken after so many steps.
AVERAGED_EVERY = 5


class Row(NamedTuple):
    """The tokens of two statements, where the earlier one begins, how they contradict each other, and how likely.

    What larger models taught has a likelihood, and no kind.
    """

    tokens: list[int]
    start: int
    kind: str
    likelihood: float


class ContradictionModel(CrossEncoder):
    """Two statements to one number. While it learns, it also says how they contradict each other: that is not kept."""

    def __init__(self, tensors: dict[str, Tensor], rank: int, seed: int) -> None:
        super().__init__(tensors, rank, seed, LAYERS)
        self.kinds = nn.Linear(WIDTH, len(KINDS))

    def loss(self, batch: Sequence[Row], kind_weight: float, device: str) -> Tensor:
        pooled = self.pooled([(row.tokens, row.start) for row in batch], device)
        right = torch.tensor([row.likelihood for row in batch], device=device)
        loss = functional.binary_cross_entropy_with_logits(self.head(pooled).squeeze(-1), right)
        labelled = [place for place, row in enumerate(batch) if row.kind]
        if not labelled:
            return loss
        kinds = torch.tensor([KINDS.index(batch[place].kind) for place in labelled], device=device)
        kind_loss = functional.cross_entropy(self.kinds(pooled[labelled]), kinds)
        return loss + kind_weight * len(labelled) / len(batch) * kind_loss


@torch.no_grad()
def world_pairs(encoder: Encoder, tokens: Tokens, known: Sequence[Pair], count: int) -> list[Pair]:
    """Notes of one world with the earlier ones nearest to them: they hold side by side, unless somebody said not."""
    changes = {(pair.earlier, pair.later) for pair in known if pair.kind != NONE}
    pairs = []
    for world in read_worlds():
        if world.kind != "notes" or world.held_out:
            continue
        lines = [line.text for line in world.lines]
        vectors = embed(encoder, tokens, lines)
        cosines = vectors @ vectors.T
        for place in range(1, len(lines)):
            nearest = cosines[place, :place].topk(min(NEAREST, place)).indices.tolist()
            pairs += [(lines[other], lines[place]) for other in nearest]
    held = [Pair(NONE, *pair) for pair in dict.fromkeys(pairs) if pair not in changes]
    return random.Random(0).sample(held, min(count, len(held)))


@torch.no_grad()
def mixed_pairs(encoder: Encoder, tokens: Tokens, pairs: Sequence[Pair], nearest: int) -> list[Pair]:
    """The later statement of each pair with so many other earlier ones that are nearest to it."""
    earlier = list(dict.fromkeys(pair.earlier for pair in pairs))
    cosines = embed(encoder, tokens, [pair.later for pair in pairs]) @ embed(encoder, tokens, earlier).T
    mixed = []
    for pair, row in zip(pairs, cosines, strict=True):
        values, places = row.topk(min(nearest + SPARE, len(earlier)))
        # Two people may have thought of the same thing: those would be wrong.
        others = [
            earlier[place]
            for value, place in zip(values.tolist(), places.tolist(), strict=True)
            if value < TOO_NEAR and earlier[place] != pair.earlier
        ]
        mixed += [Pair(NONE, other, pair.later) for other in others[:nearest]]
    return mixed


def embed(encoder: Encoder, tokens: Tokens, texts: Sequence[str]) -> Tensor:
    rows = []
    device = encoder.word.device
    for start in range(0, len(texts), 256):
        ids, mask = pad([tokens.ids(text) for text in texts[start : start + 256]], str(device))
        rows.append(functional.normalize((encoder(ids, mask) * mask[:, :, None]).sum(1), dim=-1))
    return torch.cat(rows)


def read_together(ids: Callable[[str], list[int]], pair: Pair) -> Row:
    """Both statements as the product reads them: the later one first, as a question, then the earlier one."""
    later, earlier = ids(pair.later), ids(pair.earlier)
    mine, its = later[1:-1][:STATEMENT_TOKENS], earlier[1:-1][:PASSAGE_TOKENS]
    row = [later[0], *mine, later[-1], *its, later[-1]]
    return Row(row, len(mine) + 2, pair.kind, float(pair.kind != NONE))


def taught_rows(tokens: Tokens, path: Path, kinds: Mapping[tuple[str, str], str]) -> list[Row]:
    """What larger models said of pairs of statements; those that were labelled keep their kind."""
    rows = []
    # A statement stands in many pairs.
    ids = lru_cache(maxsize=None)(tokens.ids)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            earlier, later, likelihood = json.loads(line)
            row = read_together(ids, Pair(kinds.get((earlier, later), ""), earlier, later))
            rows.append(row._replace(likelihood=likelihood))
    return rows


def train(rows: list[Row], base: dict[str, Tensor], options: argparse.Namespace) -> CrossEncoder:
    chance = random.Random(options.seed)
    torch.manual_seed(options.seed)
    model = ContradictionModel(base, options.rank, options.seed).to(options.device)
    if options.start is not None:
        adapter = read_safetensors(options.start)
        start_from(model, {name: values.to(options.device) for name, values in adapter.items()})
    total = options.epochs * len(rows) / options.batch
    optimizer = torch.optim.AdamW(list(learned_parameters(model)), lr=options.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / (0.1 * total)) * max(0.02, 1 - n / total)
    )
    means, taken = list[Tensor](), 0
    for epoch in range(options.epochs):
        began, losses = time.monotonic(), []
        for step, batch in enumerate(batches(rows, options.batch, chance)):
            with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.device == "cuda"):
                loss = model.loss(batch, options.kind_weight, options.device)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(learned_parameters(model)), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if epoch >= options.epochs // 2 and step % AVERAGED_EVERY == 0:
                taken += 1
                means = add_to_means(means, model, taken)
        print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.3f}, {time.monotonic() - began:.0f} s", flush=True)
    for parameter, mean in zip(learned_parameters(model), means, strict=True):
        parameter.data = mean
    return model


def add_to_means(means: Sequence[Tensor], model: CrossEncoder, taken: int) -> list[Tensor]:
    """The mean of what was learned at several moments: it knows less by heart than what was learned last."""
    now = [parameter.detach().clone() for parameter in learned_parameters(model)]
    return [mean + (value - mean) / taken for mean, value in zip(means, now, strict=True)] if means else now


def start_from(model: CrossEncoder, adapter: Mapping[str, Tensor]) -> None:
    """Begin with what another adapter learned, as much of it as this rank can hold."""
    for number, layer in enumerate(model.encoder.layers):
        for own, name in STEPS.items():
            step, root = getattr(layer, own), f"encoder.layer.{number}.{name}"
            change = adapter[f"{root}.up"] @ adapter[f"{root}.down"]
            step.up.data, step.down.data = low_rank(change, step.down.shape[0])
    model.head.weight.data, model.head.bias.data = adapter["head.weight"], adapter["head.bias"]


def low_rank(change: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The two factors of this rank whose product is nearest to a change of weights."""
    left, sizes, right = torch.linalg.svd(change, full_matrices=False)
    half = sizes.sqrt()
    return left[:, :rank] * half[:rank], half[:rank, None] * right[:rank]


def averaged(adapters: Sequence[Mapping[str, Tensor]], rank: int) -> dict[str, Tensor]:
    """The mean of what several runs learned, as much of it as this rank can hold."""
    mean = {name: sum(one[name] for one in adapters) / len(adapters) for name in adapters[0] if "head." in name}
    for up in (name for name in adapters[0] if name.endswith(".up")):
        down = up.removesuffix("up") + "down"
        change = torch.stack([one[up] @ one[down] for one in adapters]).mean(0)
        mean[up], mean[down] = low_rank(change, rank)
    return mean


def batches(rows: list[Row], size: int, chance: random.Random) -> Iterator[list[Row]]:
    """All rows in random order, those of similar length together."""
    chance.shuffle(rows)
    pools = [rows[start : start + 8 * size] for start in range(0, len(rows), 8 * size)]
    for pool in pools:
        pool.sort(key=lambda row: len(row.tokens))
    parts = [pool[start : start + size] for pool in pools for start in range(0, len(pool), size)]
    chance.shuffle(parts)
    yield from parts


def report(name: str, scores: Tensor, pairs: Sequence[Pair]) -> None:
    """How much is found where so many look-alikes are reported, and above which score that is."""
    right = torch.tensor([pair.kind != NONE for pair in pairs])
    others = scores[~right].sort(descending=True).values
    area = (scores[right][:, None] > scores[~right][None]).float().mean()
    found = []
    for share in (0.02, 0.04, 0.08):
        border = others[int(share * len(others))]
        found.append(f"{(scores[right] > border).float().mean():.1%} at {share:.0%} (above {border:.2f})")
    print(f"{name}: area {area:.3f}, found {', '.join(found)}", flush=True)


@torch.no_grad()
def scores_of(model: CrossEncoder, rows: Sequence[Row], device: str) -> list[float]:
    scores: list[float] = []
    for start in range(0, len(rows), 64):
        scores += model([(row.tokens, row.start) for row in rows[start : start + 64]], device).tolist()
    return scores


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the adapter that is written")
    parser.add_argument("--encoder", type=Path, required=True, help="the adapter of the encoder")
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where the base model is")
    parser.add_argument("--pairs", type=Path, nargs="+", default=FILES)
    parser.add_argument("--taught", type=Path, help="what larger models said of pairs (training/teacher.py)")
    parser.add_argument("--check", type=Path, nargs="*", default=[], help="files of pairs to judge it on")
    parser.add_argument("--start", type=Path, help="an adapter to begin with: that of the cross-encoder reads pairs")
    parser.add_argument("--average-with", type=Path, help="an adapter of another run: the mean is written")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--from-worlds", type=int, default=4000, help="pairs of notes of one world")
    parser.add_argument("--mixed", type=int, default=2, help="other pairs' earlier statements for each later one")
    parser.add_argument("--kind-weight", type=float, default=0.3, help="what saying how they contradict counts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    tokens = Tokens(options.folder / "tokenizer.json", 256)
    base = merged(read_safetensors(options.folder / "base.safetensors"), read_safetensors(options.encoder))
    pairs = list(dict.fromkeys(read_pairs(*options.pairs)))
    apart = [pair for pair in pairs if pair.held_out]
    learned = [pair for pair in pairs if not pair.held_out]
    encoder = Encoder(base, 1).to(options.device)
    if options.taught is not None:
        rows = taught_rows(tokens, options.taught, {(pair.earlier, pair.later): pair.kind for pair in learned})
        # What somebody labelled counts twice.
        rows += [row for row in rows if row.kind]
    else:
        learned += mixed_pairs(encoder, tokens, learned, options.mixed)
        learned += world_pairs(encoder, tokens, pairs, options.from_worlds)
        rows = [read_together(tokens.ids, pair) for pair in learned]
    print(f"{len(rows)} pairs, {sum(row.likelihood > 0.5 for row in rows)} of them contradict; {len(apart)} apart")
    model = train(rows, base, options)
    if options.average_with is not None:
        own = {name: torch.from_numpy(values.astype("float32")) for name, values in model.adapter().items()}
        mean = averaged([own, read_safetensors(options.average_with)], options.rank)
        start_from(model, {name: values.to(options.device) for name, values in mean.items()})
    for name, some in {"kept apart": apart, **{path.stem: read_pairs(path) for path in options.check}}.items():
        report(
            name,
            torch.tensor(scores_of(model, [read_together(tokens.ids, pair) for pair in some], options.device)),
            some,
        )
    write_half_precision(options.out, model.adapter(), {"rank": str(options.rank), "seed": str(options.seed)})


if __name__ == "__main__":
    main()
