"""The operators of the backend for npu are imported from the files that define them."""

import ast

from taken import FOLDER, take

OPS = "src/liger_kernel/ops/backends/_ascend/ops/"
take("src/liger_kernel/ops/backends/_ascend/ops/__init__.py")
take("src/liger_kernel/ops/backends/_ascend/ops/embedding.py")
take("src/liger_kernel/ops/backends/_ascend/ops/dyt.py")
trees = {name: ast.parse((FOLDER / OPS / f"{name}.py").read_text()) for name in ("__init__", "embedding", "dyt")}
defined = {name: {getattr(node, "name", "") for node in tree.body} for name, tree in trees.items()}
for node in trees["__init__"].body:
    module = (getattr(node, "module", None) or "").rpartition(".")[2]
    if module in defined:
        missing = [one.name for one in node.names if one.name not in defined[module]]
        assert not missing, f"{module}.py has no {missing[0]}"
