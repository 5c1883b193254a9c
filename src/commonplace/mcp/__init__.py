"""The Model Context Protocol door: stdio and streamable HTTP on the official SDK, both protocol eras."""
