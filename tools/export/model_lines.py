"""The format of tests/data/config/: a line for each model, which begins with its name."""
import json


def write_models(path, how, models, **more):
    """Writes {"how", ..., "models": {NAME: MODEL}}; what is in `more` stands before the models, in the first line."""
    head = json.dumps({"how": how, **more})[1:-1]
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(model)}" for name, model in models.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{{{head}, "models": {{\n{lines}\n}}}}\n')
