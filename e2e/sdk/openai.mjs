// Calls Chat Completions and Responses through the gateway with the npm SDK, as
// any program of a user would: base URL and key come from the SDK's own two
// variables.
//
//   node openai.mjs chat|chatStream|responses|responsesStream|refused|chatCut|responsesCut
//
// Prints one JSON line.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const question = { model: "gpt-x", max_completion_tokens: 64, messages: [{ role: "user", content: "hello" }] };
const request = { model: "gpt-x", max_output_tokens: 64, store: false, input: "hello" };

async function chat() {
  const answer = await client.chat.completions.create(question);
  return { text: answer.choices[0].message.content, total: answer.usage.total_tokens };
}

async function chatStream() {
  const stream = await client.chat.completions.create({ ...question, stream: true, stream_options: { include_usage: true } });
  let text = "";
  let total = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    total = chunk.usage?.total_tokens ?? total;
  }
  return { text, total };
}

async function responses() {
  const answer = await client.responses.create(request);
  return { text: answer.output_text, total: answer.usage.total_tokens };
}

async function responsesStream() {
  const answer = await client.responses.stream(request).finalResponse();
  return { text: answer.output_text, total: answer.usage.total_tokens };
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

const refused = () => error(() => client.responses.create(request));
const chatCut = () => error(chatStream);
const responsesCut = () => error(responsesStream);

const result = await { chat, chatStream, responses, responsesStream, refused, chatCut, responsesCut }[process.argv[2]]();
console.log(JSON.stringify(result));
