"""Plan-Path in which a proposal is credited, once the episode is over, by how it ended."""

from collections.abc import Mapping

from cotrain.core.episode import Episode
from cotrain.environments.plan_path import PlanPath


class Foresight(PlanPath):
    """The proposer's turns earn half the planner's team value of the turn after."""

    def settle(self, episode: Episode) -> Mapping[tuple[str, int], float]:
        planner = [g for g in episode.groups() if g.key.agent == "planner" and g.key.turn > 1]
        worth = {g.key.turn: g.chosen.team or 0.0 for g in planner if g.chosen is not None}
        return {("proposer", turn - 1): 0.5 * team for turn, team in worth.items()}
