// A client of Quartet's JSON API for Node 20 or later: asks, streams a second reply and reads the conversation.
//   node examples/clients/node/client.mjs http://127.0.0.1:7380
import { events } from '../../web/events.js';

const store = `${process.argv[2] ?? 'http://127.0.0.1:7380'}/v1/stores/demo`;
const token = process.env.QUARTET_TOKEN;
const customerId = 'ava';

async function call(method, path, body) {
  const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
  const response = await fetch(store + path, { method, headers, body: body && JSON.stringify(body) });
  const result = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${result.message}`);
  return result;
}

const reply = await call('POST', '/ask', { message: 'Where is my order?', customerId });
console.log(reply.text);

const question = { message: 'And what is your return policy?', customerId, threadId: reply.threadId };
for await (const { name, data } of events(`${store}/ask/stream`, question, token)) {
  if (name === 'agent_started') console.log(`[${data.agentStarted.assignment.specialist} works]`);
  if (name === 'text_delta') process.stdout.write(data.textDelta.text);
}
console.log();

const { messages } = await call('GET', `/threads/${reply.threadId}?customer_id=${customerId}`);
console.log(`${messages.length} messages`);
