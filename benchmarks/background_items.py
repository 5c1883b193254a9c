"""Items of other kinds for dialogues to stand among, the same for the same number: a memory used for everything.

Observations of coding sessions, notes and decisions of developers, conversations about code, and small talk of people
who are in none of the dialogues; each kind in projects or folders of its own. They are written in this process, with
their vectors from the real model: it is asking that goes through a server.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import corpus, graph, planted_topics
from benchmarks.dialogue_store import digest
from benchmarks.tool_clients import InProcess
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversations
from commonplace.memory.remember import NewItem, remember_all

COUNT = 50_000
SEED = 31
NOTES_AT_ONCE, TALKS_AT_ONCE = 500, 20
# Of a hundred items: observations, notes, turns about code; the rest is small talk.
OBSERVATIONS, NOTES, CODE = 20, 40, 20
TURNS = 20
PROJECTS = 40
HOUR_MS = 3_600_000
READY = "ready"

PEOPLE = "Abel Birgit Cosmo Dagny Edda Folke Greta Hamid Ilse Joris Katya Lorin Mirek Nadia Otis Petra".split()
# Who or what, what became of it, and what is said about that. A turn takes one of each.
SMALL_TALK = (
    (
        "my sister|our neighbour|my cousin|the whole family|my uncle|a friend from school",
        "came to stay for a week|moved to the coast|had a baby girl|got married in June|opened a bakery|learns to sail",
        "and we talked all night|so the house is full|and I am so happy for them|which nobody expected|I have photos",
    ),
    (
        "the dog|our cat|the parrot|my horse|the rabbit from the shelter",
        "hid under the bed|learned a new trick|has to see the vet|ate half a cake|ran after a squirrel",
        "and it made my day|so I slept badly|and the kids laughed|which was my own fault|it is fine now",
    ),
    (
        "the trip to the mountains|camping by the lake|our week in Lisbon|the train to Vienna|the museum",
        "was better than I hoped|had to wait until spring|cost less than last year|rained away|starts on Saturday",
        "and I took a hundred pictures|so pack something warm|would you come along?|we met lovely people there",
    ),
    (
        "the lemon cake|my grandmother's soup|the new ramen place|that vegan curry|the barbecue",
        "turned out great|needs more salt|was gone in minutes|is on the menu again|burned a little",
        "and I will send you the recipe|so come hungry|what would you have cooked?|I went twice this week",
    ),
    (
        "the half marathon|my yoga class|the climbing hall|basketball on Sunday|the swimming course",
        "was harder than I thought|keeps me calm|starts again in March|hurt my knee|was full of beginners",
        "and I beat my old time|so I rest until Monday|you should try it|my coach is proud of me",
    ),
    (
        "the novel you lent me|that painting class|the pottery wheel|my guitar|the film about whales|the choir",
        "made me cry|takes all my evenings|is harder than it looks|got me through the winter|was worth every cent",
        "and I want to do more of it|so thank you for that|have you tried it?|I finished it last night",
    ),
    (
        "the new job|my boss|the interview at the clinic|the night shift|the course at college|my thesis",
        "begins in two weeks|asked me to lead the team|went well I think|wears me out|got a good grade",
        "and I am still nervous|so let us celebrate|wish me luck|I did not sleep before it|what do you think?",
    ),
)
REACTIONS = (
    "Wow!|That is great.|Oh no.|I know what you mean.|Really?|Sounds lovely.|Take care!|Thanks for asking.".split("|")
)


def observations(count: int) -> Iterator[NewItem]:
    return corpus.notes(count, seed=SEED)


def notes(count: int) -> Iterator[NewItem]:
    """What developers noted and decided about a dozen subjects, in their projects."""
    chance = random.Random(SEED)
    for number, (subject, text) in enumerate(planted_topics.notes(count, seed=SEED)):
        project = f"github.com/acme/{subject.replace(' ', '-')}-{chance.randrange(PROJECTS)}"
        where = f"In src/{subject.split()[0]}/part{chance.randrange(200)}.py: "
        type_ = chance.choice(("note", "note", "fact", "decision"))
        at = corpus.START_MS + number * HOUR_MS // 10
        yield NewItem(where + text, "memory", type_, project=project, created_ms=at)


def small_talk(count: int) -> Iterator[NewConversation]:
    """Two people at a time who tell each other what happened to them."""
    chance = random.Random(SEED)
    for number in range(count // TURNS):
        pair = chance.sample(PEOPLE, 2)
        start = corpus.START_MS + number * 7 * HOUR_MS
        messages = [
            NewMessage(
                "assistant" if turn % 2 else "user", _output(chance), start + turn * 60_000, {"name": pair[turn % 2]}
            )
            for turn in range(TURNS)
        ]
        yield NewConversation(f"Chat {number}", messages, f"/chats/{'-'.join(sorted(pair))}", key=f"chat-{number}")


@dataclass(frozen=True, slots=True)
class Others:
    """A store full of them, and their texts."""

    data_dir: Path
    texts: Sequence[str]


def others(count: int, folder: Path) -> Others:
    """So many of them in a store that is made once in a folder."""
    share = count // 100
    given = [*observations(OBSERVATIONS * share), *notes(NOTES * share)]
    talks = [*graph.talks(CODE * share), *small_talk(count - (OBSERVATIONS + NOTES + CODE) * share)]
    data_dir = folder / f"others-{count}-{digest(given, talks)}"
    if not (data_dir / READY).exists():
        began = time.perf_counter()
        print(f"\nWriting {count:,} items of other kinds; a thousand take ten to twenty seconds.", flush=True)
        with closing(InProcess(data_dir)) as door:
            for start in range(0, len(given), NOTES_AT_ONCE):
                remember_all(door.memory, given[start : start + NOTES_AT_ONCE])
            for start in range(0, len(talks), TALKS_AT_ONCE):
                store_conversations(door.memory, talks[start : start + TALKS_AT_ONCE])
            door.until_understood()
        (data_dir / READY).touch()
        print(f"Written and understood in {time.perf_counter() - began:.0f} s.", flush=True)
    return Others(
        data_dir, [_words(note) for note in given] + [messages.content for talk in talks for messages in talk.messages]
    )


def _words(note: NewItem) -> str:
    return " ".join([note.title, note.content, *note.details.values()])


def _output(chance: random.Random) -> str:
    subject, became, about = (chance.choice(part.split("|")) for part in chance.choice(SMALL_TALK))
    reaction = chance.choice(REACTIONS)
    return f"{reaction} {subject[0].upper()}{subject[1:]} {became}, {about}{'' if about.endswith('?') else '.'}"
