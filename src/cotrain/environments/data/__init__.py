"""Problems that are read rather than drawn: files, the published forms, and records of our own."""
