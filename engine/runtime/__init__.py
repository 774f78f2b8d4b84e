"""Live runs (decide, journal, act), and the components that observe and control them."""

from engine.runtime.debugger.condition import CONDITION_NAMES
from engine.runtime.debugger.condition import parse_condition as parse_condition
from engine.runtime.debugger.guard_explanations import GuardExplanation, GuardExplanations
from engine.runtime.debugger.probe import ConditionResult
from engine.runtime.debugger.regions import region_of
from engine.runtime.feed import Feed, Item
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run import Run
from engine.runtime.run_factory import ACTOR, acting_as, folders_of_files, new_run_id
from engine.runtime.stubs import check_stubs, turn_problems
from engine.runtime.world.timeouts import TimerSnapshot

__all__ = [
    'ACTOR',
    'CONDITION_NAMES',
    'ConditionResult',
    'Feed',
    'GuardExplanation',
    'GuardExplanations',
    'Item',
    'LiveRuns',
    'Run',
    'TimerSnapshot',
    'acting_as',
    'check_stubs',
    'folders_of_files',
    'new_run_id',
    'parse_condition',
    'region_of',
    'turn_problems',
]
