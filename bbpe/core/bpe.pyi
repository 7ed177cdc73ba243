from collections.abc import Mapping, Sequence

class Model:
    whole_pretokens: bool
    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[int, int, int]] | None,
        *,
        whole_pretokens: bool = False,
    ) -> None: ...
    def encode_pretoken(self, pretoken: bytes, below: int = 0xFFFFFFFF) -> list[int]: ...
