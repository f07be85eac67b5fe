"""Scans along a sequence: selective scan, linear attention with decay, and what is rolling."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def selective_scan(x, delta, A, B, C, D=None, z=None, delta_softplus=False):
    """Mamba-1: h_t = exp(delta_t A) h_{t-1} + delta_t B_t x_t, y_t = C_t h_t (+ D x_t), gated by z.

    x, delta, z: (batch, tokens, channels); A: (channels, state); B, C: (batch, tokens, state).
    """
    tile_size = 64
    h = T.zeros((x.shape[0], *A.shape))
    y = T.empty_like(x)
    for i in range(0, x.shape[-2], tile_size):
        x_tile = T.copy(x[..., i : i + tile_size, :])
        delta_tile = T.copy(delta[..., i : i + tile_size, :])
        B_tile = T.copy(B[..., i : i + tile_size, None, :])
        C_tile = T.copy(C[..., i : i + tile_size, None, :])
        if delta_softplus:
            delta_tile = T.softplus(delta_tile)
        h = T.fma(T.exp(delta_tile[..., None] * A), h, (delta_tile * x_tile)[..., None] * B_tile)
        y_tile = T.sum(h * C_tile, axis=-1)
        if D is not None:
            y_tile = y_tile + D * x_tile
        if z is not None:
            y_tile = y_tile * T.silu(z[..., i : i + tile_size, :])
        T.atomic_update(y[..., i : i + tile_size, :], y_tile)
    return y


@tile2triton.kernel
def decayed_linear_attention(Q, K, V, decay):
    """o_t = q_t S_t, S_t = decay S_{t-1} + k_tᵀ v_t, for each head; decay is one number a head."""
    S = T.linear_scan(decay[:, None, None, None], K[..., :, None] * V[..., None, :], axis=-3)
    return T.sum(Q[..., :, None] * S, axis=-2)


@tile2triton.kernel
def rolling_mean(x, decay):
    """An exponential moving average of each column, and its last value."""
    mean = T.linear_scan(decay, (1.0 - decay) * x, axis=-2)
    return mean, mean[..., -1, :]


@tile2triton.kernel
def causal_mean(x):
    """The mean of each column up to each row."""
    count = T.arange(x.shape[-2])[:, None] + 1
    return T.cumsum(x, axis=-2) / count


@tile2triton.kernel
def segmented_sum(x, starts):
    """Sums of columns up to each row that begin again where `starts` is 1."""
    return T.linear_scan(1.0 - starts[:, None], x, axis=-2)


@tile2triton.kernel
def highest_so_far(x):
    return T.cummax(x, axis=-2)
