"""Settings of the step that labels units, checked by the config's own models.

Serves the recourse study, whose step may be run by hand. Knows nothing of what the settings do.
"""

from collections.abc import Mapping
from typing import Any

from frugal.config.recourse import LabelSettings

_FILES = {"table": ("description", "rules"), "own": ("catalogue", "units")}


def check_label_settings(settings: Any) -> None:
    """Refuse settings of `label_units` that the config would not allow.

    The files of a source are inputs of the step, so their paths may be left out here.

    Raises:
        ConfigError: the first violation: its key, what was found, what is allowed.
    """
    source = settings.get("source") if isinstance(settings, Mapping) else None
    if isinstance(source, Mapping):
        files = dict.fromkeys(_FILES.get(str(source.get("kind")), ()), "")
        settings = {**settings, "source": {**files, **source}}
    LabelSettings.read(settings, where="settings")
