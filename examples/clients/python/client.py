"""A client of Quartet's JSON API for Python 3.9 or later: asks, streams a second reply and reads the conversation.

    python3 examples/clients/python/client.py http://127.0.0.1:7380
"""

import json
import os
import sys
import urllib.error
import urllib.request

STORE = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7380") + "/v1/stores/demo"
CUSTOMER = "ava"


def open_call(method, path, body=None, accept="application/json"):
    headers = {"Content-Type": "application/json", "Accept": accept}
    if token := os.environ.get("QUARTET_TOKEN"):
        headers["Authorization"] = "Bearer " + token
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(STORE + path, data, headers, method=method)
    try:
        return urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as e:  # its body is a google.rpc.Status
        sys.exit(f"{method} {path}: {json.load(e)['message']}")


def call(method, path, body=None):
    with open_call(method, path, body) as response:
        return json.load(response)


def events(path, body):
    """Yields the events of a stream as pairs of a name and an object."""
    with open_call("POST", path, body, "text/event-stream") as response:
        name = ""
        for line in response:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)


reply = call("POST", "/ask", {"message": "Where is my order?", "customerId": CUSTOMER})
print(reply["text"])

question = {"message": "And what is your return policy?", "customerId": CUSTOMER, "threadId": reply["threadId"]}
for name, data in events("/ask/stream", question):
    if name == "agent_started":
        print(f"[{data['agentStarted']['assignment']['specialist']} works]")
    elif name == "text_delta":
        print(data["textDelta"]["text"], end="", flush=True)
    elif name == "error":
        sys.exit(data["message"])
print()

thread = call("GET", f"/threads/{reply['threadId']}?customer_id={CUSTOMER}")
print(f"{len(thread['messages'])} messages")
