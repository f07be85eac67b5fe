"""Names that the language once had, and that programs still use."""

import tile2triton.language as T


def test_old_name_of_a_tensors_type_declares_one():
    assert T.Buffer((16,), T.float32).shape == (16,)
