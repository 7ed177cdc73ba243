// Ask llama.cpp for ids: node llama_cpp.mjs FOLDER ANSWERS < {"files": [path], "texts": [text]}
// FOLDER has node_modules with node-llama-cpp.  ANSWERS gets for each file whether BOS is added, and for each text its
// ids where special tokens are plain text and where they are found.
import {readFileSync, writeFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const entry = pathToFileURL(`${process.argv[2]}/node_modules/node-llama-cpp/dist/index.js`);
const {getLlama} = await import(entry.href);
const {files, texts} = JSON.parse(readFileSync(0, "utf-8"));
const llama = await getLlama({gpu: false, logLevel: "error", build: "never"});
const answers = [];
for (const modelPath of files) {
    const model = await llama.loadModel({modelPath, vocabOnly: true});
    const ids = texts.map((text) => [[...model.tokenize(text, false)], [...model.tokenize(text, true)]]);
    answers.push({bos: model.tokens.shouldPrependBosToken, ids});
    await model.dispose();
}
writeFileSync(process.argv[3], JSON.stringify(answers));
process.exit(0);
