"""dtstat beside live lavaan: old questions, a catalog of models, hard cases, and speed."""
