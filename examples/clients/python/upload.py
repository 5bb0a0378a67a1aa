"""Uploads products to a catalog over gRPC, with Python 3.9 or later, and prints what was refused.

    pip install grpcio protobuf    # or apt-get install python3-grpcio python3-protobuf
    python3 examples/clients/python/upload.py 127.0.0.1:7300 products.jsonl

The file has one product a line, as in docs/data.md. Without a file, one product is written.
"""

import os
import pathlib
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

# The descriptors of all contracts stand in for generated code.
contracts = pathlib.Path(__file__).parents[3] / "proto/descriptors/quartet.binpb"
pool = descriptor_pool.DescriptorPool()
for file in descriptor_pb2.FileDescriptorSet.FromString(contracts.read_bytes()).file:
    pool.Add(file)


def message(name):
    descriptor = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22 or later
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


Request = message("quartet.catalog.v1.UpsertProductsRequest")
Response = message("quartet.catalog.v1.UpsertProductsResponse")

PRODUCT = """{"productId": "TARP-001", "title": "Folding tarp", "categoryPath": ["Camping", "Tarps"],
  "variants": [{"variantId": "std", "price": {"amountMinor": "4900", "currencyCode": "EUR"}, "stock": 4}]}"""


unreadable = []


def requests(lines, store="demo", batch=100):
    """Yields messages of up to 100 products. One message takes at most 1,000 products and 4 MiB."""
    request = Request(store_id=store)
    for number, line in enumerate(lines, 1):
        try:
            json_format.Parse(line, request.products.add())
        except json_format.ParseError as e:
            del request.products[-1]
            unreadable.append(f"line {number}: {e}")
        if len(request.products) == batch:
            yield request
            request = Request(store_id=store)
    if request.products:
        yield request


address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7300"
lines = open(sys.argv[2], encoding="utf-8") if len(sys.argv) > 2 else [PRODUCT]
token = os.environ.get("QUARTET_TOKEN")
with grpc.insecure_channel(address) as channel:  # over a network, use secure_channel
    upsert = channel.stream_unary(
        "/quartet.catalog.v1.CatalogService/UpsertProducts",
        request_serializer=Request.SerializeToString,
        response_deserializer=Response.FromString,
    )
    try:
        result = upsert(requests(lines), timeout=600, metadata=[("authorization", "Bearer " + token)] if token else None)
    except grpc.RpcError as e:
        sys.exit(f"{e.code().name}: {e.details()}")
for refusal in unreadable + [f"{e.item_id}: {e.field}: {e.description}" for e in result.errors]:
    print(refusal, file=sys.stderr)
refused = len(unreadable) + result.error_count
print(f"{result.upserted_count} products written, {refused} refused")
sys.exit(refused > 0)
