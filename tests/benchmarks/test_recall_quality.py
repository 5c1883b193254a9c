"""The measurement of recall through its whole path: a server is started, told, waited for, asked and judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.recall_quality import FLOOR, WAYS, main
from tests.postgres_server import PostgresServer


def test_a_server_is_asked_in_every_mode_and_the_tools_in_this_process_answer_alike(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores, stored_dialogue = tmp_path / "stores", tmp_path / "figures.json"
    common = [str(folder), "--sets", "people", "--others", "100", "--keep", str(stores)]
    main([*common, "--json", str(stored_dialogue)])
    results = json.loads(stored_dialogue.read_text(encoding="utf-8"))["results"]
    assert list(results) == [
        "people, a store for each",
        "people, sessions",
        "people, one store for all",
        "people, among 100 others",
    ]
    for title, ways in results.items():
        assert list(ways) == [*(way.name for way in WAYS), FLOOR]
        for how, result in ways.items():
            groups = result["groups"]
            assert groups["all"]["n"] == 3 and groups["mean of dialogues"]["n"] == 2
            assert groups["single-hop"]["n"] == 2 and groups["multi-hop"]["n"] == 1 and "adversarial" not in groups
            assert groups["in Chat_2_Cleo_Dan"]["mrr"] == 1.0, (title, how)
            assert groups["all"]["depth"] > 0
        assert ways["memory_search"]["groups"]["all"]["hit@5"] == 1.0
        assert ways["memory_search"]["groups"]["single-hop"]["recall@5"] == 1.0
    output = capsys.readouterr().out
    assert "Asked of a server, over HTTP." in output and "| memory_search | mean of dialogues | 2 |" in output

    made = {path: path.stat().st_mtime_ns for path in [*stores.rglob("turns.json"), *stores.glob("others-*/ready")]}
    assert len(made) == 5
    main([*common, "--in-process", "--against", str(stored_dialogue)])
    assert all(path.stat().st_mtime_ns == when for path, when in made.items()), "the stores were not used again"
    assert len([*stores.rglob("turns.json")]) == 4
    output = capsys.readouterr().out
    changes = output.partition("### Now, and the change since ")[2].splitlines()[4:]
    assert len(changes) == len(results) * (len(WAYS) + 1)
    assert all(line.count("(+0.0)") >= 7 for line in changes), changes


def test_both_engines_find_the_same(
    folder: Path, tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    common = [str(folder), "--sets", "people", "--modes", "each", "--in-process"]
    main([*common, "--json", str(tmp_path / "figures.json")])
    main([*common, "--engine", "postgres", "--server", postgres.url, "--against", str(tmp_path / "figures.json")])
    changes = capsys.readouterr().out.partition("### Now, and the change since ")[2].splitlines()[4:]
    assert len(changes) == 2 * (len(WAYS) + 1)
    assert all(line.count("(+0.0)") >= 7 for line in changes), changes


def test_what_cannot_be_measured_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no dialogues"):
        main([str(tmp_path / "sets" / "people")])
    for wrong in (["--modes", "every"], ["--sets", "nobody"], ["--engine", "postgres"]):
        with pytest.raises(SystemExit) as ended:
            main([str(folder), *wrong])
        assert ended.value.code == 2
