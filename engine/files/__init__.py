"""The files of agents: folders of their own, snapshots, differences, projects."""
