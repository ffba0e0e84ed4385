"""The composition root: from a configuration to objects. The only place that knows every class."""
