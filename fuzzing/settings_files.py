"""The configuration file: any TOML, or none, is settings or an error that says what to correct."""

from __future__ import annotations

from dataclasses import fields

from commonplace import config
from commonplace.config import Settings
from fuzzing import workspace
from fuzzing.target import must

WORDS = (
    *(f"{field.name} = " for field in fields(Settings)),
    *('"', "'", '"""', "[tokens]\n", "mcpMaxResponse = ", "1", "-1", "1e400", "inf", "nan", "0x10", "1_000", "true"),
    *(
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "#",
        "\n",
        "1979-05-27T07:32:00Z",
        "postgresql://a",
        '"builtin"',
        '"off"',
        "9" * 400,
    ),
)


def take(data: bytes) -> None:
    path = workspace.file("config.toml", data)
    output = config.load({"data_dir": str(path.parent)}, {})
    must(isinstance(output, Settings) and output.data_dir == path.parent, "settings name their folder")
