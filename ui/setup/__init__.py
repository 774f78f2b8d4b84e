"""What the settings page shows of this machine: endpoints, servers, storage, how long runs are kept."""
