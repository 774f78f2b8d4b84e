"""The configuration, from a TOML file, the environment and the keyring; and the catalog made with it."""

from engine.configuration.loading import (
    ConfigFile,
    Configuration,
    EndpointSection,
    RetentionSection,
    load_configuration,
    parse_size,
)

__all__ = [
    'ConfigFile',
    'Configuration',
    'EndpointSection',
    'RetentionSection',
    'load_configuration',
    'parse_size',
]
