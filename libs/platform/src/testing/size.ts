/** How much a random test tries: `few` in `npm test`; `many` in `npm run chaos`, which sets TEST_SIZE to that. */
export const sized = (few: number, many: number): number => (isMany ? many : few);

/** True where random tests are large, and draw new cases instead of those of every run. */
export const isMany = process.env.TEST_SIZE === 'many';
