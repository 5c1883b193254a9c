"""Teach the cross-encoder: `python -m training.tune_cross_encoder OUT --encoder ADAPTER`.

It reads a question and a memory together: another adapter of low rank on the tuned encoder, and a head. It learns
from lists: the memories of a world that the product finds for a question (`training.examples --ranked`) and those that
the encoder finds nearest, those that answer among them. Beside them stands "nothing answers", which is right for
questions that nothing answers and, now and then, for a question whose answers were left out. So its score means
something by itself: above 0 a memory answers rather than not.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.base_model import write_half_precision
from training.encoder import LAYERS, WIDTH, Encoder, learned_parameters, merged, pad, read_safetensors
from training.tune_encoder import Memory, Tokens, by_item, cosines, read_examples

# What is read: of the question, of the memory, and of what was said before it.
QUESTION_TOKENS, PASSAGE_TOKENS, BEFORE_TOKENS = 48, 128, 32
CANDIDATES, SHOWN = 30, 20
PARTS = 6


@dataclass(frozen=True, slots=True)
class Look:
    """One question with its nearest items: what is read of each, its cosine, and which of them answer."""

    part: str
    kind: str
    type: str
    rows: list[tuple[list[int], int]]
    cosines: list[float]
    answers: list[bool]
    gold: int


class CrossEncoder(nn.Module):
    """A question and a memory to one number."""

    def __init__(self, tensors: dict[str, Tensor], rank: int, seed: int, layers: int) -> None:
        super().__init__()
        self.encoder = Encoder(tensors, rank, seed, layers)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, rows: Sequence[tuple[list[int], int]], device: str) -> Tensor:
        """One number for each row; rows of similar length are read together."""
        order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))
        size = -(-len(rows) // PARTS)
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        scores = torch.cat([self.scores([rows[n] for n in part], device) for part in parts])
        return scores[torch.tensor(order, device=device).argsort()]

    def scores(self, rows: Sequence[tuple[list[int], int]], device: str) -> Tensor:
        return self.head(self.pooled(rows, device)).squeeze(-1)

    def pooled(self, rows: Sequence[tuple[list[int], int]], device: str) -> Tensor:
        """One vector for each row."""
        ids, mask = pad([row for row, _ in rows], device)
        places = torch.arange(ids.shape[1], device=device)[None, :]
        types = (places >= torch.tensor([first for _, first in rows], device=device)[:, None]).long()
        hidden = self.encoder(ids, mask, types)
        return (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)

    def adapter(self) -> dict[str, np.ndarray[Any, Any]]:
        learned = self.encoder.adapter()
        for part in ("weight", "bias"):
            learned[f"head.{part}"] = getattr(self.head, part).detach().float().cpu().numpy().astype(np.float16)
        return learned


def read_together(question: list[int], passage: tuple[list[int], int, int]) -> tuple[list[int], int]:
    """The tokens of a question and of a memory with what was said before it, and where the memory begins."""
    ids, start, stop = passage
    first, last = ids[0], ids[-1]
    own = ids[start:stop] if start else ids[1:-1]
    before = ids[1:start][-BEFORE_TOKENS:] if start else []
    asked = question[1:-1][:QUESTION_TOKENS]
    return [first, *asked, last, *before, *own[:PASSAGE_TOKENS], last], len(asked) + 2


@torch.no_grad()
def looks(encoder: Encoder, memories: Sequence[Memory], device: str) -> list[Look]:
    """Every question with the items that the encoder finds nearest."""
    found = []
    for memory in memories:
        passages = cosines(encoder, memory, device)
        scores = by_item(passages, torch.tensor(memory.items, device=device), memory.count)
        nearest = scores.topk(min(CANDIDATES, memory.count)).indices.tolist()
        passages, scores = passages.cpu(), scores.cpu()
        places: dict[int, list[int]] = defaultdict(list)
        for place, item in enumerate(memory.items):
            places[item].append(place)
        for number, (ids, gold, type_, ranked) in enumerate(memory.questions):
            order = list(dict.fromkeys([*ranked, *nearest[number]]))[: max(CANDIDATES, len(ranked))]
            if memory.part == "train":
                order = [*order, *(item for item in gold if item not in order)]
            row = passages[number].tolist()
            best = {item: max(places[item], key=row.__getitem__) for item in order}
            found.append(
                Look(
                    memory.part,
                    memory.kind,
                    type_,
                    [read_together(ids, memory.passages[best[item]]) for item in order],
                    [float(scores[number, item]) for item in order],
                    [item in gold for item in order],
                    len(gold),
                )
            )
    return found


def train(training: list[Look], base: dict[str, Tensor], options: argparse.Namespace) -> CrossEncoder:
    chance = random.Random(options.seed)
    torch.manual_seed(options.seed)
    model = CrossEncoder(base, options.rank, options.seed, options.layers).to(options.device)
    total = options.epochs * len(training) / options.group
    optimizer = torch.optim.AdamW(list(learned_parameters(model)), lr=options.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / (0.1 * total)) * max(0.02, 1 - n / total)
    )
    for epoch in range(options.epochs):
        began, losses = time.monotonic(), []
        chance.shuffle(training)
        for start in range(0, len(training), options.group):
            rows, sizes, right = [], [], []
            for look in training[start : start + options.group]:
                answers = [n for n, answer in enumerate(look.answers) if answer]
                others = [n for n, answer in enumerate(look.answers) if not answer]
                without = not answers or chance.random() < options.left_out
                shown = sorted(chance.sample(others, min(len(others), SHOWN)))
                if not without:
                    # One of the answers at a time: the others must not push it down.
                    shown = [chance.choice(answers), *shown]
                rows += [look.rows[n] for n in shown]
                sizes.append(len(shown))
                right.append(0 if without else 1)
            scores = model(rows, options.device)
            # A row for each question; the first column is "nothing answers".
            lists = torch.nn.utils.rnn.pad_sequence(
                [torch.cat([scores.new_zeros(1), part]) for part in scores.split(sizes)], True, -1e4
            )
            loss = functional.cross_entropy(lists, torch.tensor(right, device=options.device))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(learned_parameters(model)), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean().item()
        print(f"epoch {epoch + 1}: loss {mean:.3f}, {time.monotonic() - began:.0f} s", flush=True)
    return model


@torch.no_grad()
def scores_of(model: CrossEncoder, checking: Sequence[Look], device: str) -> list[list[float]]:
    results = []
    for start in range(0, len(checking), 16):
        group = checking[start : start + 16]
        rows = [row for look in group for row in look.rows]
        results += [part.cpu().tolist() for part in model(rows, device).split([len(look.rows) for look in group])]
    return results


def evaluate(
    checking: Sequence[Look], scores: Sequence[Sequence[float]], weights: Sequence[float]
) -> dict[float, dict[str, str]]:
    """R@10 and MRR by part when its score counts so much beside the cosine, and what it refuses alone."""
    table: dict[float, dict[str, str]] = {}
    for weight in weights:
        figures: dict[str, list[tuple[float, float]]] = defaultdict(list)
        best: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for look, row in zip(checking, scores, strict=True):
            if look.rows:
                answered, unanswered = best[look.part]
                if look.gold:
                    answered += [max((s for s, a in zip(row, look.answers, strict=True) if a), default=-99.0)]
                else:
                    unanswered.append(max(row))
            if not look.gold:
                continue
            mixed = [cosine + weight * score for cosine, score in zip(look.cosines, row, strict=True)]
            order = sorted(range(len(mixed)), key=lambda n: -mixed[n])
            places = [place for place, n in enumerate(order, 1) if look.answers[n]]
            result = (sum(p <= 10 for p in places) / look.gold, 1 / places[0] if places else 0.0)
            names = (look.part, *((f"check/{look.kind}", f"check/{look.type}") if look.part == "check" else ()))
            for name in names:
                figures[name].append(result)
        row_: dict[str, str] = {}
        for name, values in sorted(figures.items()):
            recall, reciprocal = (100 * sum(column) / len(values) for column in zip(*values, strict=True))
            row_[name] = f"{recall:.1f}/{reciprocal:.1f}"
            answered, unanswered = best[name]
            if unanswered:
                border = sorted(answered)[len(answered) // 20]
                refused = sum(score < border for score in unanswered) / len(unanswered)
                row_[name] += f" refused {100 * refused:.0f} (border {border:.1f})"
        table[weight] = row_
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the adapter that is written")
    parser.add_argument("--encoder", type=Path, required=True, help="the adapter of the encoder")
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where base model and examples are")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--layers", type=int, default=LAYERS, help="how many layers of the encoder it has")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--group", type=int, default=64, help="questions in a step")
    parser.add_argument("--left-out", type=float, default=0.2, help="share of questions without their answers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    tokens = Tokens(options.folder / "tokenizer.json", 256)
    memories = read_examples(options.folder / "examples.jsonl.gz", tokens)
    base = merged(read_safetensors(options.folder / "base.safetensors"), read_safetensors(options.encoder))
    found = looks(Encoder(base, 1).to(options.device), memories, options.device)
    model = train([look for look in found if look.part == "train"], base, options)
    checking = [look for look in found if look.part != "train"]
    for weight, row in evaluate(checking, scores_of(model, checking, options.device), (0.0, 0.02, 0.05, 0.1)).items():
        print(weight, row)
    write_half_precision(options.out, model.adapter(), {"rank": str(options.rank), "seed": str(options.seed)})


if __name__ == "__main__":
    main()
