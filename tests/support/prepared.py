"""Imported last by the process of which commands are forks: makes once what each of them would make."""

import gc

from engine.models.scripted.library import bundled_scenarios
from ui.components import theme
from ui.components.loading.first_paint import style_sheet

bundled_scenarios()
style_sheet(theme.SHEETS, theme.stamp(theme.ICONS))
# A server collects garbage as it starts, which would look at everything, and so copy it.
gc.collect()
gc.freeze()
