// Calls generateContent through the gateway with the npm SDK, as any program of
// a user would: base URL and key come from the SDK's own two variables.
//
//   node google.mjs generate|stream|refused|cut
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
    total = part.usageMetadata?.totalTokenCount ?? total;
  }
  return { text, total };
}

// error is what a call ends with that must not succeed.
async function error(call) {
  try {
    await call();
  } catch (err) {
    return { name: err.constructor.name, status: err.status, message: err.message };
  }
  return { status: 200 };
}

const refused = () => error(() => client.models.generateContent(request));
const cut = () => error(stream);

const result = await { generate, stream, refused, cut }[process.argv[2]]();
console.log(JSON.stringify(result));
