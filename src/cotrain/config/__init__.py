"""The settings of a run: their schema, where they come from, and what is wrong with them."""

from cotrain.config.faults import ConfigurationError, Fault, show, told
from cotrain.config.imitation import ImitationSettings
from cotrain.config.keys import nearest
from cotrain.config.loading import DEFAULT_PRESET, Preset, load_config, presets
from cotrain.config.machines import ClusterSettings, LimitsSettings, PoolSettings, SandboxSettings
from cotrain.config.overrides import by_key, overridden, parse_assignments
from cotrain.config.resolved import Change, config_from_json, difference, replaced
from cotrain.config.schema import (
    GROUP_METHODS,
    IMITATION,
    SCRIPTED_PREFIX,
    TEAM_METHODS,
    AlgorithmSettings,
    Config,
    EnvironmentSettings,
    EvaluationSettings,
    LoggingSettings,
    MethodName,
    ModelSettings,
    OptimizerSettings,
    RoleSettings,
    RunSettings,
    SamplingSettings,
    TeamSettings,
)

__all__ = [
    "DEFAULT_PRESET",
    "GROUP_METHODS",
    "IMITATION",
    "SCRIPTED_PREFIX",
    "TEAM_METHODS",
    "AlgorithmSettings",
    "Change",
    "ClusterSettings",
    "Config",
    "ConfigurationError",
    "EnvironmentSettings",
    "EvaluationSettings",
    "Fault",
    "ImitationSettings",
    "LimitsSettings",
    "LoggingSettings",
    "MethodName",
    "ModelSettings",
    "OptimizerSettings",
    "PoolSettings",
    "Preset",
    "RoleSettings",
    "RunSettings",
    "SamplingSettings",
    "SandboxSettings",
    "TeamSettings",
    "by_key",
    "config_from_json",
    "difference",
    "load_config",
    "nearest",
    "overridden",
    "parse_assignments",
    "presets",
    "replaced",
    "show",
    "told",
]
