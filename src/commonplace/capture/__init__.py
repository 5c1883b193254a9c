"""Memory without being asked: conversations that other products kept, read from their files."""
