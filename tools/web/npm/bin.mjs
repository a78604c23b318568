#!/usr/bin/env node
// The command of the package: a small part of the program's, for machines without it.
import fs from "node:fs";
import { call, escaped, OnnxflopsError, openFile, reason } from "./call.mjs";

const kUsage = `usage: onnxflops [count] MODEL [options]
       onnxflops compare MODEL [options]
       onnxflops diff BASE HEAD [options]

Counts the arithmetic of ONNX models, with the engine as WebAssembly.

  --dim NAME=N,..   give symbolic dimensions a size
  --rules FILE      a TOML file that defines operators of your own
  --format HOW      text (count), json or html; default: text, else json
  -o FILE           write to FILE; .html and .json choose the format
  --version
`;

// What each command takes, and the forms of the options, as the program's messages name them.
const kModels = { count: ["MODEL"], compare: ["MODEL"], diff: ["BASE", "HEAD"] };
const kValues = { "--dim": "NAME=N,..", "--rules": "FILE", "--format": "FORMAT", "-o": "FILE" };

class Usage extends Error {}
const misused = (text) => new Usage(`${text} (see onnxflops --help)`);

const quoted = (text) => `'${escaped(text)}'`;

function parsed(words) {
  const given = {}, models = [], dims = [];
  const command = Object.hasOwn(kModels, words[0]) ? words.shift() : "count";
  const takes = kModels[command];
  let options = true;
  while (words.length > 0) {
    const word = words.shift();
    if (options && word === "--") options = false;
    else if (!options || !word.startsWith("-")) models.push(word);
    else if (word === "-") throw misused("-: standard input is not read here; give a file");
    else {
      const [name, inside] = word.startsWith("--") ? word.split(/=(.*)/s) : [word];
      const value = kValues[name];
      if (value === undefined) throw misused(`${escaped(name)} is not an option of ${command} in this package`);
      if (inside === undefined && (words.length === 0 || words[0] in kValues)) throw misused(`${name} needs a value: ${name} ${value}`);
      const text = inside ?? words.shift();
      if (name === "--dim") dims.push("--dim", text);
      else if (name in given) throw misused(`${name} is given twice, as ${quoted(given[name])} and as ${quoted(text)}`);
      else given[name] = text;
    }
  }
  const { "-o": output, "--rules": rules } = given;
  const formats = [...(command === "count" ? ["text"] : []), "json", "html"];
  const format = given["--format"] ?? /\.(json|html)$/.exec(output ?? "")?.[1] ?? formats[0];
  if (!formats.includes(format)) throw new Usage(`--format ${quoted(format)}: it should be ${formats.slice(0, -1).join(", ")} or html`);
  if (models.length > 0 && !/[./\\]/.test(models[0]) && !fs.existsSync(models[0])) {
    throw misused(`${quoted(models[0])} is neither a command nor a file; the commands here are ${Object.keys(kModels).join(", ")}`);
  }
  if (models.length > takes.length) throw misused(`${quoted(models[takes.length])} is one too many: ${command} takes ${takes.join(" ")} here`);
  if (models.length < takes.length) throw misused(takes.length === 2 ? "diff needs BASE and HEAD" : "no MODEL is given");
  return { command, models, dims, rules, output, format };
}

function rulesOf(path) {
  let fd;
  try {
    fd = openFile(fs, path);
    return fs.readFileSync(fd, "utf8");
  } catch (error) {
    throw new Usage(`--rules ${quoted(path)}: ${reason(error)}`);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

function save(output, text, models) {
  const place = (path) => {
    const { dev, ino } = fs.statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {};
    return ino === undefined ? path : `${dev} ${ino}`;
  };
  const same = models.find((model) => place(model) === place(output));
  const refused = same === undefined ? /\.onnx$/.test(output) && "it has the name of a model" : `it is the same file as the input ${quoted(same)}`;
  if (refused) throw new Usage(`cannot write to ${quoted(output)}: ${refused}`);
  try {
    fs.writeFileSync(output, text);
  } catch (error) {
    const why = { ENOENT: "no such directory", EISDIR: "is a directory" }[error.code] ?? reason(error);
    throw new Usage(`cannot write to ${quoted(output)}: ${why}`);
  }
}

function summary(report) {
  const { flops, macs, other_flops: other, params } = report.totals;
  const sign = report.coverage.lower_bound ? ">= " : "";
  const text = (figure) => escaped(typeof figure === "object" && figure !== null ? figure.expr : String(figure));
  return `FLOPs  ${sign}${text(flops)}\nMACs   ${sign}${text(macs)}\nother  ${sign}${text(other)}\nparams ${text(params)}\n`;
}

async function main(words) {
  if (words.length === 0) throw misused("no model is given");
  const ends = words.indexOf("--");
  if (words.slice(0, ends < 0 ? words.length : ends).some((word) => word === "--help" || word === "-h")) return kUsage;
  if (words[0] === "--version" && words.length === 1) {
    return `onnxflops ${JSON.parse(fs.readFileSync(new URL("./package.json", import.meta.url))).version} (WebAssembly)\n`;
  }
  const { command, models, dims, rules, output, format } = parsed(words);
  const result = await call(command, models, { text: "json", json: "text", html: "html" }[format], dims,
    rules === undefined ? {} : { rules: rulesOf(rules), rulesName: rules });
  const text = format === "text" ? summary(result) : result;
  if (output === undefined) return text;
  save(output, text, models);
  return "";
}

// A reader that has enough, such as head, is no error; the exit code is that of a program that SIGPIPE ends.
process.stdout.on("error", (error) => {
  if (error.code === "EPIPE") process.exit(141);
  process.stderr.write(`onnxflops: cannot write to standard output: ${reason(error)}\n`);
  process.exit(2);
});
process.stderr.on("error", () => process.exit(2));
try {
  process.stdout.write(await main(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof OnnxflopsError || error instanceof Usage)) throw error;
  process.stderr.write(`onnxflops: ${error.message}\n`);
  process.exitCode = 2;
}
