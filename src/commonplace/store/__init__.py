"""Where everything is kept: `protocol.py` says what every engine offers; all SQL lives in the engines."""
