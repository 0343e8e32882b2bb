"""A command that another program starts: its words come in by standard input, as JSON.

Every user of a machine sees the words of a command, and these name variables and their values; and a system takes only
so many of them.
"""

import json
import sys

if __name__ == "__main__":  # not again in the processes that a command starts
    sys.argv[1:] = json.load(sys.stdin)
    from sfumato.cli import main

    main()
