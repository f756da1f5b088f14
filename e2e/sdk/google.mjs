// Calls generateContent through the gateway with the npm SDK, as any program of
// a user would: base URL and key come from the SDK's own two variables.
//
//   node google.mjs generate|stream|refused
//
// Prints one JSON line.
import { GoogleGenAI } from "@google/genai";

const client = new GoogleGenAI({});
const request = { model: "gemini-x", contents: "hello", config: { maxOutputTokens: 64 } };

async function generate() {
  const answer = await client.models.generateContent(request);
  return { text: answer.text, total: answer.usageMetadata.totalTokenCount };
}

async function stream() {
  let text = "";
  let total = 0;
  for await (const part of await client.models.generateContentStream(request)) {
    text += part.text;
    total = part.usageMetadata.totalTokenCount;
  }
  return { text, total };
}

async function refused() {
  try {
    await client.models.generateContent(request);
  } catch (err) {
    return { name: err.constructor.name, status: err.status, message: err.message };
  }
  return { status: 200 };
}

const result = await { generate, stream, refused }[process.argv[2]]();
console.log(JSON.stringify(result));
