// Calls the messages API through the gateway with the npm SDK, as any program
// of a user would: base URL and key come from the SDK's own two variables.
//
//   node anthropic.mjs create|stream|refused
//
// Prints one JSON line.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ maxRetries: 0 });
const request = {
  model: "claude-x",
  max_tokens: 64,
  messages: [{ role: "user", content: "hello" }],
};

async function create() {
  const message = await client.messages.create(request);
  return { text: message.content[0].text, usage: message.usage };
}

async function stream() {
  let events = 0;
  const running = client.messages.stream(request).on("streamEvent", () => events++);
  const message = await running.finalMessage();
  return { text: message.content[0].text, usage: message.usage, events };
}

async function refused() {
  try {
    await client.messages.create(request);
  } catch (err) {
    return { name: err.constructor.name, status: err.status, message: err.message };
  }
  return { status: 200 };
}

const result = await { create, stream, refused }[process.argv[2]]();
console.log(JSON.stringify(result));
