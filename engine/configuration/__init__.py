"""The configuration: read from a TOML file, the environment and the keyring; and edited in place."""

from engine.configuration.loading import (
    ConfigFile,
    Configuration,
    RetentionSection,
    load_configuration,
    parse_size,
)

__all__ = ['ConfigFile', 'Configuration', 'RetentionSection', 'load_configuration', 'parse_size']
