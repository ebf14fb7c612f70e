/** After the last test: lets the services of tools/testSetup.mjs stop and erase what they kept. */
export default async function teardown() {
  const started = globalThis.recurTestServices;
  started?.services.stdin.end();
  await started?.ended;
}
