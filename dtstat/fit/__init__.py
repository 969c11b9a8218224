"""``dtstat.fit`` from request to result: pipeline, tables, summary, pictures."""
