"""What all tests share: the marker `claim` and the ledger's evidence (see `flatcube.classroom.evidence`)."""

pytest_plugins = ["flatcube.classroom.evidence", "pytester"]
