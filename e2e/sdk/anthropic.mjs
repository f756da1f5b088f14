// Calls the messages API through the gateway with the npm SDK, as any program
// of a user would: base URL and key come from the SDK's own two variables.
//
//   node anthropic.mjs create|stream|refused|cut
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

// error is what a call ends with that must not succeed.
async function error(call) {
  try {
    await call();
  } catch (err) {
    return { name: err.constructor.name, status: err.status, message: err.message };
  }
  return { status: 200 };
}

const refused = () => error(() => client.messages.create(request));
const cut = () => error(stream);

const result = await { create, stream, refused, cut }[process.argv[2]]();
console.log(JSON.stringify(result));
