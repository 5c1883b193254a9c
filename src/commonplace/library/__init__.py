"""The Python library: Memory and AsyncMemory, over a local store or a server."""
