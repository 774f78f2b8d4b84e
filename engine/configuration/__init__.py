"""The configuration, from a TOML file, the environment and the keyring; and the catalog made with it."""

from engine.configuration.loading import (
    ConfigFile,
    Configuration,
    EndpointSection,
    RetentionSection,
    load_configuration,
    parse_size,
)
from engine.configuration.secrets import REFERENCE, REFERENCE_FORMS, has_keyring, keys_file

__all__ = [
    'REFERENCE',
    'REFERENCE_FORMS',
    'ConfigFile',
    'Configuration',
    'EndpointSection',
    'RetentionSection',
    'has_keyring',
    'keys_file',
    'load_configuration',
    'parse_size',
]
