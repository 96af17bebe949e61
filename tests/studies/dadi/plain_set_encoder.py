"""DADI's set encoder as appendix B writes it: one-hot tokens, every set encoded from scratch."""

import torch
from torch import nn


class PlainSetEncoder(nn.Module):
    """One encoder. The LSTM's input is [query, reading]; nothing else is fed back to it."""

    def __init__(self, columns: int, hidden: int, width: int, steps: int) -> None:
        super().__init__()
        self.columns, self.width, self.steps = columns, width, steps
        self.first = nn.Linear(1 + columns, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.third = nn.Linear(hidden, width)
        self.gates = nn.Linear(2 * width, 4 * width)

    def forward(self, values: torch.Tensor, member: torch.Tensor) -> torch.Tensor:
        """Encodings (m, h) of m sets: values (m, d) of the columns where member (m, d) is True."""
        m, d = values.shape
        position = torch.eye(d, dtype=values.dtype).expand(m, d, d)
        token = torch.cat((values.unsqueeze(2), position), dim=2)
        memory = self.third(torch.relu(self.second(torch.relu(self.first(token)))))  # (m, d, h)
        inside = member.unsqueeze(2)
        size = member.sum(dim=1, keepdim=True)
        reading = (memory * inside).sum(dim=1) / size.clamp(min=1)
        query, cell = torch.zeros_like(reading), torch.zeros_like(reading)
        for _ in range(self.steps):
            let_in, keep, let_out, candidate = self.gates(torch.cat((query, reading), dim=1)).chunk(
                4, dim=1
            )
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(let_in) * torch.tanh(candidate)
            query = torch.sigmoid(let_out) * torch.tanh(cell)
            match = (memory * query.unsqueeze(1)).sum(dim=2)
            match = match.masked_fill(~member, -1e30)
            attention = torch.softmax(match, dim=1) * member
            reading = (attention.unsqueeze(2) * memory).sum(dim=1)
        return reading

    def parameters_by_name(self) -> dict[str, torch.Tensor]:
        """The parameters under the names and in the shapes of the fast encoder."""
        first, second, third = self.first, self.second, self.third
        return {
            "value": first.weight[:, :1].T,
            "position": first.weight[:, 1:].T,
            "first_bias": first.bias[None],
            "second": second.weight.T,
            "second_bias": second.bias[None],
            "third": third.weight.T,
            "third_bias": third.bias[None],
            "cell": self.gates.weight.T,
            "cell_bias": self.gates.bias[None],
        }
