#!/usr/bin/env node
// The command of the package: a small part of the program's, for machines without it.
import { writeFileSync } from "node:fs";
import { compare, count, diff, OnnxflopsError } from "./index.mjs";

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

class Usage extends Error {}

function parsed(words) {
  const options = { dim: {} }, models = [];
  let command = "count", output, format;
  if (["count", "compare", "diff"].includes(words[0])) command = words.shift();
  const value = (name) => {
    if (words.length === 0) throw new Usage(`${name} needs a value`);
    return words.shift();
  };
  while (words.length > 0) {
    const [word, inside] = words[0].startsWith("--") ? words.shift().split(/=(.*)/s) : [words.shift()];
    const given = () => inside ?? value(word);
    if (word === "--dim") {
      for (const pair of given().split(",")) {
        const [, name, size] = /^(.+)=(\d+)$/.exec(pair) ?? [];
        if (name === undefined) throw new Usage(`--dim '${pair}': it should be NAME=N`);
        options.dim[name] = size;
      }
    } else if (word === "--rules") options.rulesFile = given();
    else if (word === "--format") format = given();
    else if (word === "-o") output = given();
    else if (word.startsWith("-")) throw new Usage(`${word} is not an option here`);
    else models.push(word);
  }
  format ??= /\.(json|html)$/.exec(output ?? "")?.[1] ?? (command === "count" ? "text" : "json");
  if (!["json", "html", ...(command === "count" ? ["text"] : [])].includes(format)) throw new Usage(`--format: '${format}' is not known here`);
  if (models.length !== (command === "diff" ? 2 : 1)) throw new Usage(command === "diff" ? "diff takes two models" : `${command} takes one model`);
  return { command, options, models, output, format };
}

function summary(report) {
  const { flops, macs, other_flops: other, params } = report.totals;
  const sign = report.coverage.lower_bound ? ">= " : "";
  const text = (figure) => (typeof figure === "object" && figure !== null ? figure.expr : String(figure));
  return `FLOPs  ${sign}${text(flops)}\nMACs   ${sign}${text(macs)}\nother  ${sign}${text(other)}\nparams ${text(params)}\n`;
}

async function main(words) {
  if (words.length === 0 || words.includes("--help") || words.includes("-h")) return kUsage;
  if (words[0] === "--version") {
    const { readFileSync } = await import("node:fs");
    return `onnxflops ${JSON.parse(readFileSync(new URL("./package.json", import.meta.url))).version} (WebAssembly)\n`;
  }
  const { command, options, models, output, format } = parsed(words);
  if (options.rulesFile !== undefined) options.rules = (await import("node:fs")).readFileSync(options.rulesFile, "utf8");
  const run = { count, compare, diff }[command];
  const result = await run(...models, { ...options, format: { text: "json", json: "text", html: "html" }[format] });
  const text = format === "text" ? summary(result) : result;
  if (output === undefined) return text;
  if (models.includes(output) || /\.onnx$/.test(output)) throw new Usage(`-o ${output}: a model is not written over`);
  writeFileSync(output, text);
  return "";
}

try {
  process.stdout.write(await main(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof OnnxflopsError || error instanceof Usage || error.code)) throw error;
  process.stderr.write(`onnxflops: ${error.message}\n`);
  process.exitCode = 2;
}
