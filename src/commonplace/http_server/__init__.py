"""The HTTP server: one application for MCP, REST and pages, with authentication, rate limits and logs."""
