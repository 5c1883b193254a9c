"""Let larger models teach the contradiction model: `python -m training.teacher LABELS --weights FOLDER`.

Several cross-encoders of twelve layers learn the pairs that were written for it. Then they say of many pairs that
nobody labelled, and of the labelled ones, how likely the later statement contradicts the earlier one.
`tune_contradictions --taught LABELS` learns from that. The teachers are not kept, and nothing of them is shipped.

FOLDER has `model.safetensors`, `config.json` and `tokenizer.json` of all-mpnet-base-v2. It needs a GPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from training.encoder import Encoder, merged, read_safetensors
from training.statement_pairs import KINDS, NONE, Pair, read_pairs
from training.tune_contradictions import embed, mixed_pairs, report, world_pairs
from training.tune_encoder import Tokens
from training.worlds import read_worlds

LENGTH = 192
PADDING = 1
# Of the labelled pairs, what the label counts against what the teachers say.
LABEL_WEIGHT = 0.5


class Taught(NamedTuple):
    """An earlier and a later statement, and how likely the teachers find that they contradict each other."""

    earlier: str
    later: str
    likelihood: float


class Teacher(nn.Module):
    """Two statements to a score, and to how they contradict each other."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.from_pretrained(folder)
        self.model = AutoModel.from_config(config, add_pooling_layer=False)
        self.model.load_state_dict(read_safetensors(folder / "model.safetensors"), strict=False)
        self.head = nn.Linear(config.hidden_size, 1)
        self.kinds = nn.Linear(config.hidden_size, len(KINDS))

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(pooled).squeeze(-1).float(), self.kinds(pooled).float()


def read_tokens(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch([(pair.earlier, pair.later) for pair in pairs])]


def as_tensors(rows: Sequence[Sequence[int]], device: str) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[PADDING] * (longest - len(row))] for row in rows], device=device)
    return ids, (ids != PADDING).long()


def train(folder: Path, rows: Sequence[list[int]], pairs: Sequence[Pair], options: argparse.Namespace) -> Teacher:
    model = Teacher(folder).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    total = options.epochs * len(rows) / options.batch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / (0.06 * total)) * max(0.0, 1 - n / total)
    )
    order = list(range(len(rows)))
    for _epoch in range(options.epochs):
        model.train()
        for places in batches_of(order, rows, options.batch):
            with torch.autocast(options.device, dtype=torch.bfloat16):
                scores, kinds = model(*as_tensors([rows[place] for place in places], options.device))
            right = torch.tensor([float(pairs[place].kind != NONE) for place in places], device=options.device)
            kind = torch.tensor([KINDS.index(pairs[place].kind) for place in places], device=options.device)
            loss = functional.binary_cross_entropy_with_logits(scores, right)
            loss = loss + 0.3 * functional.cross_entropy(kinds, kind)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return model


def batches_of(order: list[int], rows: Sequence[list[int]], size: int) -> Iterator[list[int]]:
    """All places in random order, those of rows of similar length together."""
    random.shuffle(order)
    for start in range(0, len(order), 16 * size):
        pool = sorted(order[start : start + 16 * size], key=lambda place: len(rows[place]))
        parts = [pool[first : first + size] for first in range(0, len(pool), size)]
        random.shuffle(parts)
        yield from parts


@torch.no_grad()
def scores_of(model: Teacher, rows: Sequence[list[int]], device: str) -> Tensor:
    model.eval()
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    scores = torch.zeros(len(rows))
    for start in range(0, len(order), 512):
        places = order[start : start + 512]
        with torch.autocast(device, dtype=torch.bfloat16):
            found, _kinds = model(*as_tensors([rows[place] for place in places], device))
        scores[torch.tensor(places)] = found.cpu()
    return scores


@torch.no_grad()
def unlabelled_pairs(encoder: Encoder, tokens: Tokens, pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Statements with others that are near them: of the pairs, each half with halves of other pairs, and of worlds."""
    chance = random.Random(0)
    found: list[Pair] = []
    earlier = list(dict.fromkeys(pair.earlier for pair in pairs))
    later = list(dict.fromkeys(pair.later for pair in pairs))
    found += near_pairs(encoder, tokens, earlier, later, 6)
    found += near_pairs(encoder, tokens, later, earlier, 3)
    found += near_pairs(encoder, tokens, later, later, 4)
    found += near_pairs(encoder, tokens, earlier, earlier, 3)
    for world in read_worlds():
        if world.kind in ("notes", "agent") and not world.held_out:
            lines = [line.text for line in world.lines if 0 < len(line.text) <= 400]
            if len(lines) > 8:
                found += near_pairs(encoder, tokens, lines, lines, 5)
    known = {(pair.earlier, pair.later) for pair in pairs}
    fresh = [pair for pair in dict.fromkeys(found) if (pair.earlier, pair.later) not in known]
    # The two halves of a pair the other way round: what was changed back.
    fresh += [Pair(NONE, pair.later, pair.earlier) for pair in pairs]
    chance.shuffle(fresh)
    return fresh[:count]


def near_pairs(
    encoder: Encoder, tokens: Tokens, olds: Sequence[str], news: Sequence[str], nearest: int
) -> Iterator[Pair]:
    """Each new statement with the old ones nearest to it."""
    first, second = embed(encoder, tokens, olds), embed(encoder, tokens, news)
    for start in range(0, len(news), 2048):
        cosines = second[start : start + 2048] @ first.T
        places = cosines.topk(min(nearest + 1, len(olds)), dim=1).indices.tolist()
        for number, row in enumerate(places, start):
            for place in row:
                if olds[place] != news[number]:
                    yield Pair(NONE, olds[place], news[number])


def write_labels(path: Path, taught: Sequence[Taught]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for one in taught:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


def read_labels(path: Path) -> list[Taught]:
    """What the teachers said."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [Taught(*json.loads(line)) for line in file]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the labels that are written, as gzipped JSON lines")
    parser.add_argument("--weights", type=Path, required=True, help="the folder of all-mpnet-base-v2")
    parser.add_argument("--encoder", type=Path, default=Path("packaging/encoder.safetensors"))
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where the base model is")
    parser.add_argument("--check", type=Path, nargs="*", default=[], help="files of pairs to judge the teachers on")
    parser.add_argument("--teachers", type=int, default=3)
    parser.add_argument("--unlabelled", type=int, default=400_000)
    parser.add_argument("--from-worlds", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args(arguments)
    tokenizer = Tokenizer.from_file(str(options.weights / "tokenizer.json"))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.no_padding()
    pairs = list(dict.fromkeys(read_pairs()))
    apart = [pair for pair in pairs if pair.held_out]
    labelled = [pair for pair in pairs if not pair.held_out]
    encoder_tokens = Tokens(options.folder / "tokenizer.json", 256)
    base = merged(read_safetensors(options.folder / "base.safetensors"), read_safetensors(options.encoder))
    encoder = Encoder(base, 1).to(options.device)
    learned = [*labelled, *world_pairs(encoder, encoder_tokens, pairs, options.from_worlds)]
    learned += mixed_pairs(encoder, encoder_tokens, labelled, 1)
    unlabelled = unlabelled_pairs(encoder, encoder_tokens, labelled, options.unlabelled)
    checks = {"kept apart": apart} | {path.stem: read_pairs(path) for path in options.check}
    print(f"{len(learned)} pairs to learn, {len(unlabelled)} to label")
    rows = read_tokens(tokenizer, learned)
    asked = [*labelled, *unlabelled]
    asked_rows = read_tokens(tokenizer, asked)
    total = torch.zeros(len(asked))
    check_rows = {name: read_tokens(tokenizer, some) for name, some in checks.items()}
    check_totals = {name: torch.zeros(len(some)) for name, some in checks.items()}
    for number in range(options.teachers):
        began = time.monotonic()
        torch.manual_seed(number)
        random.seed(number)
        model = train(options.weights, rows, learned, options)
        print(f"teacher {number}: {time.monotonic() - began:.0f} s", flush=True)
        for name, some in checks.items():
            scores = scores_of(model, check_rows[name], options.device)
            check_totals[name] += scores
            report(f"teacher {number}, {name}", scores, some)
        total += scores_of(model, asked_rows, options.device)
        print(f"labelled after {time.monotonic() - began:.0f} s", flush=True)
    for name, some in checks.items():
        report(f"all teachers, {name}", check_totals[name], some)
    likelihoods = torch.sigmoid(total / options.teachers).tolist()
    taught = []
    for pair, likelihood in zip(asked, likelihoods, strict=True):
        taught.append(Taught(pair.earlier, pair.later, round(likelihood, 4)))
    for place, pair in enumerate(labelled):
        label = float(pair.kind != NONE)
        mixed = LABEL_WEIGHT * label + (1 - LABEL_WEIGHT) * taught[place].likelihood
        taught[place] = taught[place]._replace(likelihood=round(mixed, 4))
    write_labels(options.out, taught)
    print(f"{sum(likelihood > 0.5 for likelihood in likelihoods)} of {len(taught)} pairs are found to contradict")


if __name__ == "__main__":
    main()
