import gc
import sys

# Somebody waits for us: these imports create no garbage, so do not stop to collect any.
gc.disable()
from commonplace.resident_process.server import main  # noqa: E402

gc.enable()
main(sys.argv[1], locked="locked" in sys.argv[2:])
