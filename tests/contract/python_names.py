"""The public names of Python modules and stubs: what a program that imports them can write, with the parameters."""
import ast

OPERATORS = {"__init__", "__call__", "__enter__", "__exit__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__iter__",
             "__getitem__", "__contains__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__pow__", "__neg__",
             "__int__", "__float__", "__bool__", "__version__"}


def is_public(name):
    return not name.startswith("_") or name in OPERATORS


def parameters(function):
    """Names that start with _, and names of parameters before the /, are not promised."""
    arguments = function.args
    names = [argument.arg for argument in arguments.args + arguments.kwonlyargs if argument.arg not in ("self", "cls")]
    if arguments.kwarg:
        names.append("**")
    return [name for name in names if not name.startswith("_")]


def names_in(body, prefix):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            yield prefix + node.name
            for name in parameters(node):
                yield f"{prefix}{node.name}({name})"
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield prefix + node.name
            yield from names_in(node.body, prefix + node.name + ".")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id):
            yield prefix + node.target.id
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and is_public(target.id):
                    yield prefix + target.id


def exported(tree):
    """The names in __all__, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def names_of(text, module):
    """The names in a module's __all__; for a module without it, or a stub, all public names."""
    tree = ast.parse(text)
    listed = exported(tree)
    found = set(names_in(tree.body, ""))
    if listed is not None:
        found = {name for name in found if name.split(".")[0].split("(")[0] in listed} | listed
    return {f"{module}.{name}" for name in found}
