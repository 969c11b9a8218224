"""All entries: importing this module fills the registry."""

import fuzz_functions  # noqa: F401
import fuzz_programs  # noqa: F401
import fuzz_saved  # noqa: F401
import fuzz_surveys  # noqa: F401
