// events calls a stream of Quartet and yields its events as { name, data }. It throws an Error with the message of an error, whether the
// error comes in place of the stream or at its end. EventSource would do, but it can neither POST nor send a token.
export async function* events(url, body, token) {
  const headers = { 'Content-Type': 'application/json', Accept: 'text/event-stream' };
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) {
    const status = await response.json().catch(() => ({}));
    throw new Error(status.message ?? `HTTP ${response.status}`);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop(); // the beginning of the next event
    for (const part of parts) {
      const [first, second] = part.split('\n');
      const name = first.slice('event: '.length);
      const data = JSON.parse(second.slice('data: '.length));
      if (name === 'error') throw new Error(data.message);
      yield { name, data };
    }
  }
}
