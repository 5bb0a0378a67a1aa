// A shopper's conversation with Quartet. Where it is, and for whom, comes from the address of this page:
//   ?api=http://127.0.0.1:7380&store=demo&customer=ava
// In your shop, a backend knows the shopper. Then let it call Quartet with its token, and let this page call the backend; or give the
// page a token for one customer alone (docs/security.md).
import { events } from './events.js';

const settings = new URLSearchParams(location.search);
const api = settings.get('api') ?? 'http://127.0.0.1:7380';
const store = settings.get('store') ?? 'demo';
const shopper = { customerId: settings.get('customer') ?? '' };
const log = document.getElementById('log');
let threadId = ''; // of the conversation, once the first reply has named it

// Text goes into the page as text, never as HTML.
function element(parent, tag, className, text = '') {
  const e = parent.appendChild(document.createElement(tag));
  e.className = className;
  e.textContent = text;
  return e;
}

function button(parent, text, action) {
  element(parent, 'button', '', text).addEventListener('click', action);
}

function price(money) {
  if (!money) return '';
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency: money.currencyCode });
  return format.format(Number(money.amountMinor ?? 0) / 10 ** format.resolvedOptions().maximumFractionDigits);
}

async function ask(message) {
  element(log, 'div', 'message shopper', message);
  const reply = element(log, 'div', 'message reply');
  const chips = element(reply, 'div', 'row');
  const text = element(reply, 'div', 'text');
  const chip = {}; // by assignment
  try {
    // The same id makes a repeated call get the same reply, also after the connection has broken.
    const body = { message, threadId, ...shopper, requestId: crypto.randomUUID() };
    for await (const { name, data } of events(`${api}/v1/stores/${encodeURIComponent(store)}/ask/stream`, body)) {
      switch (name) {
        case 'agent_started': {
          const { assignmentId, specialist } = data.agentStarted.assignment;
          chip[assignmentId] ??= element(chips, 'span', 'chip', specialist);
          break;
        }
        case 'tool_call_started':
          chip[data.toolCallStarted.assignmentId].title += ` ${data.toolCallStarted.toolCall.toolName}`;
          break;
        case 'agent_finished': {
          const { assignment, failure } = data.agentFinished.result;
          chip[assignment.assignmentId]?.classList.add(failure ? 'failed' : 'done');
          break;
        }
        case 'text_delta':
          text.textContent += data.textDelta.text;
          break;
        case 'answer':
          text.textContent = data.answer.muted ? 'A person of the shop answers here.' : data.answer.text;
          threadId = data.answer.threadId;
          showResults(reply, data.answer);
      }
      reply.scrollIntoView({ block: 'end' });
    }
  } catch (err) {
    element(reply, 'div', 'error', err.message);
  }
  reply.dataset.done = 'true';
}

// showResults draws what an answer has beside its text.
function showResults(reply, answer) {
  const cards = element(reply, 'div', 'row');
  for (const p of answer.products ?? []) {
    const card = element(cards, 'div', 'card product');
    element(card, 'b', '', p.title);
    element(card, 'span', '', price(p.price));
    element(card, 'span', '', Object.entries(p.options ?? {}).map(([name, value]) => `${name} ${value}`).join(', '));
  }
  for (const o of answer.orders ?? []) {
    const card = element(cards, 'div', 'card order');
    element(card, 'b', '', o.orderId);
    element(card, 'span', '', (o.status ?? '').replace('ORDER_STATUS_', '').toLowerCase().replaceAll('_', ' '));
  }
  const buttons = element(reply, 'div', 'row');
  for (const answerText of answer.clarifyingQuestion?.quickReplies ?? []) {
    button(buttons, answerText, () => ask(answerText));
  }
  for (const action of answer.suggestedActions ?? []) {
    // Quartet proposes; only your shop acts. Here nothing listens.
    const [kind, details] = Object.entries(action)[0];
    button(buttons, label(kind, details, answer), () => document.dispatchEvent(new CustomEvent('quartet-action', { detail: action })));
  }
  const ratings = element(reply, 'div', 'row ratings');
  button(ratings, 'Helpful', () => rate(ratings, answer.turnId, 'RATING_HELPFUL'));
  button(ratings, 'Not helpful', () => rate(ratings, answer.turnId, 'RATING_NOT_HELPFUL'));
}

// rate tells the store whether a reply helped.
async function rate(ratings, turnId, rating) {
  const response = await fetch(`${api}/v1/stores/${encodeURIComponent(store)}/turns/${turnId}/feedback`, {
    method: 'POST',
    body: JSON.stringify({ ...shopper, feedback: { rating } }),
  });
  ratings.textContent = response.ok ? 'Thank you.' : (await response.json()).message;
}

function label(kind, details, answer) {
  switch (kind) {
    case 'addToCart':
      return `Add to cart: ${answer.products?.find((p) => p.productId === details.productId)?.title ?? details.productId}`;
    case 'applyPromotion':
      return `Apply ${details.code}`;
    case 'startReturn':
      return `Return from ${details.orderId}`;
    case 'changeOrder':
      return `Change ${details.orderId}`;
    default:
      return 'Talk to a person';
  }
}

document.getElementById('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const input = document.getElementById('message');
  ask(input.value);
  input.value = '';
});
