/** After the last test: lets the services of tools/testSetup.mjs stop and erase what they kept. */
export default async function teardown() {
  const { services, ended } = globalThis.recurTestServices;
  services.stdin.end();
  await ended;
}
