"""A perceptron with autograd: the loss as written, its gradient by differentiation."""

import torch


def penalised_loss(weights, biases, x, y, row_weight, decay, binary, activation="relu"):
    """Σ w·loss / Σ w + ½·decay·Σ weights² of one network; squared error counts half."""
    h = x
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        h = h @ weight + bias
        if layer < len(weights) - 1:
            h = torch.clamp(h, min=0) if activation == "relu" else h / (1 + torch.exp(-h))
    if binary:
        p = 1 / (1 + torch.exp(-h))
        loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p))
    else:
        loss = (h - y) ** 2 / 2
    mean = (loss.sum(dim=1) * row_weight).sum() / row_weight.sum()
    return mean + decay / 2 * sum((weight**2).sum() for weight in weights)
