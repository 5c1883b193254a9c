"""Whether importance decides between equals and nothing else: `python -m benchmarks.importance`.

Ten small memories. In each, some statements say nearly the same and differ in importance: the important one has to come
first, whichever was written first. Other questions have one answer, which is unimportant, beside important statements
about something else: it has to stay first. Both are asked with the importances and without any.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from commonplace.config import load
from commonplace.memory.local_memory import LocalMemory, open_memory
from commonplace.memory.recall import recall
from commonplace.memory.remember import NewItem, remember
from commonplace.model import Scope


@dataclass(frozen=True, slots=True)
class World:
    """Pairs that say nearly the same (important, unimportant, question), and (unimportant answer, question) pairs."""

    equals: tuple[tuple[str, str, str], ...]
    answers: tuple[tuple[str, str], ...]
    others: tuple[str, ...]


WORLDS = (
    World(
        (("The staging database is wiped every Sunday night", "The staging database gets wiped each Sunday night",
          "when is staging wiped?"),),
        (("Mira keeps the spare badge in her drawer", "where is the spare badge?"),
         ("The printer on floor two jams with thick paper", "which printer jams?")),
        ("Never restart the primary during business hours", "All writes go through the queue"),
    ),
    World(
        (("Invoices are sent on the first of the month", "Invoices go out on the first of each month",
          "when are invoices sent?"),),
        (("The accountant likes oat milk", "what does the accountant drink?"),
         ("Receipts from taxis are kept in the blue box", "where do taxi receipts go?")),
        ("Refunds above 500 euros need two signatures", "Prices are stored in cents"),
    ),
    World(
        (("Release branches are cut on Thursday", "The release branches get cut on Thursdays",
          "on which day are release branches cut?"),),
        (("The old changelog script is in tools/legacy", "where is the old changelog script?"),
         ("Jonas names releases after rivers", "who names the releases?")),
        ("A release needs a green nightly build", "Tags are signed by the release key"),
    ),
    World(
        (("Backups are kept for ninety days", "We keep the backups for ninety days", "how long are backups kept?"),),
        (("The backup host is called heron", "what is the name of the backup host?"),
         ("Restores were practised in March", "when was a restore practised?")),
        ("The encryption key of backups is split among three people", "No backup leaves the country"),
    ),
    World(
        (("The API allows one hundred requests per minute", "The API allows one hundred requests each minute",
          "what is the rate limit of the API?"),),
        (("The sandbox API answers in Portuguese on Fridays as a joke", "which joke is in the sandbox?"),
         ("Example clients are written in Ruby", "in what language are the example clients?")),
        ("Every endpoint checks the tenant", "Tokens live for fifteen minutes"),
    ),
    World(
        (("Trams to the office leave every ten minutes", "A tram to the office leaves every ten minutes",
          "how often does the tram to the office leave?"),),
        (("The bakery across the street closes at six", "when does the bakery close?"),
         ("Lea parks her bicycle in the cellar", "where is the bicycle of Lea?")),
        ("The fire doors must stay shut", "Visitors are met at the gate"),
    ),
    World(
        (("Customer passwords are hashed with argon2", "The passwords of customers are hashed with argon2",
          "how are customer passwords hashed?"),),
        (("The demo account is named penguin", "what is the demo account called?"),
         ("The login page has a picture of a lighthouse", "what picture is on the login page?")),
        ("Sessions end after thirty days", "An admin needs a second factor"),
    ),
    World(
        (("Samples are stored at minus eighty degrees", "The samples are stored at minus eighty degrees",
          "at which temperature are samples stored?"),),
        (("The small centrifuge hums at low speed", "which device hums?"),
         ("Gloves of size eight are on the top shelf", "where are the gloves of size eight?")),
        ("Nobody works alone with hydrogen fluoride", "The freezer alarm calls the person on duty"),
    ),
    World(
        (("The newsletter goes out on Tuesday morning", "Our newsletter goes out on Tuesday mornings",
          "when does the newsletter go out?"),),
        (("The template of last summer used a green header", "which colour had the header last summer?"),
         ("Karim proofreads the Arabic edition", "who proofreads the Arabic edition?")),
        ("Addresses of readers are never exported", "Every mail has a link to unsubscribe"),
    ),
    World(
        (("The cluster runs Kubernetes 1.31", "Our cluster is running Kubernetes 1.31",
          "which Kubernetes version does the cluster run?"),),
        (("Node seven has a broken fan", "which node has a broken fan?"),
         ("The dashboards were drawn by Ines", "who drew the dashboards?")),
        ("Deployments roll back by themselves after five errors", "Secrets come from the vault"),
    ),
)  # fmt: skip
HIGH, LOW = 10.0, 1.0


def shares(*, with_importance: bool, important_first_written: bool) -> tuple[float, float]:
    """The share of pairs with the important one first, and of the other questions with their answer first."""
    equals = answers = pairs = questions = 0
    for world in WORLDS:
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(_opened(Path(folder))) as memory:

            def put(text: str, importance: float, memory: LocalMemory = memory) -> int:
                return remember(memory, NewItem(text, importance=importance if with_importance else None)).id

            for text in world.others:
                put(text, HIGH)
            right = {question: put(text, LOW) for text, question in world.answers}
            important: dict[str, int] = {}
            for high, low, question in world.equals:
                written = [(high, HIGH), (low, LOW)] if important_first_written else [(low, LOW), (high, HIGH)]
                ids = {importance: put(text, importance) for text, importance in written}
                important[question] = ids[HIGH]
            memory.embeddings.catch_up()
            equals += sum(_first(memory, question) == id_ for question, id_ in important.items())
            answers += sum(_first(memory, question) == id_ for question, id_ in right.items())
            pairs, questions = pairs + len(important), questions + len(right)
    return equals / pairs, answers / questions


def _opened(folder: Path) -> LocalMemory:
    return open_memory(load({"data_dir": str(folder)}, {}))


def _first(memory: LocalMemory, question: str) -> int | None:
    return next((hit.item.id for hit in recall(memory, question, Scope(), 5)), None)


def main() -> None:
    print("| importance | written first | important of two equals first | answer first |\n|---|---|---|---|")
    for with_importance in (True, False):
        for first in (True, False):
            equals, answers = shares(with_importance=with_importance, important_first_written=first)
            written = "the important one" if first else "the other one"
            print(f"| {'set' if with_importance else 'not set'} | {written} | {equals:.0%} | {answers:.0%} |")


if __name__ == "__main__":
    main()
