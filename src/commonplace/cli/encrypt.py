"""`encrypt` and `decrypt`: give the file of the store a key, or take it away."""

from __future__ import annotations

from pathlib import Path

from commonplace.cli.call import Call, command


@command("encrypt", "commonplace encrypt", "commonplace encrypt --json")
def encrypt(call: Call) -> None:
    """Encrypt the store with the key that the setting `encryption` names; it is made if there is none yet.

    Stop servers and editors that use the store first. What it was is kept until you delete it: it is not encrypted.
    """
    from commonplace.memory.book import wall_clock
    from commonplace.memory.encryption import encrypt as turn

    settings = call.settings()
    _answer(call, "The store is encrypted.", turn(settings, wall_clock()))
    plain = "Backups that were made before are not encrypted either: `commonplace backups` lists them."
    call.note(f"Keep a copy of the key elsewhere: without it nobody opens the store. {plain}")


@command("decrypt", "commonplace decrypt", "commonplace decrypt --json")
def decrypt(call: Call) -> None:
    """Write the store without encryption. Then set `encryption` to off; until then it does not open.

    Stop servers and editors that use the store first. What it was is kept until you delete it.
    """
    from commonplace.memory.book import wall_clock
    from commonplace.memory.encryption import decrypt as turn

    _answer(call, "The store is not encrypted any more.", turn(call.settings(), wall_clock()))
    call.note("Set `encryption` to off now.")


def _answer(call: Call, sentence: str, kept: Path) -> None:
    if call.json:
        call.reply({"kept": str(kept)})
        return
    call.say(sentence)
    call.note(f"What it was is kept: {kept}. Delete it when you have seen that everything works.")
