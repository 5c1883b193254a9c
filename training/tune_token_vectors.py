"""Teach the model small vectors of single words: `python -m training.tune_token_vectors OUT --encoder ADAPTER`.

The vector of a passage says what it is about as a whole. To compare a question with it word by word, each token gets a
short vector of its own: the last layers of the encoder are taken a second time, with an adapter of low rank, and end in
a projection. Each token of the question counts for the most similar one of the passage, weighted by how much it
matters, which is learned too. The encoder itself stays as it is, so its hidden states are computed once.

Needs what `training.tune_encoder` needs and a GPU of 16 GB (two minutes); without one it takes hours.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.base_model import write_half_precision
from training.encoder import LAYERS, STEPS, WIDTH, Encoder, Layer, learned_parameters, merged, pad, read_safetensors
from training.tune_encoder import Memory, Tokens, by_item, read_examples

WORLDS, QUESTIONS = 8, 12
EVALUATED = 128
# Similarities that are computed at once, and tokens that are read at once.
MOST_SIMILARITIES, MOST_TOKENS = 250_000_000, 24_000
# How much the similarity counts beside the cosine where the two are shown together.
WEIGHTS = (0.0, 0.5, 1.0)

Row = tuple[list[int], int, int]


class HiddenStates:
    """What the encoder makes of the tokens of many texts, after some of its layers and pooled after the last."""

    @torch.no_grad()
    def __init__(self, encoder: Encoder, rows: Sequence[Row], level: int, device: str) -> None:
        self.lengths = [len(ids) for ids, _, _ in rows]
        self._device = device
        self._first = torch.tensor([0, *np.cumsum(self.lengths)], device=device)
        self._length = torch.tensor(self.lengths, device=device)
        self._own = torch.tensor([(start, stop) for _, start, stop in rows], device=device)
        kind = torch.float16 if device.startswith("cuda") else torch.float32
        self._states = torch.empty(sum(self.lengths), WIDTH, dtype=kind, device=device)
        self.pooled = torch.empty(len(rows), WIDTH, device=device)
        order = sorted(range(len(rows)), key=self.lengths.__getitem__)
        for start in range(0, len(order), 256):
            some = order[start : start + 256]
            ids, mask = pad([rows[n][0] for n in some], device)
            x, readable = encoder.embedded(ids), mask.bool()[:, None, None, :]
            for number, layer in enumerate(encoder.layers):
                if number == level:
                    places = torch.arange(ids.shape[1], device=device)[None, :] + self._first[some][:, None]
                    self._states[places[mask.bool()]] = x[mask.bool()].to(kind)
                x = layer(x, readable)
            self.pooled[some] = functional.normalize((x * self._is_own(some, ids.shape[1])[:, :, None]).sum(1), dim=-1)

    def read(self, some: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """The states of these texts, which of them are there, and which belong to the text itself."""
        longest = max(self.lengths[n] for n in some)
        places = torch.arange(longest, device=self._device)[None, :]
        there = places < self._length[some][:, None]
        flat = (self._first[some][:, None] + places).clamp(max=len(self._states) - 1)
        return self._states[flat].float() * there[:, :, None], there, self._is_own(some, longest)

    def _is_own(self, some: Sequence[int], longest: int) -> Tensor:
        places, own = torch.arange(longest, device=self._device)[None, :], self._own[some]
        return (places >= own[:, :1]) & (places < own[:, 1:])

    def groups(self, some: Sequence[int]) -> Iterator[list[int]]:
        """These texts in groups of similar length."""
        group: list[int] = []
        for n in sorted(some, key=self.lengths.__getitem__):
            longer = group and self.lengths[n] > 1.6 * self.lengths[group[0]] + 8
            if group and (longer or (len(group) + 1) * self.lengths[n] > MOST_TOKENS):
                yield group
                group = []
            group.append(n)
        yield group


class TokenVectors(nn.Module):
    """The last layers once more, a short vector for each token, and how much each token of a question matters."""

    def __init__(self, tensors: dict[str, Tensor], options: argparse.Namespace) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(options.seed)
        self.level = LAYERS - options.layers
        self.layers = nn.ModuleList(
            Layer(tensors, f"encoder.layer.{number}", options.rank, generator) for number in range(self.level, LAYERS)
        )
        orthogonal, _ = torch.linalg.qr(torch.randn(WIDTH, options.dim, generator=generator))
        self.project = nn.Parameter(orthogonal.T.contiguous())
        self.weigh = nn.Linear(WIDTH, 1)
        nn.init.zeros_(self.weigh.weight)
        self.scale, self.border = nn.Parameter(torch.tensor(3.0)), nn.Parameter(torch.tensor(0.5))

    def forward(self, states: HiddenStates, some: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """The vector of each token, its share in what matters, and whether it belongs to the text."""
        x, there, own = states.read(some)
        for layer in self.layers:
            x = layer(x, there[:, None, None, :])
        weights = functional.softplus(self.weigh(x)).squeeze(-1) * there
        vectors = functional.normalize(functional.linear(x, self.project), dim=-1)
        return vectors, weights / weights.sum(1, keepdim=True), own

    def learned(self) -> dict[str, np.ndarray[Any, Any]]:
        """What was learned, by the names of the weights that it is added to."""
        tensors = {
            f"encoder.layer.{number}.{name}.{part}": getattr(getattr(layer, own), part)
            for number, layer in enumerate(self.layers, self.level)
            for own, name in STEPS.items()
            for part in ("up", "down")
        }
        tensors |= {"project.weight": self.project, "weigh.weight": self.weigh.weight, "weigh.bias": self.weigh.bias}
        return {name: value.detach().float().cpu().numpy().astype(np.float16) for name, value in tensors.items()}


def similarities(asked: Tensor, weights: Tensor, read: Tensor, own: Tensor) -> Tensor:
    """Questions x passages: each token of a question counts for its most similar one, as far as it matters."""
    size = max(1, MOST_SIMILARITIES // (read.shape[0] * read.shape[1] * asked.shape[1]))
    parts = []
    for start in range(0, len(asked), size):
        pairs = torch.einsum("qid,pjd->qpij", asked[start : start + size], read)
        best = pairs.masked_fill(~own[None, :, None, :], -1.0).amax(3)
        parts.append((best * weights[start : start + size, None, :]).sum(2))
    return torch.cat(parts)


class Corpus:
    """All memories with the hidden states of their passages and questions."""

    def __init__(self, memories: Sequence[Memory], encoder: Encoder, level: int, device: str) -> None:
        self.memories, self.device = memories, device
        rows: list[Row] = []
        asked: list[Row] = []
        self._places = []
        for memory in memories:
            self._places.append((len(rows), len(asked)))
            rows += memory.passages
            asked += [(ids, 0, len(ids)) for ids, *_ in memory.questions]
        self.passages = HiddenStates(encoder, rows, level, device)
        self.questions = HiddenStates(encoder, asked, level, device)

    def scores(self, model: TokenVectors, step: Sequence[tuple[int, Sequence[int]]]) -> tuple[Tensor, Tensor, Any]:
        """Cosines and similarities of questions and items (numbers of memories and of their questions), and answers."""
        passages, items, asked, gold, first = [], [], [], [], 0
        for number, questions in step:
            memory, (first_passage, first_question) = self.memories[number], self._places[number]
            passages += range(first_passage, first_passage + len(memory.passages))
            items += [first + item for item in memory.items]
            for question in questions:
                asked.append(first_question + question)
                gold.append([first + item for item in memory.questions[question][1]])
            first += memory.count
        vectors, weights, _ = model(self.questions, asked)
        place = {n: k for k, n in enumerate(passages)}
        groups = list(self.passages.groups(passages))
        found = [similarities(vectors, weights, *_without_weights(model(self.passages, group))) for group in groups]
        order = torch.tensor([place[n] for group in groups for n in group], device=self.device)
        similar = torch.cat(found, 1)[:, order.argsort()]
        cosines = self.questions.pooled[asked] @ self.passages.pooled[passages].T
        of = torch.tensor(items, device=self.device)
        return by_item(cosines, of, first), by_item(similar, of, first), gold


def _without_weights(read: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return read[0], read[2]


def steps(memories: Sequence[Memory], chance: random.Random) -> Iterator[list[tuple[int, list[int]]]]:
    """An epoch: every question of the training worlds once, with a few worlds in each step."""
    waiting = {
        n: chance.sample(range(len(memory.questions)), len(memory.questions))
        for n, memory in enumerate(memories)
        if memory.part == "train"
    }
    while waiting:
        step = []
        for number in chance.sample(sorted(waiting), min(WORLDS, len(waiting))):
            left = waiting[number]
            step.append((number, [left.pop() for _ in range(min(QUESTIONS, len(left)))]))
            if not left:
                del waiting[number]
        yield step


def loss_of(logits: Tensor, gold: Sequence[Sequence[int]], none_weight: float) -> Tensor:
    """Each answer by itself against what does not answer; the last column is "nothing answers"."""
    count, last = logits.shape[0], logits.shape[1] - 1
    share = torch.zeros(logits.shape)
    for row, answers in enumerate(gold):
        share[row, answers or [last]] = 1 / len(answers) if answers else none_weight
    share = share.to(logits.device)
    others = logits.masked_fill(share > 0, -1e4).logsumexp(1, keepdim=True)
    return (functional.softplus(others - logits) * share).sum() / count


def train(corpus: Corpus, base: dict[str, Tensor], options: argparse.Namespace) -> TokenVectors:
    chance = random.Random(options.seed)
    torch.manual_seed(options.seed)
    model = TokenVectors(base, options).to(options.device)
    adapters = [value for name, value in model.named_parameters() if name.startswith("layers")]
    others = [value for name, value in model.named_parameters() if not name.startswith("layers")]
    groups = [{"params": others, "lr": 2e-3}, {"params": adapters, "lr": options.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    asked = sum(len(memory.questions) for memory in corpus.memories if memory.part == "train")
    total = options.epochs * asked / (WORLDS * QUESTIONS)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1.0, (n + 1) / (0.1 * total)) * max(0.02, 1 - n / total)
    )
    for epoch in range(options.epochs):
        began, losses = time.monotonic(), []
        for step in steps(corpus.memories, chance):
            _, similar, gold = corpus.scores(model, step)
            logits = torch.cat([similar, model.border.expand(len(gold), 1)], 1) * model.scale.exp()
            loss = loss_of(logits, gold, options.none_weight)
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
def evaluate(corpus: Corpus, model: TokenVectors) -> dict[str, dict[str, str]]:
    """R@10, R@20 and MRR by part: of the cosine, with the similarity of tokens beside it, and of that alone."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for number, memory in enumerate(corpus.memories):
        if memory.part == "train":
            continue
        for start in range(0, len(memory.questions), EVALUATED):
            some = list(range(start, min(start + EVALUATED, len(memory.questions))))
            cosines, similar, gold = corpus.scores(model, [(number, some)])
            ways = {f"cosine + {weight} x tokens": cosines + weight * similar for weight in WEIGHTS}
            for name, scores in (ways | {"tokens": similar}).items():
                order = scores.argsort(dim=1, descending=True).argsort(dim=1).cpu() + 1
                for row, answers in enumerate(gold):
                    if answers:
                        places = sorted(order[row, answers].tolist())
                        within = [sum(place <= depth for place in places) / len(places) for depth in (10, 20)]
                        found[memory.part, name].append((within[0], within[1], 1 / places[0]))
    table: dict[str, dict[str, str]] = defaultdict(dict)
    for (part, name), rows in sorted(found.items()):
        table[part][name] = " / ".join(f"{100 * sum(column) / len(rows):.1f}" for column in zip(*rows, strict=True))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the adapter that is written")
    parser.add_argument("--encoder", type=Path, required=True, help="the adapter of the encoder")
    parser.add_argument("--folder", type=Path, default=Path("build/training"), help="where base model and examples are")
    parser.add_argument("--layers", type=int, default=2, help="how many of the last layers are taken a second time")
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--dim", type=int, default=48, help="numbers for each token")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--none-weight", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    memories = read_examples(options.folder / "examples.jsonl.gz", Tokens(options.folder / "tokenizer.json", 256))
    base = merged(read_safetensors(options.folder / "base.safetensors"), read_safetensors(options.encoder))
    corpus = Corpus(memories, Encoder(base, 1).to(options.device), LAYERS - options.layers, options.device)
    model = train(corpus, base, options)
    for part, ways in evaluate(corpus, model).items():
        for name, figures in ways.items():
            print(f"{part:<12} {name:<20} {figures}")
    about = {"rank": str(options.rank), "layers": str(options.layers), "seed": str(options.seed)}
    write_half_precision(options.out, model.learned(), about)


if __name__ == "__main__":
    main()
