// Uploads products to a catalog over gRPC, with Node 20 or later, and prints what was refused.
//   npm install --prefix examples/clients/node
//   node examples/clients/node/upload.mjs 127.0.0.1:7300
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const proto = fileURLToPath(new URL('../../../proto', import.meta.url));
const contracts = grpc.loadPackageDefinition(loader.loadSync('quartet/catalog/v1/catalog.proto', {
  includeDirs: [proto], longs: String, enums: String, defaults: true,
}));
const credentials = grpc.credentials.createInsecure(); // over a network, use createSsl
const catalog = new contracts.quartet.catalog.v1.CatalogService(process.argv[2] ?? '127.0.0.1:7300', credentials);

const metadata = new grpc.Metadata();
if (process.env.QUARTET_TOKEN) metadata.set('authorization', `Bearer ${process.env.QUARTET_TOKEN}`);

const product = {
  productId: 'SLED-001',
  title: 'Folding sled',
  categoryPath: ['Winter', 'Sleds'],
  variants: [{ variantId: 'std', price: { amountMinor: '7900', currencyCode: 'EUR' }, stock: 4 }],
};

const result = await new Promise((resolve, reject) => {
  const options = { deadline: Date.now() + 60_000 };
  const stream = catalog.upsertProducts(metadata, options, (error, response) => (error ? reject(error) : resolve(response)));
  // Send a large catalog in several messages of up to 1,000 products.
  stream.write({ storeId: 'demo', products: [product] });
  stream.end();
});
for (const e of result.errors) console.error(`${e.itemId}: ${e.field}: ${e.description}`);
console.log(`${result.upsertedCount} product written, ${result.errorCount} refused`);
if (result.errorCount > 0) process.exit(1);
catalog.close();
