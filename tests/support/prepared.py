"""Imported last by the fork server: prepares once what every command would prepare."""

import gc

from engine.models.scripted.library import bundled_scenarios
from ui.web.components import theme
from ui.web.components.loading.first_paint import style_sheet

bundled_scenarios()
style_sheet(theme.SHEETS, theme.versioned_url)
# Otherwise the garbage collection of each starting server would copy all shared pages.
gc.collect()
gc.freeze()
