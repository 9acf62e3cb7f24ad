"""Networks of a line or two, whose source TorchScript reads: import them where torch is used."""

import torch  # noqa: TID253  (TorchScript wants the classes of a module)


class Level(torch.nn.Module):
    """A score that depends on the samples and their number: [batch, channel, time] to [batch]."""

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        return 3 + waves.square().mean(dim=-1).sqrt()[:, 0] + waves.shape[-1] * 1e-6


class LevelAtRate(torch.nn.Module):
    """The same of [batch, time] and the rate, as SpeechMOS' predictors are called."""

    def forward(self, waves: torch.Tensor, rate: int) -> torch.Tensor:
        return 3 + waves.square().mean(dim=-1).sqrt() + rate * 1e-6


class Opinions(torch.nn.Module):
    """Mean and variance of opinions by a spectrum, as DNSMOS Pro: [batch, 1, frames, 161]."""

    def forward(self, spectra: torch.Tensor) -> torch.Tensor:
        levels = spectra.mean(dim=(1, 2, 3))
        return torch.stack([3 + levels / 10, spectra.var(dim=(1, 2, 3))], dim=1)
