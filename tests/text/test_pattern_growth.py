"""No regular expression takes much longer for a text that is made to make it slow."""

import json
import subprocess
import sys

# Of all patterns, twenty times what they take on a machine that does nothing else.
SECONDS = 600
FEWEST_PATTERNS = 600


def test_the_work_of_no_pattern_grows_faster_than_its_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.text.pattern_growth"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)

    assert found["patterns"] > FEWEST_PATTERNS
    assert not found["grown"], "\n".join(found["grown"])
