import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Services, signingKey, TestGateway, TestNats } from '../stand.js';

let nats: TestNats;
let services: Services;
let gateway: TestGateway;

beforeAll(async () => {
  nats = await TestNats.start();
  services = await Services.start(nats.url, [(await signingKey('k1')).jwk]);
  gateway = await (await TestGateway.start(nats.url)).ready();
});
afterAll(async () => {
  await TestGateway.stopAll();
  await services.stop();
  await nats.close();
});
beforeEach(() => {
  services.asked.length = 0;
});

const link = `/documents/15/in_1/s1.${'k'.repeat(200)}.abc`;
