"""The story of a verb and its sinks: screen, NDJSON, history. None of them decides anything."""
