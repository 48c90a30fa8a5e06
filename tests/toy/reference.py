"""The published training procedure of one model in float64 NumPy; imports nothing of superjax."""

from __future__ import annotations

import numpy as np


def gradient(W, b, x, importance, activation):
    """Loss summed over features, averaged over samples, and its gradient."""
    z = x @ W @ W.T + b
    y, slope = (np.maximum(z, 0), z > 0) if activation == "relu" else (z, np.ones_like(z))
    dz = 2 * importance * (y - x) * slope / len(x)
    return (importance * (y - x) ** 2).sum() / len(x), x.T @ (dz @ W) + dz.T @ (x @ W), dz.sum(axis=0)


def learning_rate(step, steps, peak, warmup, floor):
    """The published schedule, counted from step 0."""
    t, w = step + 1, warmup * steps
    if t < w:
        return peak * t / w
    low = floor * peak
    return low + (peak - low) * 0.5 * (1 + np.cos(np.pi * (t - w) / (steps - w)))


def train(W, b, batches, *, gamma, rate, bias_rate, scale, warmup, floor, importance, activation="relu"):
    """Adam with decay or growth before its step, as the published code does it; returns W, b and the losses."""
    W, b = np.array(W, np.float64), np.array(b, np.float64)
    moments = [np.zeros_like(W), np.zeros_like(b), np.zeros_like(W), np.zeros_like(b)]
    losses = []
    steps = len(batches)
    for step, x in enumerate(np.asarray(batches, np.float64)):
        value, dW, db = gradient(W, b, x, importance, activation)
        losses.append(value)
        eta = learning_rate(step, steps, rate, warmup, floor)
        bias_eta = learning_rate(step, steps, bias_rate, warmup, floor)
        norm = np.linalg.norm(W, axis=1, keepdims=True)
        W = W * (1 - eta * gamma) if gamma >= 0 else W - eta * gamma * W * (1 / (norm + 1e-8) - 1)
        for i, (g, lr) in enumerate(((dW * scale, eta), (db * scale, bias_eta))):
            moments[i] = 0.9 * moments[i] + 0.1 * g
            moments[i + 2] = 0.999 * moments[i + 2] + 0.001 * g**2
            step_size = (moments[i] / (1 - 0.9 ** (step + 1))) / (
                np.sqrt(moments[i + 2] / (1 - 0.999 ** (step + 1))) + 1e-8
            )
            if i == 0:
                W = W - lr * step_size
            else:
                b = b - lr * step_size
    return W, b, np.array(losses)
