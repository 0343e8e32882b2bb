"""How often tests try what could be tried for ever: a few times, and with ``make test-long`` as often as promised."""

import os

KILLS = int(os.environ.get("SFUMATO_KILLS", "20"))  # of processes that compute parts
TABLES = int(os.environ.get("SFUMATO_TABLES", "50"))  # without a leak, of which one in a hundred may raise an alarm
RECORDS = int(os.environ.get("SFUMATO_RECORDS", "600"))  # of the tables by which engines are held to the law of parts
KEY_SETS = int(os.environ.get("SFUMATO_KEY_SETS", "1"))  # of each population whose truth is counted
CUTS = (1, 3, 17) if RECORDS >= 100_000 else (3,)  # into how many parts these are cut
