"""Tests of reading the sessions of coding agents."""
