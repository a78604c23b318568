"""Small PyTorch modules, whose figures the tools are asked for: name, inputs, what __init__ makes, what forward does.
What a module computes and does not use is in no export, so there is no case of it.

A ";" ends a line. Inputs are "name:sizes" of floats, "name:int:sizes" of integers below 7, "name:bool:sizes" of a mask. Before the table stands what modules share.
"""

PRELUDE = '''
import math
import operator
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.functional as functions
from torch import Tensor, matmul
from torch.nn.functional import interpolate


def helper_add(x, y):
    return x + y


def helper_named_add(x, y):
    return torch.add(x, y)


def helper_attention(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    return torch.matmul(w, v)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class MyLinear(nn.Linear):
    pass


class MyNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.float()).to(x.dtype)


class MyRelu(nn.ReLU):
    pass


class MyLstm(nn.LSTM):
    pass


class MyAttention(nn.MultiheadAttention):
    pass


@torch.jit.script
def scripted_matmul(x, y):
    return torch.relu(torch.matmul(x, y))


@torch.jit.script
def scripted_linear(x, w):
    return torch.nn.functional.linear(x, w)


class Helper:
    def __init__(self, x):
        self.x = x

    def relu(self):
        return F.relu(self.x)

    def softmax(self, dim):
        return F.softmax(self.x, dim)

    def __add__(self, y):
        return torch.add(self.x, y)

    def __matmul__(self, y):
        return torch.matmul(self.x, y)


def make_helper(x):
    return Helper(x)


class OwnMatmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return torch.matmul(x, y)


class OwnLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return F.linear(x, w)


class Caller(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * self.g


class Rms(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        v = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(v + 1e-6)
        return self.weight * x


class Basic(nn.Module):
    def __init__(self, dim, inplace=True):
        super().__init__()
        self.conv1 = nn.Conv2d(dim, dim, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(dim)
        self.relu = nn.ReLU(inplace=inplace)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(dim)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


class Mlp(nn.Module):
    def __init__(self, dim, hidden, act=nn.GELU):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = act()
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Attention(nn.Module):
    def __init__(self, dim, heads, kind="sdpa"):
        super().__init__()
        self.heads = heads
        self.kind = kind
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if self.kind == "sdpa":
            x = F.scaled_dot_product_attention(q, k, v)
        elif self.kind == "at":
            q = q * (c // self.heads) ** -0.5
            a = q @ k.transpose(-2, -1)
            a = a.softmax(dim=-1)
            x = a @ v
        elif self.kind == "matmul":
            a = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(c // self.heads)
            a = F.softmax(a, dim=-1)
            x = torch.matmul(a, v)
        elif self.kind == "helper":
            x = helper_attention(q, k, v)
        x = x.transpose(1, 2).reshape(b, n, c)
        return self.proj(x)


class Block(nn.Module):
    def __init__(self, dim, heads, kind="sdpa", act=nn.GELU):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, kind)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = Mlp(dim, 2 * dim, act)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class SqueezeExcite(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(dim, dim // 2, 1)
        self.fc2 = nn.Conv2d(dim // 2, dim, 1)

    def forward(self, x):
        s = self.pool(x)
        s = F.relu(self.fc1(s))
        s = torch.sigmoid(self.fc2(s))
        return s * x
'''

L = "self.l = nn.Linear(6, 5)"
CASES = [
    # Linear layers.
    ("linear", "x:3,6", L, "return self.l(x)"),
    ("linear_rank3", "x:2,3,6", L, "return self.l(x)"),
    ("linear_rank4", "x:2,3,4,6", L, "return self.l(x)"),
    ("linear_rank1", "x:6", L, "return self.l(x)"),
    ("linear_no_bias", "x:2,3,6", "self.l = nn.Linear(6, 5, bias=False)", "return self.l(x)"),
    ("linear_function", "x:2,3,6", "self.w = nn.Parameter(torch.randn(5, 6)); self.b = nn.Parameter(torch.randn(5))", "return F.linear(x, self.w, self.b)"),
    ("linear_function_no_bias", "x:2,3,6", "self.w = nn.Parameter(torch.randn(5, 6))", "return F.linear(x, self.w)"),
    ("linear_of_its_weight", "x:2,3,6", L, "return F.linear(x, self.l.weight, self.l.bias)"),
    ("linear_subclass", "x:2,3,6", "self.l = MyLinear(6, 5)", "return self.l(x)"),
    ("linear_shared", "x:2,3,6", "self.l = nn.Linear(6, 6); self.m = self.l", "x = self.l(x); return self.m(x)"),
    ("linear_twice", "x:2,3,6", "self.l = nn.Linear(6, 6)", "return self.l(torch.tanh(self.l(x)))"),
    ("linear_tied", "x:2,3,6", "self.l = nn.Linear(6, 6); self.m = nn.Linear(6, 6); self.m.weight = self.l.weight", "x = self.l(x); return self.m(x)"),
    ("linear_sequential", "x:3,6", "self.s = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))", "return self.s(x)"),
    ("linear_list", "x:3,6", "self.s = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])", "for l in self.s:;     x = l(x); return x"),
    ("linear_unused", "x:3,6", "self.l = nn.Linear(6, 5); self.m = nn.Linear(6, 5)", "return self.l(x)"),
    ("linear_dropped", "x:3,6", "self.l = nn.Linear(6, 5); self.m = nn.Linear(6, 5)", "y = self.m(x); return self.l(x)"),
    ("linear_hook", "x:3,6", "self.l = nn.Linear(6, 5); self.l.register_forward_hook(lambda m, i, o: o * 2)", "return self.l(x)"),
    ("linear_weight_norm", "x:3,6", "self.l = nn.utils.parametrizations.weight_norm(nn.Linear(6, 5))", "return self.l(x)"),
    ("linear_two_inputs", "x:2,3,6 y:2,3,4", "self.l = nn.Linear(6, 5); self.m = nn.Linear(4, 5)", "return self.l(x) + self.m(y)"),
    ("linear_keeps_function", "x:2,3,6", L + "; self.f = F.relu", "return self.f(self.l(x))"),
    ("bilinear", "x:3,6 y:3,4", "self.l = nn.Bilinear(6, 4, 5)", "return self.l(x, y)"),
    ("embedding", "i:int:2,3", "self.e = nn.Embedding(9, 6); self.l = nn.Linear(6, 5)", "return self.l(self.e(i))"),
    # Layout of the input of a linear layer with a bias.
    ("layout_transposed", "x:2,6,3", L, "return self.l(x.transpose(1, 2))"),
    ("layout_transposed_batch", "x:3,2,6", L, "return self.l(x.transpose(0, 1))"),
    ("layout_add_transposed", "x:4,4,6", L, "return self.l(x + x.transpose(0, 1))"),
    ("layout_add_transposed_first", "x:4,4,6", L, "return self.l(x.transpose(0, 1) + x)"),
    ("layout_relu_transposed", "x:3,2,6", L, "return self.l(torch.relu(x.transpose(0, 1)))"),
    ("layout_relu_transposed_back", "x:3,2,6", L, "return self.l(torch.relu(x.transpose(0, 1)).transpose(0, 1))"),
    ("layout_expand", "x:1,1,6", L, "return self.l(x.expand(2, 3, 6))"),
    ("layout_expand_middle", "x:2,1,6", L, "return self.l(x.expand(2, 3, 6))"),
    ("layout_repeat", "x:2,1,6", L, "return self.l(x.repeat(1, 3, 1))"),
    ("layout_unbind", "x:2,3,4,6", L, "a, b, c = x.unbind(1); return self.l(a)"),
    ("layout_unbind_first", "x:3,2,4,6", L, "a, b, c = x.unbind(0); return self.l(b)"),
    ("layout_where_transposed", "x:4,4,6", L, "t = x.transpose(0, 1); return self.l(torch.where(t > 0, t, 0.0))"),
    ("layout_slice_first", "x:4,3,6", L, "return self.l(x[1:3])"),
    ("layout_slice_middle", "x:2,5,6", L, "return self.l(x[:, 1:3])"),
    ("layout_slice_last", "x:2,3,9", L, "return self.l(x[..., :6])"),
    ("layout_slice_last_of_one", "x:1,3,9", L, "return self.l(x[..., :6])"),
    ("layout_select", "x:2,3,6", L, "return self.l(x[:, 0])"),
    ("layout_select_keeps", "x:2,3,5,6", L, "return self.l(x[:, 0])"),
    ("layout_chunk", "x:2,3,12", L, "a, b = x.chunk(2, -1); return self.l(a * 2) + self.l(b)"),
    ("layout_split_first", "x:4,3,6", L, "a, b = x.split(2, 0); return self.l(b)"),
    ("layout_permute", "x:2,3,4,6", L, "return self.l(x.permute(0, 2, 1, 3))"),
    ("layout_permute_image", "x:2,6,4,4", L, "return self.l(x.permute(0, 2, 3, 1))"),
    ("layout_flatten_transposed", "x:2,6,4,4", L, "return self.l(x.flatten(2).transpose(1, 2))"),
    ("layout_contiguous", "x:2,6,3", L, "return self.l(x.transpose(1, 2).contiguous())"),
    ("layout_reshape_copies", "x:2,3,4,6", L, "return self.l(x.transpose(1, 2).reshape(2, 12, 6))"),
    ("layout_reshape_views", "x:3,2,4,6", L, "return self.l(x.transpose(0, 1).reshape(2, 3, 4, 6))"),
    ("layout_clone", "x:3,2,6", L, "return self.l(x.transpose(0, 1).clone())"),
    ("layout_softmax", "x:6,2,3", L, "return self.l(x.permute(1, 2, 0).softmax(-1))"),
    ("layout_norm", "x:6,2,3", L + "; self.n = nn.LayerNorm(6)", "return self.l(self.n(x.permute(1, 2, 0)))"),
    ("layout_cat", "x:2,3,2 y:2,3,4", L, "return self.l(torch.cat((x, y), -1))"),
    ("layout_cat_transposed", "x:2,2,3 y:2,4,3", L, "return self.l(torch.cat((x, y), 1).transpose(1, 2))"),
    ("layout_stack", "x:3,6 y:3,6", L, "return self.l(torch.stack((x, y), 0))"),
    ("layout_mul_scalar_transposed", "x:3,2,6", L, "return self.l(x.transpose(0, 1) * 2)"),
    ("layout_add_vector_transposed", "x:3,2,6 y:6", L, "return self.l(x.transpose(0, 1) + y)"),
    ("layout_add_other_order", "x:3,2,6 y:2,3,6", L, "return self.l(y + x.transpose(0, 1))"),
    ("layout_dropout", "x:3,2,6", L, "return self.l(F.dropout(x.transpose(0, 1), 0.5, self.training))"),
    ("layout_flip", "x:2,3,6", L, "return self.l(x.flip(1))"),
    ("layout_roll", "x:2,3,6", L, "return self.l(torch.roll(x, 1, 1))"),
    ("layout_gather", "x:2,3,6 i:int:2", L, "return self.l(x[:, i % 3])"),
    ("layout_matmul_transposed", "x:2,3,6 y:2,6,6", L, "return self.l(torch.matmul(x, y).transpose(0, 1))"),
    ("layout_conv", "x:2,3,4,4", "self.c = nn.Conv2d(3, 6, 1); self.l = nn.Linear(6, 5)", "return self.l(self.c(x).permute(0, 2, 3, 1))"),
    ("layout_conv_flat", "x:2,3,4,4", "self.c = nn.Conv2d(3, 6, 2, 2); self.l = nn.Linear(6, 5)", "return self.l(self.c(x).flatten(2).transpose(1, 2))"),
    ("layout_linear_of_permuted", "x:3,2,6", "self.l = nn.Linear(6, 6); self.m = nn.Linear(6, 5)", "return self.m(self.l(x.transpose(0, 1)))"),
    ("layout_mean", "x:2,3,4,6", L, "return self.l(x.mean(1))"),
    ("layout_gelu_transposed", "x:3,2,6", L, "return self.l(F.gelu(x.transpose(0, 1)))"),
    ("layout_unsqueeze", "x:3,6", L, "return self.l(x.unsqueeze(0).expand(2, 3, 6).transpose(0, 1))"),
    ("layout_ones", "x:1,3,6", L, "return self.l(x.transpose(0, 1))"),
    ("layout_pad", "x:2,3,5", L, "return self.l(F.pad(x, (0, 1)))"),
    ("layout_masked", "x:3,2,6", L, "t = x.transpose(0, 1); return self.l(t.masked_fill(t < 0, 0.0))"),
    ("layout_window", "x:2,4,4,6", L, "w = x.view(2, 2, 2, 2, 2, 6).permute(0, 1, 3, 2, 4, 5); return self.l(w.reshape(8, 4, 6))"),
    ("layout_window_view", "x:2,4,4,6", L, "w = x.view(2, 2, 2, 2, 2, 6).permute(0, 1, 3, 2, 4, 5); return self.l(w)"),
    ("layout_sdpa", "x:2,4,3,6", L, "y = F.scaled_dot_product_attention(x, x, x); return self.l(y.transpose(1, 2))"),
    ("layout_einsum", "x:2,3,6 y:6,6", L, "return self.l(torch.einsum('bnc,cd->bnd', x, y))"),
    ("layout_lstm", "x:3,2,6", "self.r = nn.LSTM(6, 6, batch_first=True); self.l = nn.Linear(6, 5)", "y, _ = self.r(x); return self.l(y)"),
    ("layout_conv_of_permuted", "x:2,4,4,6", "self.c = nn.Conv2d(6, 6, 3, padding=1); self.l = nn.Linear(6, 5)", "return self.l(self.c(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))"),
    ("layout_conv1d_of_transposed", "x:2,5,6", "self.c = nn.Conv1d(6, 6, 3, padding=1); self.l = nn.Linear(6, 5)", "return self.l(self.c(x.transpose(1, 2)).transpose(1, 2))"),
    ("layout_contiguous_view", "x:2,3,4,6", L, "return self.l(x.transpose(1, 2).contiguous().view(2, 12, 6))"),
    ("layout_clone_then_relu", "x:3,2,6", L, "return self.l(torch.relu(x.transpose(0, 1).contiguous()))"),
    ("layout_squeeze", "x:2,1,3,6", L, "return self.l(x.transpose(0, 2).squeeze(1))"),
    ("layout_step", "x:2,6,6", L, "return self.l(x[:, ::2])"),
    ("layout_cast", "x:3,2,6", L, "return self.l(x.transpose(0, 1).double().float())"),
    ("layout_rotary", "x:2,4,3,6 c:3,6", L, "x = x * c + rotate_half(x) * c; return self.l(x.transpose(1, 2))"),
    ("layout_batch_norm", "x:2,6,5", "self.n = nn.BatchNorm1d(6); self.l = nn.Linear(6, 5)", "return self.l(self.n(x).transpose(1, 2))"),
    ("layout_residual", "x:2,6,5", "self.l = nn.Linear(6, 6); self.m = nn.Linear(6, 5)", "y = x.transpose(1, 2); return self.m(y + self.l(y))"),
    # Products.
    ("matmul_operator", "x:2,3,4 y:2,4,5", "", "return x @ y"),
    ("matmul_function", "x:2,3,4 y:2,4,5", "", "return torch.matmul(x, y)"),
    ("matmul_method", "x:2,3,4 y:2,4,5", "", "return x.matmul(y)"),
    ("matmul_helper", "x:2,3,4 y:2,3,4 z:2,3,4", "", "return helper_attention(x, y, z)"),
    ("matmul_two_on_a_line", "x:2,3,4 y:2,4,5 z:2,5,6", "", "return torch.matmul(x, y) @ z"),
    ("matmul_broadcast", "x:3,4 y:2,4,5", "", "return torch.matmul(x, y)"),
    ("matmul_broadcast_second", "x:2,3,4 y:4,5", "", "return torch.matmul(x, y)"),
    ("matmul_matrix", "x:3,4 y:4,5", "", "return x @ y"),
    ("matmul_vector", "x:3,4 y:4", "", "return x @ y"),
    ("matmul_vector_first", "x:4 y:4,5", "", "return x @ y"),
    ("matmul_dot", "x:4 y:4", "", "return torch.dot(x, y)"),
    ("matmul_vectors", "x:4 y:4", "", "return x @ y"),
    ("matmul_parameter", "x:2,3,4", "self.p = nn.Parameter(torch.randn(4, 5))", "return x @ self.p"),
    ("matmul_over_lines", "x:2,3,4 y:2,4,5", "", "z = torch.matmul(;     x,;     y); return z"),
    ("matmul_operator_over_lines", "x:2,3,4 y:2,4,5", "", "z = (x;      @ y); return z"),
    ("matmul_inplace_operator", "x:2,3,4 y:2,4,4", "", "x = x * 1.0; x @= y; return x"),
    ("mm_function", "x:3,4 y:4,5", "", "return torch.mm(x, y)"),
    ("mm_method", "x:3,4 y:4,5", "", "return x.mm(y)"),
    ("bmm_function", "x:2,3,4 y:2,4,5", "", "return torch.bmm(x, y)"),
    ("bmm_method", "x:2,3,4 y:2,4,5", "", "return x.bmm(y)"),
    ("mv_function", "x:3,4 y:4", "", "return torch.mv(x, y)"),
    ("addmm_function", "z:5 x:3,4 y:4,5", "", "return torch.addmm(z, x, y)"),
    ("addmm_matrix", "z:3,5 x:3,4 y:4,5", "", "return torch.addmm(z, x, y)"),
    ("addmm_method", "z:3,5 x:3,4 y:4,5", "", "return z.addmm(x, y)"),
    ("addmm_scaled", "z:3,5 x:3,4 y:4,5", "", "return torch.addmm(z, x, y, beta=0.5, alpha=2.0)"),
    ("baddbmm_function", "z:2,3,5 x:2,3,4 y:2,4,5", "", "return torch.baddbmm(z, x, y)"),
    ("einsum_matmul", "x:2,3,4 y:2,4,5", "", "return torch.einsum('bij,bjk->bik', x, y)"),
    ("einsum_transposed", "x:2,3,4 y:2,5,4", "", "return torch.einsum('bnc,bmc->bnm', x, y)"),
    ("einsum_heads", "x:2,3,4,5 y:2,6,4,5", "", "return torch.einsum('bqhd,bkhd->bhqk', x, y)"),
    ("einsum_outer", "x:3 y:4", "", "return torch.einsum('i,j->ij', x, y)"),
    ("einsum_three", "x:2,3 y:3,4 z:4,5", "", "return torch.einsum('ab,bc,cd->ad', x, y, z)"),
    ("einsum_sum", "x:2,3,4", "", "return torch.einsum('abc->a', x)"),
    ("outer", "x:3 y:4", "", "return torch.outer(x, y)"),
    ("tensordot", "x:2,3,4 y:4,3,5", "", "return torch.tensordot(x, y, dims=([1, 2], [1, 0]))"),
    # Element-wise.
    ("add_operator", "x:2,3,6", L, "y = self.l(x); return y + y.tanh()"),
    ("add_function", "x:2,3,6", L, "y = self.l(x); return torch.add(y, y.tanh())"),
    ("add_method", "x:2,3,6", L, "y = self.l(x); return y.add(y.tanh())"),
    ("add_inplace_operator", "x:2,3,6", L, "y = self.l(x); z = y.tanh(); y += z; return y"),
    ("add_inplace_method", "x:2,3,6", L, "y = self.l(x); z = y.tanh(); y.add_(z); return y"),
    ("add_alpha", "x:2,3,6", L, "y = self.l(x); return torch.add(y, y.tanh(), alpha=2)"),
    ("add_scalar", "x:2,3,6", L, "return self.l(x) + 1.5"),
    ("add_scalar_function", "x:2,3,6", L, "return torch.add(self.l(x), 1.5)"),
    ("add_scalar_first", "x:2,3,6", L, "return 1.5 + self.l(x)"),
    ("add_broadcast", "x:2,3,6 y:5", L, "return y + self.l(x)"),
    ("add_broadcast_function", "x:2,3,6 y:5", L, "return torch.add(y, self.l(x))"),
    ("add_helper", "x:2,3,6", L, "y = self.l(x); return helper_add(y, y.tanh())"),
    ("add_named_helper", "x:2,3,6", L, "y = self.l(x); return helper_named_add(y, y.tanh())"),
    ("add_both_on_a_line", "x:2,3,6", L, "y = self.l(x); return torch.add(y, y.tanh()) + y"),
    ("add_helper_and_operator", "x:2,3,6", L, "y = self.l(x); return helper_named_add(y, y.tanh()) + y"),
    ("add_zero", "x:2,3,6", L, "return self.l(x) + 0"),
    ("mul_operator", "x:2,3,6", L, "y = self.l(x); return y * y.tanh()"),
    ("mul_function", "x:2,3,6", L, "y = self.l(x); return torch.mul(y, y.tanh())"),
    ("mul_method", "x:2,3,6", L, "y = self.l(x); return y.mul(y.tanh())"),
    ("mul_inplace_operator", "x:2,3,6", L, "y = self.l(x); z = y.tanh(); y *= z; return y"),
    ("mul_scalar", "x:2,3,6", L, "return self.l(x) * 0.5"),
    ("mul_scalar_first", "x:2,3,6", L, "return 0.5 * self.l(x)"),
    ("mul_one", "x:2,3,6", L, "return self.l(x) * 1"),
    ("mul_alias", "x:2,3,6", L, "y = self.l(x); return torch.multiply(y, y.tanh())"),
    ("sub_operator", "x:2,3,6", L, "y = self.l(x); return y - y.tanh()"),
    ("div_operator", "x:2,3,6", L, "y = self.l(x); return y / (y.exp() + 1)"),
    ("rsub", "x:2,3,6", L, "return 1 - self.l(x)"),
    ("addcmul", "x:2,3,6", L, "y = self.l(x); return torch.addcmul(y, y, y.tanh())"),
    ("lerp", "x:2,3,6", L, "y = self.l(x); return torch.lerp(y, y.tanh(), 0.3)"),
    ("square", "x:2,3,6", L, "return self.l(x).pow(2).sum(-1)"),
    ("integers", "i:int:2,3", "self.e = nn.Embedding(20, 6); self.l = nn.Linear(6, 5)", "i = i + 2; return self.l(self.e(i * 2))"),
    ("scale_module", "x:2,3,6", "self.s = Scale(6); self.l = nn.Linear(6, 5)", "return self.l(self.s(x))"),
    # Activations, softmax.
    ("relu_module", "x:2,3,6", L + "; self.a = nn.ReLU()", "return self.a(self.l(x))"),
    ("relu_module_inplace", "x:2,3,6", L + "; self.a = nn.ReLU(inplace=True)", "return self.a(self.l(x))"),
    ("relu_subclass", "x:2,3,6", L + "; self.a = MyRelu()", "return self.a(self.l(x))"),
    ("relu_functional", "x:2,3,6", L, "return F.relu(self.l(x))"),
    ("relu_nn_functional", "x:2,3,6", L, "return nn.functional.relu(self.l(x))"),
    ("relu_torch", "x:2,3,6", L, "return torch.relu(self.l(x))"),
    ("relu_method", "x:2,3,6", L, "return self.l(x).relu()"),
    ("relu_method_inplace", "x:2,3,6", L, "return self.l(x).relu_()"),
    ("relu6_module", "x:2,3,6", L + "; self.a = nn.ReLU6()", "return self.a(self.l(x))"),
    ("relu6_functional", "x:2,3,6", L, "return F.relu6(self.l(x))"),
    ("leaky_module", "x:2,3,6", L + "; self.a = nn.LeakyReLU()", "return self.a(self.l(x))"),
    ("leaky_functional", "x:2,3,6", L, "return F.leaky_relu(self.l(x))"),
    ("elu_module", "x:2,3,6", L + "; self.a = nn.ELU()", "return self.a(self.l(x))"),
    ("elu_functional", "x:2,3,6", L, "return F.elu(self.l(x))"),
    ("prelu_module", "x:2,3,6", L + "; self.a = nn.PReLU()", "return self.a(self.l(x))"),
    ("gelu_module", "x:2,3,6", L + "; self.a = nn.GELU()", "return self.a(self.l(x))"),
    ("gelu_tanh", "x:2,3,6", L + "; self.a = nn.GELU(approximate='tanh')", "return self.a(self.l(x))"),
    ("gelu_functional", "x:2,3,6", L, "return F.gelu(self.l(x))"),
    ("gelu_written", "x:2,3,6", L, "x = self.l(x); return 0.5 * x * (1.0 + torch.tanh(0.79 * (x + 0.044715 * torch.pow(x, 3.0))))"),
    ("silu_module", "x:2,3,6", L + "; self.a = nn.SiLU()", "return self.a(self.l(x))"),
    ("silu_functional", "x:2,3,6", L, "return F.silu(self.l(x))"),
    ("silu_written", "x:2,3,6", L, "x = self.l(x); return x * torch.sigmoid(x)"),
    ("sigmoid_module", "x:2,3,6", L + "; self.a = nn.Sigmoid()", "return self.a(self.l(x))"),
    ("hardswish_module", "x:2,3,6", L + "; self.a = nn.Hardswish()", "return self.a(self.l(x))"),
    ("hardswish_functional", "x:2,3,6", L, "return F.hardswish(self.l(x))"),
    ("mish_module", "x:2,3,6", L + "; self.a = nn.Mish()", "return self.a(self.l(x))"),
    ("softplus_module", "x:2,3,6", L + "; self.a = nn.Softplus()", "return self.a(self.l(x))"),
    ("glu_module", "x:2,3,6", "self.l = nn.Linear(6, 8); self.a = nn.GLU()", "return self.a(self.l(x))"),
    ("swiglu", "x:2,3,6", "self.l = nn.Linear(6, 8); self.m = nn.Linear(6, 8)", "return F.silu(self.l(x)) * self.m(x)"),
    ("softmax_module", "x:2,3,6", L + "; self.a = nn.Softmax(dim=-1)", "return self.a(self.l(x))"),
    ("softmax_module_dim1", "x:2,3,6", L + "; self.a = nn.Softmax(dim=1)", "return self.a(self.l(x))"),
    ("softmax_functional", "x:2,3,6", L, "return F.softmax(self.l(x), dim=-1)"),
    ("softmax_torch", "x:2,3,6", L, "return torch.softmax(self.l(x), dim=-1)"),
    ("softmax_method", "x:2,3,6", L, "return self.l(x).softmax(-1)"),
    ("log_softmax_module", "x:2,3,6", L + "; self.a = nn.LogSoftmax(dim=-1)", "return self.a(self.l(x))"),
    ("log_softmax_functional", "x:2,3,6", L, "return F.log_softmax(self.l(x), dim=-1)"),
    # Normalisation.
    ("layer_norm", "x:2,3,6", "self.n = nn.LayerNorm(6)", "return self.n(x)"),
    ("layer_norm_two_dims", "x:2,3,6", "self.n = nn.LayerNorm((3, 6))", "return self.n(x)"),
    ("layer_norm_plain", "x:2,3,6", "self.n = nn.LayerNorm(6, elementwise_affine=False)", "return self.n(x)"),
    ("layer_norm_no_bias", "x:2,3,6", "self.n = nn.LayerNorm(6, bias=False)", "return self.n(x)"),
    ("layer_norm_functional", "x:2,3,6", "self.w = nn.Parameter(torch.ones(6)); self.b = nn.Parameter(torch.zeros(6))", "return F.layer_norm(x, (6,), self.w, self.b)"),
    ("layer_norm_subclass", "x:2,3,6", "self.n = MyNorm(6)", "return self.n(x)"),
    ("layer_norm_written", "x:2,3,6", "self.w = nn.Parameter(torch.ones(6))", "u = x.mean(-1, keepdim=True); s = (x - u).pow(2).mean(-1, keepdim=True); return self.w * ((x - u) / torch.sqrt(s + 1e-5))"),
    ("group_norm", "x:2,6,4,4", "self.n = nn.GroupNorm(2, 6)", "return self.n(x)"),
    ("group_norm_plain", "x:2,6,4,4", "self.n = nn.GroupNorm(2, 6, affine=False)", "return self.n(x)"),
    ("group_norm_functional", "x:2,6,4,4", "", "return F.group_norm(x, 2)"),
    ("batch_norm_1d", "x:3,6", "self.n = nn.BatchNorm1d(6)", "return self.n(x)"),
    ("batch_norm_1d_rank3", "x:2,6,4", "self.n = nn.BatchNorm1d(6)", "return self.n(x)"),
    ("batch_norm_2d", "x:2,6,4,4", "self.n = nn.BatchNorm2d(6)", "return self.n(x)"),
    ("batch_norm_2d_plain", "x:2,6,4,4", "self.n = nn.BatchNorm2d(6, affine=False)", "return self.n(x)"),
    ("batch_norm_3d", "x:2,6,2,3,3", "self.n = nn.BatchNorm3d(6)", "return self.n(x)"),
    ("batch_norm_after_conv", "x:2,3,6,6", "self.c = nn.Conv2d(3, 6, 3, bias=False); self.n = nn.BatchNorm2d(6)", "return self.n(self.c(x))"),
    ("batch_norm_after_conv_bias", "x:2,3,6,6", "self.c = nn.Conv2d(3, 6, 3); self.n = nn.BatchNorm2d(6)", "return self.n(self.c(x))"),
    ("batch_norm_before_conv", "x:2,3,6,6", "self.c = nn.Conv2d(3, 6, 3); self.n = nn.BatchNorm2d(3)", "return self.c(F.relu(self.n(x)))"),
    ("batch_norm_functional", "x:2,3,6,6", "self.n = nn.BatchNorm2d(3)", "n = self.n; return F.batch_norm(x, n.running_mean, n.running_var, n.weight, n.bias, False)"),
    ("batch_norm_after_linear", "x:3,6", "self.l = nn.Linear(6, 5); self.n = nn.BatchNorm1d(5)", "return self.n(self.l(x))"),
    ("instance_norm", "x:2,3,6,6", "self.n = nn.InstanceNorm2d(3)", "return self.n(x)"),
    ("instance_norm_affine", "x:2,3,6,6", "self.n = nn.InstanceNorm2d(3, affine=True)", "return self.n(x)"),
    ("instance_norm_1d", "x:2,3,6", "self.n = nn.InstanceNorm1d(3, affine=True)", "return self.n(x)"),
    ("rms_norm", "x:2,3,6", "self.n = nn.RMSNorm(6)", "return self.n(x)"),
    ("rms_norm_written", "x:2,3,6", "self.n = Rms(6)", "return self.n(x)"),
    ("local_response_norm", "x:2,6,4,4", "self.n = nn.LocalResponseNorm(3)", "return self.n(x)"),
    ("normalize", "x:2,3,6", L, "return F.normalize(self.l(x), dim=-1)"),
    ("layer_norm_torch", "x:2,3,6", "self.w = nn.Parameter(torch.ones(6)); self.b = nn.Parameter(torch.zeros(6))", "return torch.layer_norm(x, (6,), self.w, self.b)"),
    ("max_pool_torch", "x:1,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return torch.max_pool2d(self.c(x), 2)"),
    ("max_pool_functional_after_conv", "x:1,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.max_pool2d(self.c(x), 2)"),
    ("avg_pool_functional_after_conv", "x:1,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.avg_pool2d(self.c(x), 2)"),
    ("adaptive_functional_after_conv", "x:1,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.adaptive_avg_pool2d(self.c(x), 1)"),
    ("adaptive_1d_functional", "x:1,3,6", "self.c = nn.Conv1d(3, 3, 1)", "return F.adaptive_avg_pool1d(self.c(x), 1)"),
    ("interpolate_after_conv", "x:1,3,4,4", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=2)"),
    ("interpolate_odd_factor", "x:1,3,4,4", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=1.5)"),
    ("conv2d_torch", "x:2,3,6,6", "self.w = nn.Parameter(torch.randn(4, 3, 3, 3))", "return torch.conv2d(x, self.w)"),
    ("matmul_function_after_linear", "x:2,3,6", L, "y = self.l(x); return torch.matmul(y, y.transpose(1, 2))"),
    ("bmm_after_linear", "x:2,3,6", L, "y = self.l(x); return torch.bmm(y, y.transpose(1, 2))"),
    ("mm_after_linear", "x:3,6", L, "y = self.l(x); return torch.mm(y, y.t())"),
    ("addmm_after_linear", "x:3,6 z:3,3", L, "y = self.l(x); return torch.addmm(z, y, y.t())"),
    ("baddbmm_after_linear", "x:2,3,6 z:2,3,3", L, "y = self.l(x); return torch.baddbmm(z, y, y.transpose(1, 2))"),
    ("einsum_after_linear", "x:2,3,6", L, "y = self.l(x); return torch.einsum('bic,bjc->bij', y, y)"),
    ("sdpa_after_linear", "x:2,2,3,6", L, "y = self.l(x); return F.scaled_dot_product_attention(y, y, y)"),
    ("mul_over_lines", "x:2,3,6", L, "y = self.l(x); z = (torch.mul(y, y);      + y); return z"),
    ("mul_in_call", "x:2,3,6", L + "; self.m = nn.Linear(5, 4)", "y = self.l(x); return self.m(y * y.tanh())"),
    ("add_in_module_call", "x:2,3,6", L + "; self.n = nn.LayerNorm(6)", "return self.l(self.n(x + x.tanh()))"),
    # Convolutions, pooling, resizing.
    ("conv1d", "x:2,3,7", "self.c = nn.Conv1d(3, 4, 3)", "return self.c(x)"),
    ("conv2d", "x:2,3,6,6", "self.c = nn.Conv2d(3, 4, 3, padding=1)", "return self.c(x)"),
    ("conv2d_no_bias", "x:2,3,6,6", "self.c = nn.Conv2d(3, 4, 3, bias=False)", "return self.c(x)"),
    ("conv2d_groups", "x:2,6,6,6", "self.c = nn.Conv2d(6, 4, 3, groups=2)", "return self.c(x)"),
    ("conv2d_depthwise", "x:2,6,6,6", "self.c = nn.Conv2d(6, 6, 3, groups=6)", "return self.c(x)"),
    ("conv2d_same", "x:2,3,6,6", "self.c = nn.Conv2d(3, 4, 4, padding='same')", "return self.c(x)"),
    ("conv2d_reflect", "x:2,3,6,6", "self.c = nn.Conv2d(3, 4, 3, padding=1, padding_mode='reflect')", "return self.c(x)"),
    ("conv2d_unbatched", "x:3,6,6", "self.c = nn.Conv2d(3, 4, 3)", "return self.c(x)"),
    ("conv2d_functional", "x:2,3,6,6", "self.w = nn.Parameter(torch.randn(4, 3, 3, 3)); self.b = nn.Parameter(torch.zeros(4))", "return F.conv2d(x, self.w, self.b)"),
    ("conv3d", "x:1,2,4,4,4", "self.c = nn.Conv3d(2, 3, 2)", "return self.c(x)"),
    ("conv_transpose1d", "x:2,3,5", "self.c = nn.ConvTranspose1d(3, 4, 3)", "return self.c(x)"),
    ("conv_transpose2d", "x:1,3,4,4", "self.c = nn.ConvTranspose2d(3, 4, 3, stride=2)", "return self.c(x)"),
    ("conv_transpose2d_groups", "x:1,4,4,4", "self.c = nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2)", "return self.c(x)"),
    ("conv_transpose2d_no_bias", "x:1,3,4,4", "self.c = nn.ConvTranspose2d(3, 4, 2, stride=2, bias=False)", "return self.c(x)"),
    ("max_pool_module", "x:1,3,6,6", "self.p = nn.MaxPool2d(2)", "return self.p(x)"),
    ("max_pool_functional", "x:1,3,6,6", "", "return F.max_pool2d(x, 2)"),
    ("avg_pool_module", "x:1,3,6,6", "self.p = nn.AvgPool2d(2)", "return self.p(x)"),
    ("avg_pool_padded", "x:1,3,6,6", "self.p = nn.AvgPool2d(3, 2, 1)", "return self.p(x)"),
    ("avg_pool_functional", "x:1,3,6,6", "", "return F.avg_pool2d(x, 2)"),
    ("avg_pool1d", "x:1,3,6", "self.p = nn.AvgPool1d(2)", "return self.p(x)"),
    ("adaptive_module", "x:1,3,6,6", "self.p = nn.AdaptiveAvgPool2d(1)", "return self.p(x)"),
    ("adaptive_module_3", "x:1,3,6,6", "self.p = nn.AdaptiveAvgPool2d(3)", "return self.p(x)"),
    ("adaptive_functional", "x:1,3,6,6", "", "return F.adaptive_avg_pool2d(x, 1)"),
    ("adaptive_functional_3", "x:1,3,6,6", "", "return F.adaptive_avg_pool2d(x, (3, 3))"),
    ("adaptive_1d", "x:1,3,6", "self.p = nn.AdaptiveAvgPool1d(1)", "return self.p(x)"),
    ("adaptive_max", "x:1,3,6,6", "self.p = nn.AdaptiveMaxPool2d(1)", "return self.p(x)"),
    ("mean_of_image", "x:1,3,6,6", "self.l = nn.Linear(3, 4)", "return self.l(x.mean([-2, -1]))"),
    ("mean_of_image_kept", "x:1,3,6,6", "", "return x.mean([-1, -2], keepdim=True)"),
    ("upsample_nearest", "x:1,3,4,4", "self.u = nn.Upsample(scale_factor=2)", "return self.u(x)"),
    ("upsample_bilinear", "x:1,3,4,4", "self.u = nn.Upsample(scale_factor=2, mode='bilinear')", "return self.u(x)"),
    ("upsample_size", "x:1,3,4,4", "self.u = nn.Upsample(size=(6, 6), mode='bilinear')", "return self.u(x)"),
    ("upsample_batch", "x:2,3,4,4", "self.u = nn.Upsample(scale_factor=2)", "return self.u(x)"),
    ("interpolate_nearest", "x:1,3,4,4", "", "return F.interpolate(x, scale_factor=2)"),
    ("interpolate_size", "x:1,3,4,4", "", "return F.interpolate(x, size=(6, 7))"),
    ("interpolate_bilinear", "x:1,3,4,4", "", "return F.interpolate(x, size=(6, 6), mode='bilinear', align_corners=False)"),
    ("interpolate_bicubic", "x:1,3,4,4", "", "return F.interpolate(x, size=(6, 6), mode='bicubic')"),
    ("pixel_shuffle", "x:1,12,3,3", "self.c = nn.Conv2d(12, 12, 1); self.p = nn.PixelShuffle(2)", "return self.p(self.c(x))"),
    ("grid_sample", "x:1,3,4,4 g:1,5,5,2", "", "return F.grid_sample(x, g, align_corners=False)"),
    ("unfold", "x:1,3,6,6", "self.l = nn.Linear(27, 4)", "return self.l(F.unfold(x, 3).transpose(1, 2))"),
    # Attention.
    ("sdpa", "q:2,4,3,6", "", "return F.scaled_dot_product_attention(q, q, q)"),
    ("sdpa_torch_nn", "q:2,4,3,6 k:2,4,5,6", "", "return nn.functional.scaled_dot_product_attention(q, k, k)"),
    ("sdpa_causal", "q:2,4,3,6", "", "return F.scaled_dot_product_attention(q, q, q, is_causal=True)"),
    ("sdpa_mask", "q:2,4,3,6 m:3,3", "", "return F.scaled_dot_product_attention(q, q, q, attn_mask=m)"),
    ("sdpa_bool_mask", "q:2,4,3,6 m:3,3", "", "return F.scaled_dot_product_attention(q, q, q, attn_mask=m > 0)"),
    ("sdpa_rank3", "q:4,3,6", "", "return F.scaled_dot_product_attention(q, q, q)"),
    ("sdpa_other_value", "q:2,4,3,6 v:2,4,3,8", "", "return F.scaled_dot_product_attention(q, q, v)"),
    ("sdpa_gqa", "q:2,4,3,6 k:2,2,5,6", "", "return F.scaled_dot_product_attention(q, k, k, enable_gqa=True)"),
    ("sdpa_dropout", "q:2,4,3,6", "", "return F.scaled_dot_product_attention(q, q, q, dropout_p=0.1 if self.training else 0.0)"),
    ("attention_sdpa", "x:2,3,8", "self.a = Attention(8, 2)", "return self.a(x)"),
    ("attention_at", "x:2,3,8", "self.a = Attention(8, 2, 'at')", "return self.a(x)"),
    ("attention_matmul", "x:2,3,8", "self.a = Attention(8, 2, 'matmul')", "return self.a(x)"),
    ("attention_helper", "x:2,3,8", "self.a = Attention(8, 2, 'helper')", "return self.a(x)"),
    ("attention_bmm", "x:4,3,6", "self.q = nn.Linear(6, 6); self.k = nn.Linear(6, 6)", "w = torch.bmm(self.q(x), self.k(x).transpose(1, 2)); w = F.softmax(w, dim=-1); return torch.bmm(w, x)"),
    ("attention_baddbmm", "x:4,3,6 m:4,3,3", "", "w = torch.baddbmm(m, x, x.transpose(1, 2)).softmax(-1); return torch.bmm(w, x)"),
    ("mha", "x:3,2,8", "self.a = nn.MultiheadAttention(8, 2)", "return self.a(x, x, x)[0]"),
    ("mha_no_weights", "x:3,2,8", "self.a = nn.MultiheadAttention(8, 2)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("mha_batch_first", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("mha_batch_first_weights", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x)[0]"),
    ("mha_odd_heads", "x:2,3,9", "self.a = nn.MultiheadAttention(9, 3, batch_first=True)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("mha_cross", "x:2,3,8 y:2,5,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, y, y, need_weights=False)[0]"),
    ("mha_kdim", "x:2,3,8 y:2,5,6", "self.a = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True)", "return self.a(x, y, y, need_weights=False)[0]"),
    ("mha_mask", "x:2,3,8 m:3,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, need_weights=False, attn_mask=m)[0]"),
    ("mha_no_bias", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("mha_twice", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "x = self.a(x, x, x, need_weights=False)[0]; return self.a(x, x, x, need_weights=False)[0]"),
    ("encoder_layer", "x:2,3,8", "self.t = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)", "return self.t(x)"),
    ("encoder_layer_seq_first", "x:3,2,8", "self.t = nn.TransformerEncoderLayer(8, 2, 12)", "return self.t(x)"),
    ("encoder_layer_gelu", "x:2,3,8", "self.t = nn.TransformerEncoderLayer(8, 2, 12, activation='gelu', norm_first=True, batch_first=True)", "return self.t(x)"),
    ("encoder", "x:2,3,8", "self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)", "return self.t(x)"),
    ("decoder_layer", "x:2,3,8 y:2,5,8", "self.t = nn.TransformerDecoderLayer(8, 2, 12, batch_first=True)", "return self.t(x, y)"),
    ("block_sdpa", "x:2,3,8", "self.b = Block(8, 2)", "return self.b(x)"),
    ("block_at", "x:1,3,8", "self.b = Block(8, 2, 'at')", "return self.b(x)"),
    ("block_matmul", "x:1,3,8", "self.b = Block(8, 2, 'matmul', nn.SiLU)", "return self.b(x)"),
    ("blocks_shared", "x:2,3,8", "self.b = Block(8, 2); self.n = 2", "for _ in range(self.n):;     x = self.b(x); return x"),
    ("rotary", "q:1,2,4,6 c:4,6 s:4,6", "", "return q * c + rotate_half(q) * s"),
    ("gpt_mask", "x:1,4,8", "self.l = nn.Linear(8, 8); self.register_buffer('mask', torch.triu(torch.ones(4, 4), diagonal=1))", "q = self.l(x); a = q @ q.transpose(1, 2); a = a.masked_fill(self.mask.bool(), -1e9); a = torch.softmax(a / 8**0.5, dim=-1); return a @ q"),
    # Recurrent layers.
    ("lstm", "x:3,2,4", "self.r = nn.LSTM(4, 5)", "return self.r(x)[0]"),
    ("lstm_two_layers", "x:2,3,4", "self.r = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)", "return self.r(x)[0]"),
    ("lstm_no_bias", "x:3,2,4", "self.r = nn.LSTM(4, 5, bias=False)", "return self.r(x)[0]"),
    ("gru", "x:3,2,4", "self.r = nn.GRU(4, 5)", "return self.r(x)[0]"),
    ("gru_batch_first", "x:2,3,4", "self.r = nn.GRU(4, 5, 2, batch_first=True)", "return self.r(x)[0]"),
    ("rnn", "x:3,2,4", "self.r = nn.RNN(4, 5)", "return self.r(x)[0]"),
    ("lstm_cell", "x:2,4", "self.r = nn.LSTMCell(4, 5)", "return self.r(x)[0]"),
    ("gru_cell", "x:2,4", "self.r = nn.GRUCell(4, 5)", "return self.r(x)"),
    # Models in small.
    ("basic_block", "x:1,4,6,6", "self.b = Basic(4)", "return self.b(x)"),
    ("basic_block_batch", "x:2,4,6,6", "self.b = Basic(4, False)", "return self.b(x)"),
    ("small_cnn", "x:1,3,8,8", "self.f = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()); self.l = nn.Linear(36, 5)", "return self.l(self.f(x))"),
    ("squeeze_excite", "x:1,4,6,6", "self.s = SqueezeExcite(4)", "return self.s(x)"),
    ("unet", "x:1,3,8,8", "self.d = nn.Conv2d(3, 4, 3, 2, 1); self.u = nn.ConvTranspose2d(4, 3, 2, 2); self.o = nn.Conv2d(6, 2, 1)", "y = F.relu(self.d(x)); y = torch.cat((x, self.u(y)), 1); return self.o(y)"),
    ("inverted_residual", "x:1,4,6,6", "self.s = nn.Sequential(nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 4, 1, bias=False))", "return x + self.s(x)"),
    ("convnext", "x:1,6,4,4", "self.c = nn.Conv2d(6, 6, 3, padding=1, groups=6); self.n = nn.LayerNorm(6); self.m = Mlp(6, 12); self.g = nn.Parameter(torch.ones(6))", "y = self.c(x).permute(0, 2, 3, 1); y = self.g * self.m(self.n(y)); return x + y.permute(0, 3, 1, 2)"),
    ("mixer", "x:1,4,6", "self.n = nn.LayerNorm(6); self.t = Mlp(4, 8); self.c = Mlp(6, 12)", "x = x + self.t(self.n(x).transpose(1, 2)).transpose(1, 2); return x + self.c(self.n(x))"),
    ("clip_like", "x:1,6 y:3,6", "self.a = nn.Linear(6, 4, bias=False); self.b = nn.Linear(6, 4, bias=False); self.s = nn.Parameter(torch.tensor(2.0))", "a = self.a(x); b = self.b(y); a = a / a.norm(dim=-1, keepdim=True); b = b / b.norm(dim=-1, keepdim=True); return self.s.exp() * a @ b.t()"),
    ("gated_state", "x:1,4,6", "self.l = nn.Linear(6, 6); self.g = nn.Linear(6, 6)", "h = torch.zeros(1, 6); out = []; for t in range(4):;     h = torch.tanh(self.l(x[:, t])) + h * torch.sigmoid(self.g(x[:, t]));     out.append(h); return torch.stack(out, 1)"),
    ("experts", "x:4,6", "self.r = nn.Linear(6, 2); self.e = nn.ModuleList([nn.Linear(6, 6) for _ in range(2)])", "w = F.softmax(self.r(x), dim=-1); return sum(w[:, i:i + 1] * e(x) for i, e in enumerate(self.e))"),
    ("position_embedding", "i:int:1,4", "self.e = nn.Embedding(9, 6); self.p = nn.Embedding(4, 6); self.l = nn.Linear(6, 9, bias=False)", "x = self.e(i) + self.p(torch.arange(4)); return self.l(x)"),
    ("detection_head", "x:1,6,4,4", "self.c = nn.Conv2d(6, 8, 1)", "y = self.c(x).flatten(2).permute(0, 2, 1); box, cls = y.split((4, 4), -1); return torch.cat((box.sigmoid() * 2, cls.softmax(-1)), -1)"),
    ("causal_conv", "x:1,6,5", "self.c = nn.Conv1d(6, 6, 3, groups=6, padding=2)", "y = self.c(x)[..., :5]; return F.silu(y)"),
    ("spatial_reduction", "x:1,16,6", "self.q = nn.Linear(6, 6); self.r = nn.Conv2d(6, 6, 2, 2); self.k = nn.Linear(6, 12); self.n = nn.LayerNorm(6)", "r = self.n(self.r(x.transpose(1, 2).reshape(1, 6, 4, 4)).flatten(2).transpose(1, 2)); k, v = self.k(r).chunk(2, -1); q = self.q(x); a = (q @ k.transpose(-2, -1)).softmax(dim=-1); return a @ v"),
    # Calls that the exporter merges, and calls that a line of source does not settle.
    ("merged_linear", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x) + self.l(x)"),
    ("merged_conv", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3)", "return self.c(x) * torch.sigmoid(self.c(x))"),
    ("merged_norms", "x:2,3,8", "self.a = nn.LayerNorm(8); self.b = nn.LayerNorm(8); self.l = nn.Linear(8, 8); self.m = nn.Linear(8, 8)", "return self.l(self.a(x)) + self.m(self.b(x))"),
    ("equal_weights", "x:2,3,8", "self.a = nn.Linear(8, 8); self.b = nn.Linear(8, 8); nn.init.zeros_(self.a.weight); nn.init.zeros_(self.b.weight); self.b.bias = self.a.bias", "return self.a(x) - self.b(x)"),
    ("relu_clamped", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return torch.relu(self.l(x)).clamp(max=6)"),
    ("imported_matmul", "x:2,3,8", "", "return matmul(x, x.transpose(1, 2))"),
    ("linalg_matmul", "x:2,3,8", "", "return torch.linalg.matmul(x, x.transpose(1, 2))"),
    ("operator_matmul", "x:2,3,8", "", "return operator.matmul(x, x.transpose(1, 2))"),
    ("imported_interpolate", "x:1,3,6,6", "", "return interpolate(x, scale_factor=2)"),
    ("functions_linear", "x:2,3,8", "self.w = nn.Parameter(torch.randn(8, 8))", "return functions.relu(functions.linear(x, self.w))"),
    ("own_lstm", "x:3,2,4", "self.r = MyLstm(4, 5)", "return self.r(x)[0]"),
    ("own_attention", "x:2,3,8", "self.a = MyAttention(8, 2, batch_first=True)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("hook_after", "x:2,3,8", "self.l = nn.Linear(8, 8); self.l.register_forward_hook(lambda m, i, o: F.linear(o, m.weight, m.bias))", "return self.l(x)"),
    ("hook_before", "x:3,8,8", "self.l = nn.Linear(8, 8); self.l.register_forward_pre_hook(lambda m, i: (i[0] @ i[0],))", "return self.l(x)"),
    ("channels_last", "x:2,3,6,6", "self.c = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last); self.l = nn.Linear(4, 5)", "return self.l(self.c(x).permute(0, 2, 3, 1))"),
    # Calls that are merged with earlier ones, and what the names of results and the numbers of users reveal.
    ("merged_behind_sigmoid", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return torch.sigmoid(self.l(x)) + torch.sigmoid(self.l(x))"),
    ("merged_behind_view", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x).view(2, 24) + self.l(x).view(2, 24)"),
    ("merged_behind_noop", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x) + self.l(x).view(2, 3, 8)"),
    ("merged_behind_transpose", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x).transpose(1, 2) * self.l(x).transpose(1, 2)"),
    ("merged_behind_slice", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x)[:, 1:] + self.l(x)[:, 1:]"),
    ("merged_behind_expand", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x).unsqueeze(0).expand(3, 2, 3, 8) + self.l(x).unsqueeze(0).expand(3, 2, 3, 8)"),
    ("merged_behind_softmax", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return F.softmax(self.l(x), -1) @ F.softmax(self.l(x), -1)"),
    ("merged_behind_norm", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return F.layer_norm(self.l(x), (8,)) + F.layer_norm(self.l(x), (8,))"),
    ("merged_behind_mean", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x).mean(1) - self.l(x).mean(1)"),
    ("merged_behind_max", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x).max(-1)[0] + self.l(x).max(-1)[0]"),
    ("merged_behind_chunk", "x:2,3,8", "self.l = nn.Linear(8, 8)", "a, b = self.l(x).chunk(2, -1); c, d = self.l(x).chunk(2, -1); return a * d + b * c"),
    ("merged_outputs", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return self.l(x), self.l(x)"),
    ("merged_conv_norms", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3); self.b = nn.BatchNorm2d(4); self.d = nn.BatchNorm2d(3)", "return self.b(self.c(x)) + self.b(self.c(x))"),
    ("merged_norms_conv", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3); self.b = nn.BatchNorm2d(4); self.d = nn.BatchNorm2d(3)", "return self.c(self.d(x)), self.c(F.relu(self.d(x)))"),
    ("merged_equal_norms", "x:1,3,6,6", "self.a = nn.BatchNorm2d(3); self.b = nn.BatchNorm2d(3)", "return torch.relu(self.a(x)) + torch.relu(self.b(x))"),
    ("merged_behind_pool", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3)", "return F.max_pool2d(self.c(x), 2) - F.max_pool2d(self.c(x), 2)"),
    ("merged_behind_relu", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3)", "return F.relu(self.c(x)) @ F.relu(self.c(x)).transpose(2, 3)"),
    ("merged_behind_resize", "x:1,3,6,6", "self.c = nn.Conv2d(3, 4, 3)", "return F.interpolate(self.c(x), scale_factor=2) + F.interpolate(self.c(x), scale_factor=2)"),
    ("merged_lstm", "x:3,2,4", "self.r = nn.LSTM(4, 5)", "return self.r(x)[0] + self.r(x)[0]"),
    ("merged_attention", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2)", "return self.a(x, x, x, need_weights=False)[0] + self.a(x, x, x, need_weights=False)[0]"),
    ("not_merged_views", "x:2,3,8", "self.l = nn.Linear(8, 8)", "y = self.l(x); return y.view(2, 24) + y.view(2, 24)"),
    ("not_merged_dropout", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "y = x + F.dropout(self.l(x), 0.1, False); return y + F.dropout(self.k(y), 0.1, False)"),
    ("tied_biases", "x:2,3,8", "self.a = nn.Linear(8, 8, bias=False); self.b = nn.Linear(8, 8); self.b.weight = self.a.weight", "return self.a(x) * self.b(x)"),
    ("tied_layers", "x:2,3,8", "self.a = nn.Linear(8, 8); self.b = nn.Linear(8, 8); self.b.weight = self.a.weight", "return self.a(x) * self.b(x)"),
    ("module_in_two_places", "x:2,8,8", "self.l = nn.Linear(8, 8); self.m = Caller(self.l)", "return self.m(x) + self.l(x.relu())"),
    ("dropped_last", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return torch.add(torch.mul(self.l(x), 1.0), 0.0)"),
    ("hardtanh", "x:2,3,8", "self.l = nn.Linear(8, 8); self.h = nn.Hardtanh()", "return self.h(self.l(x))"),
    # Objects of own classes, functions that are one operator, and what runs calls in a way of its own.
    ("scripted_matmul", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return self.l(scripted_matmul(x, x))"),
    ("scripted_linear", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return scripted_linear(x, self.l.weight)"),
    ("matrix_power", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return self.l(torch.linalg.matrix_power(x, 3))"),
    ("own_function_matmul", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return self.l(OwnMatmul.apply(x, x))"),
    ("own_function_linear", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return OwnLinear.apply(x, self.l.weight)"),
    ("vmap_matmul", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return self.l(torch.vmap(torch.matmul)(x, x))"),
    ("vmap_module", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return torch.vmap(self.l)(x)"),
    ("functional_call", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "return torch.func.functional_call(self.l, dict(self.k.named_parameters()), (x,))"),
    ("autocast", "x:2,8,8", "self.l = nn.Linear(8, 8)", "with torch.autocast('cpu', dtype=torch.bfloat16):;     y = self.l(x);     y = y @ y; return y.float()"),
    ("einsum_lists", "x:2,8,8", "self.l = nn.Linear(8, 8)", "return self.l(torch.einsum(x, [0, 1, 2], x, [0, 2, 3], [0, 1, 3]))"),
    ("helper_method", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "h = Helper(self.l(x)); y = h.relu(); return self.k(y)"),
    ("helper_softmax", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "h = Helper(self.l(x)); return self.k(h.softmax(-1))"),
    ("helper_sum", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "h = Helper(self.l(x)); y = h + x; return self.k(y)"),
    ("made_helper", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "h = make_helper(self.l(x)); y = h.relu(); return self.k(y)"),
    ("made_helper_sum", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "h = make_helper(self.l(x)); y = h + x; return self.k(y)"),
    ("held_helper", "x:2,8,8", "self.l = nn.Linear(8, 8); self.p = nn.Parameter(torch.randn(8, 8)); self.h = Helper(self.p)", "y = self.h @ x; return self.l(y)"),
    # Values that the exporter computed, and merged within one call.
    ("folded_layer", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return x + torch.sigmoid(self.l(torch.zeros(8)))"),
    ("folded_weight", "x:2,3,8", "self.l = nn.Linear(8, 8); self.a = nn.Parameter(torch.randn(8, 2)); self.b = nn.Parameter(torch.randn(2, 8))", "return F.linear(x, self.l.weight + (self.a @ self.b).t())"),
    ("merged_in_one_call", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return torch.addcmul(x, self.l(x).tanh(), self.l(x).tanh())"),
    ("merged_behind_gelu", "x:2,3,8", "self.l = nn.Linear(8, 8)", "return F.gelu(self.l(x)) + F.gelu(self.l(x))"),
    ("merged_blocks", "x:2,3,8", "self.l = nn.Linear(8, 8); self.k = nn.Linear(8, 8)", "return self.k(torch.tanh(self.l(x)).exp()).sin() + self.k(torch.tanh(self.l(x)).exp()).sin()"),
    # Labels of size 1, functions that are one operator and are exported as several, and vectors where a matrix is usual.
    ("einsum_of_size_1", "x:2,3,1 y:2,4,1", "", "return torch.einsum('bid,bjd->bij', x, y)"),
    ("einsum_broadcast", "x:2,3,4 y:2,1,5", "", "return torch.einsum('bnd,bne->bde', x, y)"),
    ("einsum_sums_first", "x:2,3,4 y:4,5", "", "return torch.einsum('abc,cd->ad', x, y)"),
    ("einsum_ellipsis", "x:2,3,4,5 y:2,3,6,5", "", "return torch.einsum('...nd,...md->...nm', x, y)"),
    ("distance", "x:2,30,4 y:2,30,4", "", "return torch.cdist(x, y)"),
    ("linear_vector_weight", "x:2,3,4 w:4", "", "return F.linear(x, w)"),
    ("baddbmm_vector", "z:5 x:2,3,4 y:2,4,5", "", "return torch.baddbmm(z, x, y)"),
    ("layout_rms_norm", "x:3,2,6", L + "; self.n = nn.RMSNorm(6)", "return self.l(self.n(x.transpose(0, 1)))"),
    ("sdpa_broadcast", "q:1,4,6,6 k:2,4,6,6", "", "return F.scaled_dot_product_attention(q, k, k)"),
    ("softmin", "x:2,4,6,6", "self.s = nn.Softmin(1)", "return self.s(x)"),
    # Usual layers in unusual use: without a batch, with states, keywords and masks, and values computed from parameters alone.
    ("lstm_unb", "x:3,4", "self.r = nn.LSTM(4, 5)", "return self.r(x)[0]"),
    ("lstm_unb_bi", "x:3,4", "self.r = nn.LSTM(4, 5, 2, bidirectional=True)", "return self.r(x)[0]"),
    ("gru_unb_bf", "x:6,4", "self.r = nn.GRU(4, 5, batch_first=True)", "return self.r(x)[0]"),
    ("rnn_unb_state", "x:3,4 h:1,5", "self.r = nn.RNN(4, 5)", "return self.r(x, h)[0]"),
    ("rnn_state", "x:3,2,4 h:1,2,5", "self.r = nn.RNN(4, 5)", "return self.r(x, h)[0]"),
    ("rnn_relu_state", "x:3,2,4 h:1,2,5", "self.r = nn.RNN(4, 5, nonlinearity='relu')", "return self.r(x, h)[0]"),
    ("lstm_state_kw", "x:2,3,4 h:4,2,5", "self.r = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True)", "return self.r(input=x, hx=(h, h))[0]"),
    ("gru_state_kw", "x:2,3,4 h:4,2,5", "self.r = nn.GRU(4, 5, 2, batch_first=True, bidirectional=True)", "return self.r(input=x, hx=h)[0]"),
    ("lstm_unsq_by_hand", "x:3,4", "self.r = nn.LSTM(4, 5)", "return self.r(x.unsqueeze(1))[0].squeeze(1)"),
    ("gru_state_param", "x:3,2,4", "self.r = nn.GRU(4, 5); self.h = nn.Parameter(torch.randn(1, 2, 5))", "return self.r(x, self.h)[0]"),
    ("aa_bilinear_size8_9", "x:1,3,4,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), size=(8, 9), mode='bilinear', antialias=True)"),
    ("aa_bilinear_scale_factor05", "x:1,3,4,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=0.5, mode='bilinear', antialias=True)"),
    ("aa_bicubic_scale_factor20_30", "x:1,3,4,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=(2.0, 3.0), mode='bicubic', antialias=True)"),
    ("aa_bicubic_size8", "x:1,3,4,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), size=8, mode='bicubic', antialias=True)"),
    ("aa_bilinear_plain", "x:2,3,4,4", "", "return F.interpolate(x, size=(2, 2), mode='bilinear', antialias=True, align_corners=False)"),
    ("nearest_exact_factor", "x:2,3,4,5", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=2.0, mode='nearest-exact')"),
    ("nearest_frac", "x:1,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=1.7, mode='nearest', recompute_scale_factor=True)"),
    ("area_size", "x:2,3,4,5", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), size=(8, 7), mode='area')"),
    ("area_down", "x:1,3,8,8", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(self.c(x), scale_factor=0.5, mode='area')"),
    ("kw", "x:2,3,4,5", "self.c = nn.Conv2d(3, 3, 1)", "return F.interpolate(input=self.c(x), scale_factor=2)"),
    ("bilinear_module_size", "x:2,3,4,5", "self.u = nn.Upsample(size=(7, 9), mode='bilinear'); self.c = nn.Conv2d(3, 3, 1)", "return self.c(self.u(x))"),
    ("admax1_f_1", "x:2,3,8", "self.c = nn.Conv1d(3, 3, 1)", "return F.adaptive_max_pool1d(self.c(x), 1)"),
    ("admax2_f_1", "x:2,3,6,8", "self.c = nn.Conv2d(3, 3, 1)", "return F.adaptive_max_pool2d(self.c(x), 1)"),
    ("admax3_m_1", "x:1,3,4,6,8", "self.c = nn.Conv3d(3, 3, 1); self.p = nn.AdaptiveMaxPool3d(1)", "return self.p(self.c(x))"),
    ("adavg1_f_1", "x:2,3,8", "self.c = nn.Conv1d(3, 3, 1)", "return F.adaptive_avg_pool1d(self.c(x), 1)"),
    ("adavg3_f_1", "x:1,3,4,6,8", "self.c = nn.Conv3d(3, 3, 1)", "return F.adaptive_avg_pool3d(self.c(x), 1)"),
    ("amax_1", "x:2,3,6", "self.l = nn.Linear(6, 6)", "return self.l(x).amax(-1, keepdim=True)"),
    ("admax_torch", "x:2,3,6,6", "self.c = nn.Conv2d(3, 3, 1)", "return torch.amax(self.c(x), dim=(-2, -1), keepdim=True)"),
    ("adavg_unbatched", "x:3,6,6", "self.l = nn.Linear(6, 6)", "return F.adaptive_avg_pool2d(self.l(x), 1)"),
    ("max_idx", "x:2,3,6,6", "self.c = nn.Conv2d(3, 3, 1); self.p = nn.MaxPool2d(2, return_indices=True)", "y, i = self.p(self.c(x)); return y + i"),
    ("mha_bf_kpm", "x:2,3,8 k:bool:2,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, key_padding_mask=k, need_weights=False)[0]"),
    ("mha_bf_kpm_w", "x:2,3,8 k:bool:2,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, key_padding_mask=k)[0]"),
    ("mha_bf_kpm_float", "x:2,3,8 k:2,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, key_padding_mask=k, need_weights=False)[0]"),
    ("mha_bf_mask_bool", "x:2,3,8 k:bool:3,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, attn_mask=k, need_weights=False)[0]"),
    ("mha_bf_mask_buffer", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True); self.register_buffer('m', torch.triu(torch.ones(3, 3), 1).bool())", "return self.a(x, x, x, attn_mask=self.m, need_weights=False)[0]"),
    ("mha_bf_zero", "x:2,3,8", "self.a = nn.MultiheadAttention(8, 2, add_zero_attn=True, batch_first=True)", "return self.a(x, x, x, need_weights=False)[0]"),
    ("mha_bf_both_masks", "x:2,3,8 k:bool:2,3 m:bool:3,3", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(x, x, x, key_padding_mask=k, attn_mask=m, need_weights=False)[0]"),
    ("t_layer_kpm", "x:2,3,8 k:bool:2,3", "self.t = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)", "return self.t(x, src_key_padding_mask=k)"),
    ("t_enc_kpm", "x:2,3,8 k:bool:2,3", "self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)", "return self.t(x, src_key_padding_mask=k)"),
    ("t_enc_kpm_nonest", "x:2,3,8 k:bool:2,3", "self.t = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2, enable_nested_tensor=False)", "return self.t(x, src_key_padding_mask=k)"),
    ("t_list", "x:2,3,8", "self.t = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 12, batch_first=True) for _ in range(2)])", "for l in self.t:;     x = l(x); return x"),
    ("t_layer_silu", "x:2,3,8", "self.t = nn.TransformerEncoderLayer(8, 2, 12, activation=F.silu, batch_first=True)", "return self.t(x)"),
    ("t_dec_kpm", "x:2,3,8 y:2,5,8 k:bool:2,5", "self.t = nn.TransformerDecoderLayer(8, 2, 12, batch_first=True)", "return self.t(x, y, memory_key_padding_mask=k)"),
    ("sdpa_kw", "q:2,2,3,4 k:2,2,5,4 v:2,2,5,4", "self.l = nn.Linear(4, 4)", "return self.l(F.scaled_dot_product_attention(query=q, key=k, value=v))"),
    ("sdpa_kw_part", "q:2,2,3,4 k:2,2,5,4 v:2,2,5,4", "self.l = nn.Linear(4, 4)", "return self.l(F.scaled_dot_product_attention(q, key=k, value=v))"),
    ("sdpa_dict", "q:2,2,3,4 k:2,2,5,4 v:2,2,5,4", "self.l = nn.Linear(4, 4)", "d = dict(query=q, key=k, value=v); return self.l(F.scaled_dot_product_attention(**d))"),
    ("sdpa_lines", "q:2,2,3,4 k:2,2,5,4 v:2,2,5,4", "self.l = nn.Linear(4, 4)", "y = F.scaled_dot_product_attention(;     query=q,;     key=k,;     value=v,; ); return self.l(y)"),
    ("e_sdpa_mask", "q:2,2,3,4 k:2,2,5,4 v:2,2,5,4 m:3,5", "self.l = nn.Linear(4, 4)", "return self.l(F.scaled_dot_product_attention(q, k, v, m))"),
    ("lin_params", "x:2,3,5", "self.w = nn.Parameter(torch.randn(5, 6)); self.v = nn.Parameter(torch.randn(3, 6))", "return x + F.linear(self.v, self.w)"),
    ("lin_expand_add2", "x:4,3,5", "self.l = nn.Linear(6, 5); self.v = nn.Parameter(torch.randn(1, 6))", "return self.l(self.v).expand(4, 3, 5) + x"),
    ("lin_query", "x:2,4,6", "self.q = nn.Parameter(torch.randn(1, 3, 6)); self.k = nn.Linear(6, 6); self.l = nn.Linear(6, 6)", "q = self.l(self.q).expand(2, 3, 6); k = self.k(x); return (q @ k.transpose(1, 2)).softmax(-1) @ k"),
    ("lin_generated", "x:2,6", "self.g = nn.Linear(6, 30); self.l = nn.Linear(5, 5)", "w = self.g(x).view(2, 5, 6); return self.l(torch.bmm(w, x.unsqueeze(2)).squeeze(2))"),
    ("std_bn", "x:2,2,6,6", "self.c = nn.Conv2d(2, 4, 3)", "w = F.batch_norm(self.c.weight.reshape(1, 4, -1), None, None, training=True, momentum=0.0).reshape_as(self.c.weight); return F.conv2d(x, w, self.c.bias)"),
    ("hyper", "x:1,4,6,6", "self.l = nn.Linear(4, 36)", "w = self.l(x.mean((2, 3))).view(4, 1, 3, 3); return F.conv2d(x, w, padding=1, groups=4)"),
    ("ein_3", "x:2,3 y:3,4 z:4,5", "self.p = nn.Parameter(torch.ones(1))", "return torch.einsum('ij,jk,kl->il', x, y, z) * self.p"),
    ("ein_v1", "x:2,3,4 y:4,5", "self.p = nn.Parameter(torch.ones(1))", "return torch.einsum('...ij,jk->...ik', x, y) * self.p"),
    ("ein_3param", "x:2,3,4", "self.a = nn.Parameter(torch.randn(4, 2)); self.b = nn.Parameter(torch.randn(2, 5))", "return torch.einsum('bij,jr,rk->bik', x, self.a, self.b)"),
    ("keyword_bmm", "x:2,3,4 y:2,4,4", "self.p = nn.Parameter(torch.ones(4))", "return torch.bmm(input=x, mat2=y) * self.p"),
    ("keyword_mm", "x:3,4 y:4,4", "self.p = nn.Parameter(torch.ones(4))", "return torch.mm(x, mat2=y) * self.p"),
    ("keyword_baddbmm", "z:2,3,4 x:2,3,4 y:2,4,4", "self.p = nn.Parameter(torch.ones(4))", "return torch.baddbmm(z, batch1=x, batch2=y) * self.p"),
    ("keyword_normalize", "x:2,3,4", "self.p = nn.Parameter(torch.ones(4))", "return F.normalize(x, dim=-1) * self.p"),
    ("functional_call_dyn", "x:2,3,6", "self.l = nn.Linear(6, 6)", "return torch.func.functional_call(self.l, {'weight': self.l.weight * 2, 'bias': self.l.bias}, (x,))"),
    ("frozen", "x:2,3,6", "self.l = nn.Linear(6, 6); self.l.weight.requires_grad_(False); self.l.bias.requires_grad_(False)", "return self.l(x)"),
    ("noparams", "x:2,3,6", "", "return F.relu(x) @ x.transpose(1, 2)"),
    ("addmm_zero_bias", "x:2,3,6", "self.b = nn.Parameter(torch.zeros(8)); self.w = nn.Parameter(torch.randn(6, 8))", "return torch.addmm(self.b, x.view(-1, 6), self.w).view(2, 3, 8)"),
    ("grid_sample_3d", "x:1,2,3,3,3 g:1,2,2,2,3", "self.c = nn.Conv3d(2, 2, 1)", "return F.grid_sample(self.c(x), g, align_corners=False)"),
    ("lin_params_mean", "x:2,8", "self.z = nn.Parameter(torch.randn(3, 8)); self.l = nn.Linear(8, 4)", "return x[:, :4] + self.l(self.z).mean(0)"),
    ("cell_lstm", "x:2,3,4", "self.c = nn.LSTMCell(4, 5); self.l = nn.Linear(5, 4)", "h, c = self.c(x[:, 0]); h, c = self.c(x[:, 1], (h, c)); return self.l(h)"),
    ("cell_gru", "x:2,4 h:2,5", "self.c = nn.GRUCell(4, 5); self.d = nn.GRUCell(5, 5, bias=False)", "h = self.c(x, h); return self.d(h, h * 2)"),
    ("cell_rnn", "x:2,4 h:2,5", "self.c = nn.RNNCell(4, 5, nonlinearity='relu')", "return self.c(x, h)"),
    ("cell_unbatched", "x:4 h:5", "self.c = nn.GRUCell(4, 5)", "return self.c(x, h)"),
    ("conv_transpose_unbatched", "x:4,5,5", "self.c = nn.ConvTranspose2d(4, 6, 3, stride=2)", "return self.c(x)"),
    ("conv_transpose1d_unbatched", "x:4,5", "self.c = nn.ConvTranspose1d(4, 6, 3, stride=2)", "return self.c(x)"),
    ("conv_valid_1d", "x:2,4,8", "self.c = nn.Conv1d(4, 6, 3, padding='valid')", "return self.c(x)"),
    ("conv_same_even", "x:2,4,8", "self.w = nn.Parameter(torch.randn(6, 4, 4))", "return F.conv1d(x, self.w, padding='same')"),
    ("conv_of_lists", "x:2,4,8,8", "self.w = nn.Parameter(torch.randn(4, 4, 3, 3))", "return F.conv2d(x, self.w, None, [2, 2], [1, 1])"),
    ("conv_bias_batch_norm", "x:1,4,6,6", "self.c = nn.Conv2d(4, 6, 3); self.b = nn.BatchNorm2d(6); nn.init.normal_(self.b.running_mean)", "return self.b(self.c(x))"),
    ("conv_no_bias_batch_norm", "x:1,4,6,6", "self.c = nn.Conv2d(4, 6, 3, bias=False); self.b = nn.BatchNorm2d(6); nn.init.normal_(self.b.running_mean)", "return self.b(self.c(x))"),
    ("einsum_of_tuple", "x:2,3,4,5", "self.w = nn.Parameter(torch.randn(5, 5))", "return torch.einsum('nctv,vw->nctw', (x, self.w))"),
    ("interpolate_fractions", "x:1,4,6,6", "self.c = nn.Conv2d(4, 4, 1)", "return F.interpolate(self.c(x), None, (2.0, 1.5), 'bilinear', False)"),
    ("interpolate_list", "x:1,4,6,6", "self.c = nn.Conv2d(4, 4, 1)", "return F.interpolate(self.c(x), scale_factor=[2, 2])"),
    ("upsample_fractions", "x:1,4,6,6", "self.u = nn.Upsample(scale_factor=(2.0, 1.5)); self.c = nn.Conv2d(4, 4, 1)", "return self.u(self.c(x))"),
    ("adaptive_by_keyword", "x:2,4,6,6", "self.c = nn.Conv2d(4, 4, 1)", "return F.adaptive_avg_pool2d(self.c(x), output_size=(2, 2))"),
    ("mha_cross_first", "x:3,1,8 y:5,1,8", "self.a = nn.MultiheadAttention(8, 2)", "return self.a(x, y, y)[0]"),
    ("mha_three", "x:1,3,8 y:1,5,6 z:1,5,4", "self.a = nn.MultiheadAttention(8, 2, kdim=6, vdim=4, batch_first=True)", "return self.a(x, y, z)[0]"),
    ("mha_unbatched", "x:3,8", "self.a = nn.MultiheadAttention(8, 2)", "return self.a(x, x, x)[0]"),
    ("mha_by_keyword", "x:1,3,8 y:1,5,8", "self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "return self.a(query=x, key=y, value=y)[0]"),
    ("tensordot_two", "x:2,3,4", "self.w = nn.Parameter(torch.randn(3, 4, 5))", "return torch.tensordot(x, self.w, 2)"),
    ("multi_dot_three", "x:2,3 y:3,4", "self.w = nn.Parameter(torch.randn(4, 5))", "return torch.linalg.multi_dot([x, y, self.w])"),
]
