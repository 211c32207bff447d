"""From a request to a release: preparation, plan, columns, the gate, measures."""
