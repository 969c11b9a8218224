"""Shared utilities: errors, argument checks, parallel runs, checkpoints, saved files, tables, pictures."""
