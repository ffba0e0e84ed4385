"""Float32 masters and the cast copy that computes, and checksums that tell weights apart.

bf16 weights with a small learning rate do not move: an update smaller than half of the last bit is
rounded away. So what the optimiser sees is float32, and the tensors that sample and compute
gradients are a cast copy, refreshed after each update. In float32 the two are one.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn

Checksum: TypeAlias = tuple[int, ...]

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def has_bfloat16_instructions() -> bool:
    """Whether this processor multiplies bfloat16 numbers itself, so that the type pays on it."""
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, check, lambda: False)() for check in checks)


def checksum(tensors: Iterable[Tensor]) -> Checksum:
    """One number a tensor, in order: the sum of its entries' bits. Any single changed bit shows.

    >>> checksum([torch.ones(2)]) == checksum([torch.ones(2)])
    True
    >>> checksum([torch.zeros(2)]), checksum([torch.zeros(2), torch.zeros(1)])
    ((0,), (0, 0))
    """
    sums = [_words(tensor.detach()).sum(dtype=torch.int64) for tensor in tensors]
    return tuple(torch.stack(sums).tolist()) if sums else ()


def _words(tensor: Tensor) -> Tensor:
    """The tensor's bits as whole numbers, of 8 bytes where they can be cut so: that is faster."""
    flat = tensor.reshape(-1)
    if flat.data_ptr() % 8 == 0 and flat.nbytes % 8 == 0:
        return flat.view(torch.int64)
    return flat.view(_INTEGERS[flat.element_size()])


@torch.no_grad()
def cast_parameters(parameters: Iterable[nn.Parameter], dtype: torch.dtype) -> None:
    """Casts these parameters in place. Buffers keep their type: rotary frequencies need theirs."""
    for parameter in parameters:
        parameter.data = parameter.data.to(dtype)


@torch.no_grad()
def copy_tensors(state: Mapping[str, Tensor], into: Mapping[str, Tensor]) -> None:
    """Copies saved tensors into those of a model, cast to their type.

    Raises ValueError, and copies nothing, unless names and shapes agree exactly.
    """
    if missing := sorted(set(into) ^ set(state)):
        raise ValueError(f"saved weights do not fit the model: {missing[:5]} are on one side only")
    for name, tensor in into.items():
        if tensor.shape != state[name].shape:
            raise ValueError(
                f"saved weights do not fit the model: {name} has shape "
                f"{tuple(state[name].shape)}, the model's is {tuple(tensor.shape)}"
            )
    for name, tensor in into.items():
        tensor.copy_(state[name])


class MasterWeights:
    """Tensors that are trained, by name, in float32 or wider.

    `computing` are the model's own; they are cast to the compute type here. `parameters` are what
    the optimiser gets. After each backward pass call `collect_gradients`; after the optimiser's
    step call `publish`.
    """

    def __init__(self, computing: Mapping[str, nn.Parameter], compute_dtype: torch.dtype) -> None:
        master_dtype = torch.promote_types(compute_dtype, torch.float32)
        self._computing = dict(computing)
        self.shares_tensors = compute_dtype == master_dtype
        masters = {} if self.shares_tensors else self._copies(master_dtype)
        cast_parameters(self._computing.values(), compute_dtype)
        self.parameters: Mapping[str, nn.Parameter] = (
            self._computing if self.shares_tensors else masters
        )

    def _copies(self, dtype: torch.dtype) -> dict[str, nn.Parameter]:
        return {
            name: nn.Parameter(parameter.detach().to(dtype, copy=True))
            for name, parameter in self._computing.items()
        }

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

    def checksum(self) -> Checksum:
        """What the checksum of the computing tensors is once the masters are published."""
        return checksum(
            master.detach().to(self._computing[name].dtype)
            for name, master in self.parameters.items()
        )

    def state(self) -> dict[str, Tensor]:
        """The masters, detached, by name."""
        return {name: master.detach() for name, master in self.parameters.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes over saved masters and publishes them. Names and shapes must agree exactly."""
        copy_tensors(state, self.state())
        self.publish()
