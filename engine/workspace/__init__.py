"""Agents' files: their folders, snapshots, diffs and projects."""

from engine.workspace.diff import FileChange, format_patch, is_own_work
from engine.workspace.git.merge import Conflict, MergePreview, Resolution
from engine.workspace.hunks import Hunk, apply_hunks, split_hunks
from engine.workspace.project import SKIPPED_DIRS, close_folders, open_folders
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.sandbox.process import CommandResult
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.snapshots import FileVersion
from engine.workspace.testing.test_run import SuiteResult
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import Workspaces, read_given_files

__all__ = [
    'SKIPPED_DIRS',
    'CommandResult',
    'Confinement',
    'Conflict',
    'FileChange',
    'FileVersion',
    'Hunk',
    'Limits',
    'MergePreview',
    'RemoteFiles',
    'Resolution',
    'Sandbox',
    'SuiteResult',
    'Workspace',
    'Workspaces',
    'apply_hunks',
    'close_folders',
    'format_patch',
    'is_own_work',
    'open_folders',
    'read_given_files',
    'split_hunks',
]
