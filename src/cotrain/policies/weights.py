"""Float32 masters and the cast copy that computes.

bf16 weights with a small learning rate do not move: an update smaller than half of the last bit is
rounded away. So what the optimiser sees is float32, and the model that samples and computes
gradients is a cast copy, refreshed after each update. In float32 the two are one.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


def has_bfloat16_instructions() -> bool:
    """Whether this processor multiplies bfloat16 numbers itself, so that the type pays on it."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, lambda: False)() for check in checks)


class MasterWeights:
    """The trained tensors of a model, by name, in float32 or wider.

    `parameters` are what the optimiser gets. After each backward pass call `collect_gradients`;
    after the optimiser's step call `publish`.
    """

    def __init__(self, model: nn.Module, compute_dtype: torch.dtype) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        master_dtype = torch.promote_types(compute_dtype, torch.float32)
        masters = {name: p.detach().to(master_dtype, copy=True) for name, p in named}
        model.to(compute_dtype)
        self._computing = dict(named)
        self.shares_tensors = compute_dtype == master_dtype
        self.parameters: Mapping[str, nn.Parameter] = (
            self._computing
            if self.shares_tensors
            else {name: nn.Parameter(value) for name, value in masters.items()}
        )

    def collect_gradients(self) -> None:
        """Adds the computing copy's gradients to the masters', in the masters' precision."""
        if self.shares_tensors:
            return
        for name, computing in self._computing.items():
            if computing.grad is None:
                continue
            master = self.parameters[name]
            wide = computing.grad.to(master.dtype)
            master.grad = wide if master.grad is None else master.grad.add_(wide)
            computing.grad = None

    def clear_gradients(self) -> None:
        """Drops every gradient."""
        for owner in (self._computing, self.parameters):
            for parameter in owner.values():
                parameter.grad = None

    @torch.no_grad()
    def publish(self) -> None:
        """Copies the masters into the computing model."""
        if self.shares_tensors:
            return
        for name, master in self.parameters.items():
            self._computing[name].copy_(master)

    def state(self) -> dict[str, Tensor]:
        """The masters, detached, by name."""
        return {name: master.detach() for name, master in self.parameters.items()}

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes over saved masters and publishes them. Names and shapes must agree exactly."""
        if missing := sorted(set(self.parameters) ^ set(state)):
            raise ValueError(
                f"saved weights do not fit the model: {missing[:5]} are on one side only"
            )
        for name, master in self.parameters.items():
            if master.shape != state[name].shape:
                raise ValueError(
                    f"saved weights do not fit the model: {name} has shape "
                    f"{tuple(state[name].shape)}, the model's is {tuple(master.shape)}"
                )
        for name, master in self.parameters.items():
            master.copy_(state[name])
        self.publish()
