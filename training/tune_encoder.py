"""Teach the built-in model what a question about a memory looks like: `python -m training.tune_encoder OUT`.

Contrastive tuning of a low-rank adapter, in the very form in which the product reads. A step takes all items of a few
worlds and some of their questions: everything in the same world that does not answer is a hard negative. An item is as
near as the nearest of its passages, as in the product. Questions that nothing answers have to be further from
everything than a learned border, which is what lets a score say "no answer".

Needs PyTorch, the files of `training.examples` and of `training.base_model`, and best a GPU (five minutes); without one
it takes hours.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.base_model import write_half_precision
from training.encoder import Encoder, learned_parameters, merged, pad, read_safetensors

# On a GPU, products of matrices are rounded to 11 bits: several times quicker, and no worse here.
torch.backends.cuda.matmul.allow_tf32 = True

CONTEXT_TOKENS = 64
WORLDS, QUESTIONS = 6, 12
EVALUATED = 256


@dataclass(slots=True)
class Memory:
    """An example with its tokens."""

    name: str
    kind: str
    part: str
    passages: list[tuple[list[int], int, int]]
    items: list[int]
    questions: list[tuple[list[int], frozenset[int], str, list[int]]]
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = max(self.items) + 1


class Tokens:
    """Texts to tokens as the product does it (commonplace/embed/model_files.py)."""

    def __init__(self, path: Path, longest: int) -> None:
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)
        self._longest = longest

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def passage(self, text: str, before: str) -> tuple[list[int], int, int]:
        first, *own, last = self.ids(text)
        room = min(CONTEXT_TOKENS, self._longest - 2 - len(own))
        context = self.ids(before)[1:-1][-room:] if before and room > 0 else []
        if not context:
            return [first, *own, last], 0, len(own) + 2
        return [first, *context, *own, last], 1 + len(context), 1 + len(context) + len(own)


def read_examples(path: Path, tokens: Tokens) -> list[Memory]:
    memories = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            example: dict[str, Any] = json.loads(line)
            memories.append(
                Memory(
                    example["name"],
                    example["kind"],
                    example["part"],
                    [tokens.passage(passage["text"], passage["before"]) for passage in example["passages"]],
                    [passage["item"] for passage in example["passages"]],
                    [
                        (tokens.ids(question["text"]), frozenset(question["gold"]), question["type"], question["found"])
                        for question in example["questions"]
                    ],
                )
            )
    return memories


def embed_passages(encoder: Encoder, passages: Sequence[tuple[list[int], int, int]], device: str) -> Tensor:
    ids, mask = pad([row for row, _, _ in passages], device)
    pooled = torch.zeros_like(mask)
    for number, (_, start, stop) in enumerate(passages):
        pooled[number, start:stop] = 1
    return functional.normalize((encoder(ids, mask) * pooled[:, :, None]).sum(1), dim=-1)


def embed_questions(encoder: Encoder, rows: Sequence[list[int]], device: str) -> Tensor:
    return embed_passages(encoder, [(row, 0, len(row)) for row in rows], device)


def by_item(scores: Tensor, items: Tensor, count: int) -> Tensor:
    """Scores of passages (questions x passages) as those of their items: the best counts."""
    best = scores.new_full((scores.shape[0], count), -1e4)
    return best.scatter_reduce(1, items.expand_as(scores), scores, "amax")


def steps(memories: Sequence[Memory], chance: random.Random) -> Iterator[list[tuple[Memory, list[int]]]]:
    """An epoch: every question once, with a few worlds in each step."""
    waiting = {
        n: chance.sample(range(len(memory.questions)), len(memory.questions)) for n, memory in enumerate(memories)
    }
    while waiting:
        chosen = chance.sample(sorted(waiting), min(WORLDS, len(waiting)))
        step = []
        for number in chosen:
            step.append(
                (memories[number], [waiting[number].pop() for _ in range(min(QUESTIONS, len(waiting[number])))])
            )
            if not waiting[number]:
                del waiting[number]
        yield step


def loss_of(
    encoder: Encoder, border: Tensor, step: Sequence[tuple[Memory, list[int]]], options: argparse.Namespace
) -> Tensor:
    passages, items, rows, gold, first = [], [], [], [], 0
    for memory, numbers in step:
        passages += memory.passages
        items += [first + item for item in memory.items]
        for number in numbers:
            ids, answers, _, _ = memory.questions[number]
            rows.append(ids)
            gold.append([first + item for item in answers])
        first += memory.count
    vectors = embed_passages(encoder, [*((row, 0, len(row)) for row in rows), *passages], options.device)
    scores = by_item(vectors[: len(rows)] @ vectors[len(rows) :].T, torch.tensor(items, device=options.device), first)
    # The last column is "nothing answers".
    logits = torch.cat([scores, border.expand(len(rows), 1)], dim=1) / options.temperature
    answering = torch.zeros(len(rows), first + 1, dtype=torch.bool)
    share = torch.zeros(len(rows), first + 1)
    for row, answers in enumerate(gold):
        right = answers or [first]
        answering[row, right] = True
        share[row, right] = 1 / len(right) if answers else options.none_weight
    answering, share = answering.to(options.device), share.to(options.device)
    # Each answer by itself against what does not answer: answers must not push each other down.
    others = logits.masked_fill(answering, -1e4).logsumexp(1, keepdim=True)
    return (functional.softplus(others - logits) * share).sum() / len(rows)


@torch.no_grad()
def cosines(encoder: Encoder, memory: Memory, device: str) -> Tensor:
    """How near every question of a memory is to every passage (questions x passages)."""

    def batches(rows: Sequence[Any], embed: Any) -> Tensor:
        return torch.cat([embed(encoder, rows[n : n + EVALUATED], device) for n in range(0, len(rows), EVALUATED)])

    questions = batches([ids for ids, *_ in memory.questions], embed_questions)
    return questions @ batches(memory.passages, embed_passages).T


@torch.no_grad()
def evaluate(encoder: Encoder, memories: Sequence[Memory], device: str) -> dict[str, dict[str, float]]:
    """How well meaning alone finds answers, by part, and for checking worlds by kind and by type of question."""
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    answered: dict[str, list[float]] = defaultdict(list)
    unanswered: dict[str, list[float]] = defaultdict(list)
    for memory in memories:
        if memory.part == "train":
            continue
        near = cosines(encoder, memory, device)
        scores = by_item(near, torch.tensor(memory.items, device=device), memory.count).cpu()
        for (_, gold, type_, _), row in zip(memory.questions, scores, strict=True):
            if not gold:
                unanswered[memory.part].append(float(row.max()))
                continue
            order = row.argsort(descending=True).tolist()
            places = sorted(order.index(item) + 1 for item in gold)
            figures = (
                sum(place <= 10 for place in places) / len(gold),
                sum(place <= 20 for place in places) / len(gold),
                1 / places[0],
            )
            answered[memory.part].append(float(row[list(gold)].max()))
            for name in (memory.part, *((f"check/{memory.kind}", f"check/{type_}") if memory.part == "check" else ())):
                found[name].append(figures)
    result = {}
    for name, rows_ in sorted(found.items()):
        recall10, recall20, reciprocal = (sum(column) / len(rows_) for column in zip(*rows_, strict=True))
        result[name] = {
            "questions": len(rows_),
            "R@10": 100 * recall10,
            "R@20": 100 * recall20,
            "MRR": 100 * reciprocal,
        }
        if unanswered[name]:
            threshold = sorted(answered[name])[len(answered[name]) // 20]
            result[name]["refused"] = 100 * sum(score < threshold for score in unanswered[name]) / len(unanswered[name])
    return result


def show(title: str, figures: dict[str, dict[str, float]], *, brief: bool = True) -> None:
    print(title)
    for name, row in figures.items():
        if not brief or "/" not in name:
            print(f"  {name:<20}" + "".join(f" {key} {value:.1f}" for key, value in row.items()))
    print(end="", flush=True)


def train(memories: Sequence[Memory], base: dict[str, Tensor], options: argparse.Namespace) -> Encoder:
    chance = random.Random(options.seed)
    torch.manual_seed(options.seed)
    encoder = Encoder(base, options.rank, options.seed).to(options.device)
    border = torch.nn.Parameter(torch.tensor(0.4, device=options.device))
    training = [memory for memory in memories if memory.part == "train"]
    total = options.epochs * sum(len(memory.questions) for memory in training) / (WORLDS * QUESTIONS)
    optimizer = torch.optim.AdamW([*learned_parameters(encoder), border], lr=options.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / (0.1 * total)) * max(0.02, 1 - n / total)
    )
    for epoch in range(options.epochs):
        began, losses = time.monotonic(), []
        for step in steps(training, chance):
            loss = loss_of(encoder, border, step, options)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(learned_parameters(encoder)), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean().item()
        print(
            f"epoch {epoch + 1}: loss {mean:.3f}, border {border.item():.3f}, {time.monotonic() - began:.0f} s",
            flush=True,
        )
    return encoder


def averaged(adapters: Sequence[dict[str, np.ndarray[Any, Any]]], share: float) -> dict[str, np.ndarray[Any, Any]]:
    """A share of the mean of what several runs learned; its rank is the sum of theirs."""
    result: dict[str, np.ndarray[Any, Any]] = {}
    for name in (name.removesuffix(".up") for name in adapters[0] if name.endswith(".up")):
        up = np.concatenate([adapter[f"{name}.up"].astype(np.float32) for adapter in adapters], axis=1)
        result[f"{name}.up"] = (up * share / len(adapters)).astype(np.float16)
        result[f"{name}.down"] = np.concatenate([adapter[f"{name}.down"] for adapter in adapters], axis=0)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the adapter that is written")
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where base model and examples are")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--temperature", type=float, default=0.05)
    parser.add_argument("--none-weight", type=float, default=0.6)
    parser.add_argument("--share", type=float, default=0.9, help="how much of what was learned is written")
    parser.add_argument("--runs", type=int, default=2, help="runs with other seeds, whose results are averaged")
    parser.add_argument("--longest", type=int, default=256, help="tokens that are read of a text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    memories = read_examples(
        options.folder / "examples.jsonl.gz", Tokens(options.folder / "tokenizer.json", options.longest)
    )
    base = read_safetensors(options.folder / "base.safetensors")
    adapters = []
    for _ in range(options.runs):
        adapters.append(train(memories, base, options).adapter())
        options.seed += 1
    adapter = averaged(adapters, options.share)
    written = {name: torch.from_numpy(values.astype(np.float32)) for name, values in adapter.items()}
    tuned = Encoder(merged(base, written), 1).to(options.device)
    show("tuned", evaluate(tuned, memories, options.device), brief=False)
    about = {"rank": str(options.rank * options.runs), "runs": str(options.runs), "share": str(options.share)}
    write_half_precision(options.out, adapter, about)


if __name__ == "__main__":
    main()
