"""One small adapter for each host: its payload in, our event out."""
