import gc
import sys

# Somebody waits for us: these imports create no garbage, so do not stop to collect any.
gc.disable()
from commonplace.resident_process.server import main  # noqa: E402

# A search makes a few thousand objects at a time and no cycles: the default would look for some in the middle of it.
gc.set_threshold(10_000)
gc.enable()
main(sys.argv[1], locked="locked" in sys.argv[2:])
