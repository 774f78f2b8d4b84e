"""Permissions: the role that each method of a conductor requires; all other methods are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ui.access.caller import Role

_SEEN_BY_ALL = """
    accepts audit can_control clock compare disk_usage draw explain_guards family fold forecast handle info
    iter_runs lineage notes owner resting_step result retention retry_at runs sandbox save_test shape snapshot
    stranded traffic transitions turn_end view watch export_bundle
    feed.closed feed.listen services.private_addresses
    catalog.configuration catalog.faults catalog.file catalog.find catalog.models catalog.pattern
    catalog.patterns catalog.redact catalog.tools
    catalog.registry.agent_names catalog.registry.cache_saving catalog.registry.endpoint_infos
    catalog.registry.endpoints catalog.registry.get catalog.registry.items catalog.registry.keys
    catalog.registry.unconfigured catalog.registry.values
    catalog.mcp.find catalog.mcp.health catalog.mcp.has catalog.mcp.last_health catalog.mcp.names
    catalog.agents.get catalog.agents.infos catalog.agents.items catalog.agents.keys catalog.agents.values
    merging.changes merging.mergeable merging.preview
    workspaces.content workspaces.diff workspaces.export workspaces.files workspaces.root
"""
_OF_OPERATORS = """
    annotate cancel check delete delete_note extend fork fork_all import_bundle mark_winner pause probe rerun
    restore resume retry send set_breakpoints start step write_note
    merging.compose merging.merge merging.send_back merging.test
    catalog.agents.test catalog.mcp.refresh catalog.mcp.test
    catalog.registry.discover catalog.registry.health catalog.registry.refresh catalog.registry.test
"""
_OF_ADMINS = """
    clean_up preview_cleanup purge recover
    catalog.connect catalog.disconnect catalog.section catalog.mcp.sign_in
"""
METHOD_ROLES: Final[Mapping[str, Role]] = {
    **dict.fromkeys(_SEEN_BY_ALL.split(), Role.VIEWER),
    **dict.fromkeys(_OF_OPERATORS.split(), Role.OPERATOR),
    **dict.fromkeys(_OF_ADMINS.split(), Role.ADMIN),
}
"""The lowest role that may call each method of the conductor or of one of its parts."""

PARTS: Final = frozenset(
    [
        'catalog',
        'catalog.agents',
        'catalog.mcp',
        'catalog.registry',
        'feed',
        'merging',
        'services',
        'workspaces',
    ]
)
"""Parts of a conductor that are guarded in the same way."""

_OF_THE_SERVER = """
    close journal recordings
    catalog.add catalog.close catalog.load
    catalog.agents.secret_filters catalog.mcp.secret_filters
    catalog.mcp.close catalog.mcp.configure catalog.mcp.forget
    catalog.registry.agents catalog.registry.call_counts catalog.registry.close catalog.registry.configure
    catalog.registry.hooks
    feed.close feed.leave feed.partial feed.publish feed.subscribe feed.wake
    services.clock services.mcp services.model services.models services.recordings services.redact
    services.sandbox services.scheduler services.sessions services.tools services.toolset
    services.workspaces
    workspaces.agent_home workspaces.close workspaces.courier workspaces.delete workspaces.fetch
    workspaces.fork workspaces.forget workspaces.home workspaces.objects workspaces.of
    workspaces.remove_agent_homes workspaces.restore workspaces.upload workspaces.sweep
"""
WITHHELD: Final = frozenset(_OF_THE_SERVER.split())
"""For the server itself only."""

_ONLY_READ: Final = frozenset({'preview_cleanup', 'catalog.section', 'catalog.registry.refresh'})
"""Methods that only read, although they require more than the role of a viewer."""
LOGGED_METHODS: Final = frozenset(
    name for name, role in METHOD_ROLES.items() if role is not Role.VIEWER
) - _ONLY_READ | {'export_bundle'}
"""Methods whose calls the audit log lists."""
