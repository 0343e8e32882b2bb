"""What holds for all tests."""

from hypothesis import settings

# a busy machine is no failure: no test depends on how long it takes
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
