"""Shared utilities: errors, argument checks, parallel runs, saved files, tables, pictures."""
